import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { topK } from "../../shared/top-k.ts";
import { METHODS } from "../../trainer/learn/methods.ts";
import { missingRealData, type RealDataSet } from "../fixtures/real-data.ts";
import { type BenchContext, compared, type Figure } from "./bench.ts";
import { gemmGflops } from "./gemm-speed.ts";
import { measuredInProcess } from "./measured-process.ts";
import type { FamilyMeasured } from "./training-family-process.ts";

/** Fits may take so many times as long as the reference's. */
const RATIO_MAX = 1.5;
/** Fits of a few milliseconds are told and not judged. */
const JUDGED_SECONDS_MIN = 0.05;
/** Of the best hundred items of a user, how many the reference must have too: else it computes something else. */
const AGREEMENT_MIN = 0.95;
const BEST = 100;

type Family = {
  readonly set: RealDataSet;
  /** In closed form, or by sweeps of closed forms; the others are trained or made of several families. */
  readonly isClosed: boolean;
  /** What the dense part takes of a library that multiplies as fast as onnxruntime. */
  readonly flops?: (items: number) => number;
  readonly agreementMin?: number;
};

/** On the data for which each exists: exact solutions on a few thousand items, local ones and attributes on many. */
const FAMILIES: Readonly<Record<string, Family>> = {
  popularity: { set: "ml-1m", isClosed: true },
  item_knn: { set: "ml-1m", isClosed: true },
  // An inverse takes n³ operations by way of Cholesky's factor (Golub & Van Loan).
  ease: { set: "ml-1m", isClosed: true, flops: (items) => (items + 1) ** 3 },
  // A factor takes f³/3, two triangular systems 2f² for each right side; f = 2n, for two looks back.
  sequential_ridge: { set: "ml-1m", isClosed: true, flops: (items) => (8 / 3 + 8) * items ** 3 },
  // Its subspace ends its iterations before the last of a hundred vectors stands still.
  graph_filter: { set: "ml-1m", isClosed: true, agreementMin: 0.9 },
  // It starts from chance, and ends near the same place.
  implicit_als: { set: "ml-1m", isClosed: true, agreementMin: 0.8 },
  local_ridge: { set: "amazon-beauty", isClosed: true },
  sequential_local_ridge: { set: "amazon-beauty", isClosed: true },
  attribute_ridge: { set: "amazon-beauty", isClosed: true },
  set_blend: { set: "ml-1m", isClosed: false },
  sequential_blend: { set: "ml-1m", isClosed: false },
  pooled_history: { set: "ml-1m", isClosed: false },
  sasrec: { set: "ml-1m", isClosed: false },
  neural_blend: { set: "ml-1m", isClosed: false },
};

/**
 * Each family's fit in a process of its own: wall time and peak memory, next to the same closed form in numpy and scipy
 * (reference/closed_forms.py) where a Python that has them is at hand, `--python=PATH`; else, where most of the work is dense, to
 * the same operations as plain products of onnxruntime. Networks are given `--seconds` each.
 */
export async function trainingFamilies({ say, fail, flags }: BenchContext): Promise<Figure[]> {
  const wanted = flags.get("families")?.split(",") ?? Object.keys(METHODS);
  const python = await pythonWithScipy(flags.get("python") ?? "python3");
  if (python === undefined)
    say("  No Python with numpy and scipy is at hand (--python=PATH): fits stand next to plain products.");
  const figures: Figure[] = [];
  for (const name of wanted) {
    const family = FAMILIES[name];
    if (!family) throw new Error(`The bench of training does not know the family ${JSON.stringify(name)}.`);
    const set = missingRealData(family.set) === undefined ? family.set : "drawn";
    if (set === "drawn" && name === "attribute_ridge") continue; // what is drawn has one attribute
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
