import { openScorer } from "../../trainer/learn/scoring/onnx-scorer.ts";
import { liveReport } from "../../trainer/run/stored-state.ts";
import { openStoredVersion } from "../../trainer/run/stored-version.ts";
import { readManifest } from "../../trainer/store/versions.ts";
import { findPostgres, startPostgres } from "../fixtures/postgres-server.ts";
import type { Bench, BenchContext, Figure } from "./bench.ts";
import { type HeldOut, memoryData } from "./memory-data.ts";
import { type MemorySource, parquetSource, postgresSource, type TrainedRun, trainWithin } from "./memory-world.ts";

const ROWS = "5e6";
const MEMORY = "1000,2000,16000";
const FIT_SECONDS = "120";
const CUT_OFF = 10;

/**
 * Real trainings of the same rows within several limits of memory: outcome, peak, seconds, and NDCG@10 of the users' next choices by the
 * published graph. Fails if a run fails, or stands above its limit. Flags: `--rows=5e6,5e7`, `--memory=1000,2000,16000` in MB of
 * SHORTLIST_RUN_MEMORY_MB, `--seconds=120` for choosing, `--postgres` to read from a real Postgres server instead of a file.
 */
export const memory: Bench = async (context) => {
  if (!context.flags.has("postgres")) return await measured(context, parquetSource);
  const bin = findPostgres();
  if (bin === undefined) throw new Error("No Postgres server is installed here.");
  const server = await startPostgres(bin);
  try {
    return await measured(context, (folder) => postgresSource(folder, server));
  } finally {
    await server.stop();
  }
};

async function measured(
  { say, fail, flags }: BenchContext,
  sourceOf: (folder: string) => MemorySource | Promise<MemorySource>,
): Promise<Figure[]> {
  const listed = (name: string, given: string) => (flags.get(name) ?? given).split(",").map(Number);
  const figures: Figure[] = [];
  for (const rows of listed("rows", ROWS)) {
    const { folder, heldOut } = await memoryData(rows);
    const source = await sourceOf(folder);
    for (const memoryMb of listed("memory", MEMORY)) {
      const limits = { memoryMb, fitSeconds: Number(flags.get("seconds") ?? FIT_SECONDS), say };
      const judged = await trainWithin(source, limits, (run) => judge(run, heldOut));
      const { lines, failure, peakMb, seconds, ndcg } = judged;
      const name = `memory.${rows.toExponential(0)}.${memoryMb}`;
      for (const line of [name, ...lines]) say(`  ${line}`);
      if (failure !== undefined) fail(`${name}: ${failure}`);
      else if (peakMb > memoryMb) fail(`${name}: ${peakMb} MB`);
      figures.push(
        { name: `${name}.peak_mb`, value: peakMb, unit: "MB" },
        { name: `${name}.seconds`, value: seconds, unit: "s" },
        { name: `${name}.ndcg@10`, value: ndcg, unit: "" },
      );
    }
  }
  return figures;
}

type Judged = {
  readonly lines: readonly string[];
  readonly failure: string | undefined;
  readonly peakMb: number;
  readonly seconds: number;
  /** NaN if the run failed, since there are no lists then. */
  readonly ndcg: number;
};

async function judge(
  { record, ended, without, store, model }: TrainedRun,
  heldOut: readonly HeldOut[],
): Promise<Judged> {
  const peakMb = Math.max(...ended.map((one) => one.peak_mb));
  const seconds = ended.reduce((sum, one) => sum + one.seconds, 0);
  const runs = ended.map(({ outcome, code = "", peak_mb }) => `${outcome} ${code} at ${peak_mb} MB`);
  const lines = [`${Math.round(seconds)} s: ${runs.join(", then ")}`];
  if (without.length > 0) lines.push(`began again without ${without.join(", ")}`);
  const { version } = record;
  const manifest = version ? await readManifest(store, model, version) : undefined;
  if (!version || !manifest) {
    const failure = `${record.failure?.code}: ${record.failure?.message}`;
    return { lines, failure, peakMb, seconds, ndcg: Number.NaN };
  }
  const report = await liveReport(store, model);
  const tooLarge = new Map<string, string>();
  for (const { method, reason } of report?.candidates ?? [])
    if (/ MB of memory/.test(reason)) tooLarge.set(method, `${method} ${reason}`);
  const { refit, chosen } = report!;
  lines.push(...(record.data?.warnings ?? []), ...tooLarge.values());
  lines.push(`${chosen.method}, fitted on ${refit?.interactions} rows`);
  const stored = await openStoredVersion(store, model, { version, manifest, pointer: {} });
  const scorer = await openScorer(stored.exported, manifest.item_count);
  const { indexOf } = stored.snapshotOf(scorer, undefined);
  let [sum, popular] = [0, 0];
  for (const { items, next } of heldOut) {
    const history = items.flatMap((item) => indexOf(String(item) as never) ?? []);
    const target = indexOf(String(next) as never);
    if (target === undefined || history.length === 0) continue;
    const newest = history.slice(-manifest.model.history_max);
    const scores = await scorer.score({ items: newest, agesDays: newest.map(() => 1) });
    const seen = new Set(history);
    sum += gainOf(target, seen, scores);
    popular += gainOf(target, seen, undefined);
  }
  await scorer.close();
  const [ndcg, ofPopular] = [sum / heldOut.length, popular / heldOut.length];
  lines.push(`NDCG@10 ${ndcg.toFixed(4)}, of popular items ${ofPopular.toFixed(4)}, of ${heldOut.length} users`);
  return { lines, failure: undefined, peakMb, seconds, ndcg };
}

/** The gain of the list that a user's unseen items make, by score or, without scores, in the order of the catalog: by popularity. */
function gainOf(target: number, seen: ReadonlySet<number>, scores: Float32Array | undefined): number {
  let before = 0;
  const end = scores?.length ?? target;
  for (let item = 0; item < end; item++) {
    const isBefore = scores ? scores[item]! > scores[target]! : true;
    if (isBefore && !seen.has(item)) before++;
  }
  return before < CUT_OFF ? 1 / Math.log2(before + 2) : 0;
}
