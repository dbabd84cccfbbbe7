import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { writeDemoShop } from "../../trainer/local/demo-shop.ts";
import { literal } from "../../trainer/read/connectors/sql-text.ts";
import { missingRealData, realDataFolder } from "../fixtures/real-data.ts";
import { type Bench, compared, type Figure } from "./bench.ts";
import { measuredInProcess } from "./measured-process.ts";
import { trainingFamilies } from "./training-families.ts";

/** Result of the measured process. */
export type StagesMeasured = {
  /** Wall seconds by state. */
  readonly stages: Readonly<Record<string, number>>;
  readonly peakMb: number;
  readonly interactions: number;
  readonly method: string;
};

const FIT_SECONDS = 60;

/**
 * A whole run in a separate process, from file to a version in a memory bucket: MovieLens-100K if present, else the
 * demo shop. The reference of fetching is DuckDB's scan and aggregation of the same file. Then each family alone
 * (training-families.ts); `--families=NAME,…` selects some.
 */
export const trainingStages: Bench = async (context) => [
  ...(context.flags.has("families") ? [] : await wholeRun(context)),
  ...(await trainingFamilies(context)),
];

const wholeRun: Bench = async ({ say, flags }) => {
  const folder = await mkdtemp(join(tmpdir(), "bench-training-"));
  try {
    const isReal = missingRealData("ml-100k") === undefined;
    const data = isReal ? realDataFolder("ml-100k") : join(folder, "demo-shop");
    if (!isReal) await writeDemoShop(data);
    const file = join(data, isReal ? "interactions.csv.gz" : "interactions.csv");
    say(`  ${isReal ? "ml-100k" : "the demo shop"}`);
    const scanSeconds = await scan(file);
    const args = [data, folder, String(flags.get("seconds") ?? FIT_SECONDS)];
    const measured = await measuredInProcess<StagesMeasured>("training-stages-process.ts", args, (line) =>
      say(`  ${line}`),
    );
    return figuresOf(measured, scanSeconds);
  } finally {
    await rm(folder, { recursive: true });
  }
};

function figuresOf({ stages, peakMb, interactions }: StagesMeasured, scanSeconds: number): Figure[] {
  const total = Object.values(stages).reduce((sum, seconds) => sum + seconds, 0);
  const { FETCHING = Number.NaN, ...others } = stages;
  const rate = interactions / FETCHING;
  return [
    compared("training.fetching.seconds", "s", FETCHING, scanSeconds),
    compared("training.fetching.rows_per_second", "rows/s", rate, interactions / scanSeconds),
    ...Object.entries(others).map(([state, value]) => ({
      name: `training.${state.toLowerCase()}.seconds`,
      value,
      unit: "s",
    })),
    { name: "training.total.seconds", value: total, unit: "s" },
    { name: "training.peak_mb", value: peakMb, unit: "MB" },
  ];
}

/**
 * Seconds that DuckDB takes to read the file and count each user's rows; the better of two, as the first warms the
 * disk cache.
 */
async function scan(file: string): Promise<number> {
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 2; i++) {
    const begin = performance.now();
    await connection.runAndReadAll(
      `SELECT user_id, count(*), max(created_at) FROM read_csv(${literal(file)}) GROUP BY 1`,
    );
    best = Math.min(best, (performance.now() - begin) / 1000);
  }
  connection.closeSync();
  return best;
}
