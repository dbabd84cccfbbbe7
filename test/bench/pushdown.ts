import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bootstrapMeans } from "../../trainer/choose/evaluate/bootstrap.ts";
import { MALLOC } from "../../trainer/manage/processes/supervised-process.ts";
import { memoryForData } from "../../trainer/run/free-memory.ts";
import { findPostgres, type PostgresServer, startPostgres } from "../fixtures/postgres-server.ts";
import { type Bench, type BenchContext, compared, type Figure } from "./bench.ts";
import { measuredInProcess } from "./measured-process.ts";
import { fillInteractions, LEARNT_QUERY } from "./pushdown-data.ts";
import { countsOf, judgedUsers, judgeVersion, type VersionJudged } from "./pushdown-judge.ts";

/** The input of the measured process. */
export type PushdownRun = {
  readonly port: number;
  readonly query: string;
  readonly workDirectory: string;
  readonly bucket: string;
  readonly fitSecondsMax: number;
  /** Memory of the run, as SHORTLIST_RUN_MEMORY_MB. */
  readonly memoryMb: number;
  /** MB for data, by which the reading decides how many rows fit. */
  readonly readMb: number;
};

export type PushdownStage = {
  readonly name: string;
  readonly seconds: number;
  /** The CPU time of the trainer, without that of the database. */
  readonly cpuSeconds: number;
  readonly peakMb: number;
};

/** Result of the measured process. */
export type PushdownMeasured = {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly stages: readonly PushdownStage[];
  readonly method: string;
  readonly version: string;
  readonly learntRows: number;
  readonly warnings: readonly string[];
};

const ROWS = 1e6;
const MEMORY_MB = 2000;
const FIT_SECONDS = 120;
const QUALITY_LOSS_MAX = 0.02;
const WORK_MEM = "256MB";

/**
 * A whole run on interactions of a real Postgres server that do not fit into the trainer's memory. The version is checked: it has every
 * item and every user, and no seen item of the judged users is listed. Its lists are judged by what these users chose later. Postgres
 * runs each query in one process with 256 MB of working memory.
 *
 *     --rows=1e6        rows of the table
 *     --memory=2000     MB of the run, as SHORTLIST_RUN_MEMORY_MB
 *     --read=MB         how many rows are read, as if the run had this memory for data. Default: what the run has
 *     --seconds=120     of the trainer's CPU time, for choosing and fitting
 *     --full=MB         a second run that reads all rows, with this memory, as the reference of the quality
 */
