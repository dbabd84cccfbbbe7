import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { topK } from "../../shared/top-k.ts";
import { missingRealData, type RealDataSet } from "../fixtures/real-data.ts";
import { type BenchContext, compared, type Figure } from "./bench.ts";
import { gemmGflops } from "./gemm-speed.ts";
import { measuredInProcess } from "./measured-process.ts";
import type { FamilyMeasured } from "./training-family-process.ts";

/** Upper bound of a fit's time relative to the reference. */
const RATIO_MAX = 1.5;
/** Fits below this are reported but not bounded. */
const JUDGED_SECONDS_MIN = 0.05;
/** Minimum overlap of a user's best hundred items with the reference, as a check that both compute the same. */
const AGREEMENT_MIN = 0.95;
const BEST = 100;

type Family = {
  readonly set: RealDataSet;
  /** Methods in closed form or by alternating closed forms; the others are trained or combine families. */
  readonly isClosed: boolean;
  /** Time of the dense part as plain products of onnxruntime. */
  readonly flops?: (items: number) => number;
  readonly agreementMin?: number;
};

/**
 * Methods on data that suit them: exact solutions on a few thousand items, local ones and attributes on many. Models of sessions have the
 * task `retailrocket.sessions` of `quality` instead.
 */
const FAMILIES: Readonly<Record<string, Family>> = {
  popularity: { set: "ml-1m", isClosed: true },
  // A factor takes f³/3 and two triangular systems 2f² per right side; f = 2n for two scales.
  sequential_ridge: { set: "ml-1m", isClosed: true, flops: (items) => (8 / 3 + 8) * items ** 3 },
  // Subspace iteration stops before the last of a hundred vectors converges.
  graph_filter: { set: "ml-1m", isClosed: true, agreementMin: 0.9 },
  // Starts at random and converges to nearly the same solution.
  implicit_als: { set: "ml-1m", isClosed: true, agreementMin: 0.8 },
  local_ridge: { set: "amazon-beauty", isClosed: true },
  sequential_local_ridge: { set: "amazon-beauty", isClosed: true },
  attribute_ridge: { set: "amazon-beauty", isClosed: true },
  set_blend: { set: "ml-1m", isClosed: false },
  pooled_history: { set: "ml-1m", isClosed: false },
  sasrec: { set: "ml-1m", isClosed: false },
  neural_blend: { set: "ml-1m", isClosed: false },
  pooled_blend: { set: "ml-1m", isClosed: false },
};

/**
 * Fits each family in a separate process: wall time and peak memory next to the same closed form in numpy and scipy
 * (reference/closed_forms.py, with `--python=PATH`), else next to plain products of onnxruntime. Networks get
 * `--seconds` each.
 */
export async function trainingFamilies({ say, fail, flags }: BenchContext): Promise<Figure[]> {
  const wanted = flags.get("families")?.split(",") ?? Object.keys(FAMILIES);
  const python = await pythonWithScipy(flags.get("python") ?? "python3");
  if (python === undefined)
    say("  No Python with numpy and scipy is at hand (--python=PATH): fits stand next to plain products.");
  const figures: Figure[] = [];
  for (const name of wanted) {
    const family = FAMILIES[name];
    if (!family) throw new Error(`The bench of training does not know the family ${JSON.stringify(name)}.`);
    const set = missingRealData(family.set) === undefined ? family.set : "drawn";
    if (set === "drawn" && name === "attribute_ridge") continue; // generated data have one attribute
    const folder = await mkdtemp(join(tmpdir(), "bench-family-"));
    try {
      say(`  ${name} on ${set}`);
      const args = [name, set, folder, flags.get("seconds") ?? "60"];
      const own = await measuredInProcess<FamilyMeasured>("training-family-process.ts", args, say);
      const floor = family.flops && family.flops(own.itemCount) / (await gemmGflops("wall")) / 1e9;
      const reference = family.isClosed && python ? await referenceOf(python, folder, own.itemCount) : undefined;
      figures.push(...figuresOf(name, own, { floor, reference }));
      if (reference && reference.agreement < (family.agreementMin ?? AGREEMENT_MIN))
        fail(`${name}: the reference shares only ${reference.agreement.toFixed(3)} of the best ${BEST} items`);
      if (reference && own.seconds > Math.max(JUDGED_SECONDS_MIN, RATIO_MAX * reference.seconds)) {
        const [taken, least] = [own.seconds, reference.seconds].map((seconds) => seconds.toFixed(2));
        fail(`${name}: ${taken} s, more than ${RATIO_MAX} times the ${least} s of its reference`);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  }
  return figures;
}

type Reference = { readonly seconds: number; readonly peakMb: number; readonly agreement: number };

function figuresOf(
  name: string,
  { seconds, peakMb, predictedSeconds }: FamilyMeasured,
  { floor, reference }: { readonly floor: number | undefined; readonly reference: Reference | undefined },
): Figure[] {
  const figure = (what: string, unit: string, value: number, other: number | undefined) =>
    other === undefined
      ? { name: `training.${name}.${what}`, value, unit }
      : compared(`training.${name}.${what}`, unit, value, other);
  return [
    figure("seconds", "s", seconds, reference?.seconds ?? floor),
    ...(floor === undefined ? [] : [figure("gemm_floor", "s", seconds, floor)]),
    figure("predicted", "s", predictedSeconds, seconds),
    figure("peak_mb", "MB", peakMb, reference?.peakMb),
    ...(reference ? [figure("agreement", "share", reference.agreement, undefined)] : []),
  ];
}

const run = promisify(execFile);

async function pythonWithScipy(path: string): Promise<string | undefined> {
  try {
    await run(path, ["-c", "import numpy, scipy"]);
    return path;
  } catch {
    return undefined;
  }
}

async function referenceOf(python: string, folder: string, itemCount: number): Promise<Reference> {
  const { stdout } = await run(python, [join(import.meta.dirname, "reference/closed_forms.py"), folder]);
  const { seconds, peak_mb: peakMb } = JSON.parse(stdout) as { readonly seconds: number; readonly peak_mb: number };
  const [ours, theirs] = await Promise.all(["ours.f32", "scores.f32"].map((file) => floats(join(folder, file))));
  let shared = 0;
  for (let at = 0; at < ours!.length; at += itemCount) {
    const [a, b] = [ours!, theirs!].map((scores) => topK(scores.subarray(at, at + itemCount), BEST, () => true));
    const known = new Set(a);
    shared += b!.filter((item) => known.has(item)).length / b!.length;
  }
  return { seconds, peakMb, agreement: shared / (ours!.length / itemCount) };
}

async function floats(file: string): Promise<Float32Array> {
  const bytes = await readFile(file);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}
