import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Bench, type BenchContext, compared, type Figure } from "./bench.ts";
import { measuredInProcess } from "./measured-process.ts";
import { scaleEvents, scaleFile, scanSeconds } from "./scale-data.ts";

export type ScaleStage = { readonly name: string; readonly seconds: number; readonly peakMb: number };

/** Result of the measured process. */
export type ScaleMeasured = {
  readonly seconds: number;
  /** In run order. */
  readonly stages: readonly ScaleStage[];
  readonly method: string;
};

const ROWS = 1e6;
const FIT_SECONDS = 120;
const PEAK_MB_MAX = 6000;
const MEMORY_MB = 4096; // the default of SHORTLIST_RUN_MEMORY_MB

/**
 * A whole run on a tenth of the rows, then on all, each in a separate process that reads Parquet and publishes to a
 * folder. The exponent is the slope between both (1 is linear); the reference is DuckDB's scan of the same file.
 * Flags: `--rows`, `--seconds` for fitting, `--memory` in MB, `--events` to read event files instead of Parquet.
 */
export const scale: Bench = async ({ say, fail, flags }) => {
  const rows = Math.round(Number(flags.get("rows") ?? ROWS));
  if (!(rows >= 1e4 && rows <= 1e9)) throw new Error(`--rows must be between 1e4 and 1e9, not ${flags.get("rows")}.`);
  const small = await measure(rows / 10, { say, flags });
  const whole = await measure(rows, { say, flags });
  const peakMb = Math.max(...whole.stages.map((stage) => stage.peakMb));
  if (peakMb > PEAK_MB_MAX) fail(`${Math.round(peakMb)} MB of resident memory, at most ${PEAK_MB_MAX}`);
  return [...figuresOf(rows, whole), ...exponents(small, whole)];
};

type Run = ScaleMeasured & { readonly scanSeconds: number };

function figuresOf(rows: number, { seconds, scanSeconds: reference, stages }: Run): Figure[] {
  return [
    { name: "scale.rows", value: rows, unit: "rows" },
    { name: "scale.seconds", value: seconds, unit: "s" },
    { name: "scale.peak_mb", value: Math.max(...stages.map(({ peakMb }) => peakMb)), unit: "MB" },
    compared("scale.rows_per_second", "rows/s", rows / seconds, rows / reference),
    ...stages.flatMap(({ name, seconds: value, peakMb }) => [
      { name: `scale.${name}.seconds`, value, unit: "s" },
      { name: `scale.${name}.peak_mb`, value: peakMb, unit: "MB" },
    ]),
  ];
}

/** Slope of log seconds over log rows, for the run and for each stage. */
function exponents(small: Run, whole: Run): Figure[] {
  const slope = (few: number, many: number) => Math.log10(many / few);
  return [
    { name: "scale.exponent", value: slope(small.seconds, whole.seconds), unit: "" },
    ...whole.stages.map(({ name, seconds }, i) => ({
      name: `scale.${name}.exponent`,
      value: slope(small.stages[i]!.seconds, seconds),
      unit: "",
    })),
  ];
}

async function measure(rows: number, { say, flags }: Pick<BenchContext, "say" | "flags">): Promise<Run> {
  say(`  ${rows.toExponential(0)} rows`);
  const file = await scaleFile(rows);
  const scan = await scanSeconds(file);
  const workDirectory = await mkdtemp(join(tmpdir(), "bench-scale-"));
  try {
    const limits = [String(flags.get("seconds") ?? FIT_SECONDS), String(flags.get("memory") ?? MEMORY_MB)];
    if (flags.has("events")) await scaleEvents(rows, join(workDirectory, "bucket"));
    const args = [file.folder, workDirectory, ...limits, flags.has("events") ? "events" : "file"];
    const measured = await measuredInProcess<ScaleMeasured>("scale-process.ts", args, (line) => say(`    ${line}`));
    say(`  ${measured.method} in ${measured.seconds.toFixed(1)} s; DuckDB's scan takes ${scan.toFixed(2)} s`);
    return { ...measured, scanSeconds: scan };
  } finally {
    await rm(workDirectory, { recursive: true });
  }
}