export const pushdown: Bench = async ({ say, fail, flags }) => {
  const bin = findPostgres();
  if (bin === undefined) {
    say("  skipped: no Postgres server is installed here");
    return [];
  }
  const rows = Math.round(Number(flags.get("rows") ?? ROWS));
  if (!(rows >= 1e5 && rows <= 1e9)) throw new Error(`--rows must be between 1e5 and 1e9, not ${flags.get("rows")}.`);
  const memoryMb = Number(flags.get("memory") ?? MEMORY_MB);
  const fullMb = Number(flags.get("full") ?? 0);
  const server = await startPostgres(bin);
  const folder = await mkdtemp(join(tmpdir(), "bench-pushdown-"));
  try {
    say(`  ${server.version}: making ${rows.toExponential(0)} rows`);
    const begin = performance.now();
    await fillInteractions(server, rows);
    say(`  made in ${((performance.now() - begin) / 1000).toFixed(0)} s`);
    await server.execute(`ALTER ROLE owner SET work_mem = '${WORK_MEM}'`);
    await server.execute("ALTER ROLE owner SET max_parallel_workers_per_gather = 0");
    const limits = { memoryMb, readMb: Number(flags.get("read") ?? memoryForData(memoryMb)) };
    const place = { server, folder, fitSecondsMax: Number(flags.get("seconds") ?? FIT_SECONDS), say };
    const sampled = await measure("sampled", limits, place);
    const full = fullMb > 0 ? await measure("full", { memoryMb: fullMb, readMb: 1e6 }, place) : undefined;
    const truth = await countsOf(server);
    const users = await judgedUsers(server, truth.users);
    const judged = await judgeVersion(join(folder, "sampled", "bucket"), sampled.version, users);
    for (const fault of faultsOf(judged, truth)) fail(fault);
    const peakMb = Math.max(...sampled.stages.map((stage) => stage.peakMb));
    if (peakMb > memoryMb) fail(`${Math.round(peakMb)} MB of resident memory, at most ${memoryMb}`);
    const figures = figuresOf(rows, { measured: sampled, judged });
    if (full === undefined) return figures;
    const reference = await judgeVersion(join(folder, "full", "bucket"), full.version, users);
    return [...figures, ...qualityOf(judged, reference, { say, fail })];
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
};

type Place = {
  readonly server: PostgresServer;
  readonly folder: string;
  readonly fitSecondsMax: number;
  readonly say: (line: string) => void;
};

async function measure(
  name: string,
  limits: Pick<PushdownRun, "memoryMb" | "readMb">,
  { server: { port, password }, folder, fitSecondsMax, say }: Place,
): Promise<PushdownMeasured> {
  const workDirectory = join(folder, name, "work");
  await mkdir(workDirectory, { recursive: true });
  const bucket = join(folder, name, "bucket");
  const run: PushdownRun = { port, query: LEARNT_QUERY, workDirectory, bucket, fitSecondsMax, ...limits };
  const options = {
    execArgv: ["--expose-gc", `--max-old-space-size=${limits.memoryMb}`],
    env: { ...MALLOC, BENCH_PASSWORD: password },
  };
  say(`  ${name}:`);
  const told = (line: string) => say(`    ${line}`);
  const measured = await measuredInProcess<PushdownMeasured>(
    "pushdown-process.ts",
    [JSON.stringify(run)],
    told,
    options,
  );
  for (const warning of measured.warnings) told(warning);
  say(`  ${measured.method} of ${measured.learntRows} rows in ${measured.seconds.toFixed(0)} s`);
  await rm(workDirectory, { recursive: true });
  return measured;
}

function* faultsOf(judged: VersionJudged, truth: { readonly users: number; readonly items: number }) {
  if (judged.items !== truth.items) yield `the catalog has ${judged.items} of ${truth.items} items`;
  if (judged.users !== truth.users) yield `${judged.users} of ${truth.users} users have a record`;
  if (judged.missed > 0) yield `${judged.missed} of ${judged.pairs} seen items are missing in records`;
  if (judged.seenListed > 0) yield `${judged.seenListed} seen items are in lists`;
}

function figuresOf(
  rows: number,
  { measured, judged }: { readonly measured: PushdownMeasured; readonly judged: VersionJudged },
): Figure[] {
  const { stages, seconds, cpuSeconds, learntRows } = measured;
  return [
    { name: "pushdown.rows", value: rows, unit: "rows" },
    { name: "pushdown.learnt_rows", value: learntRows, unit: "rows" },
    { name: "pushdown.seconds", value: seconds, unit: "s" },
    { name: "pushdown.cpu_seconds", value: cpuSeconds, unit: "s" },
    { name: "pushdown.peak_mb", value: Math.max(...stages.map(({ peakMb }) => peakMb)), unit: "MB" },
    { name: "pushdown.seen_pairs", value: judged.pairs, unit: "pairs" },
    { name: "pushdown.seen_pairs_missed", value: judged.missed, unit: "pairs" },
    { name: "pushdown.unseen_hidden", value: judged.hidden, unit: "share" },
    ...stages.flatMap(({ name, seconds: value, cpuSeconds: cpu, peakMb }) => {
      const stage = `pushdown.${name.replaceAll(" ", "_")}`;
      return [
        { name: `${stage}.seconds`, value, unit: "s" },
        { name: `${stage}.cpu_seconds`, value: cpu, unit: "s" },
        { name: `${stage}.peak_mb`, value: peakMb, unit: "MB" },
      ];
    }),
  ];
}

/** NDCG@10 of the sampled model next to that of the model of all rows, on the same users. */
function qualityOf(judged: VersionJudged, reference: VersionJudged, { say, fail }: Pick<BenchContext, "say" | "fail">) {
  const difference = judged.ndcg.map((value, i) => value - reference.ndcg[i]!);
  const [own, other, gain] = bootstrapMeans([judged.ndcg, reference.ndcg, difference], { seed: 1 });
  const part = (value: number) => `${((100 * value) / other!.value).toFixed(1)} %`;
  say(
    `  ${judged.ndcg.length} users, NDCG@10 ${own!.value.toFixed(4)} against ${other!.value.toFixed(4)} of all rows: ` +
      `${part(gain!.value)} (${part(gain!.low)} to ${part(gain!.high)})`,
  );
  if (own!.value < (1 - QUALITY_LOSS_MAX) * other!.value) fail(`the sampled model loses ${part(-gain!.value)}`);
  return [compared("pushdown.ndcg@10", "share", own!.value, other!.value)];
}
