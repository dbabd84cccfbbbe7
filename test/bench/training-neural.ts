/**
 * What a neural epoch costs, next to a plain matrix product of the same runtime in the same run. Data have the sizes of
 * MovieLens-1M (6040 histories of up to 200 entries, 3416 items) and are drawn, so that the bench needs no files.
 *
 *     npm run bench -- training-neural
 */

import { epochBatches, type SequenceBatch } from "../../trainer/learn/neural/batches.ts";
import { candidateSource, wholeCatalog } from "../../trainer/learn/neural/candidates.ts";
import { compileSasrecStep } from "../../trainer/learn/neural/sasrec-graph.ts";
import { freshParameters } from "../../trainer/learn/neural/sasrec-parameters.ts";
import { maskPool } from "../../trainer/learn/neural/training-random.ts";
import { MATRICES_PER_BLOCK, type TransformerShape } from "../../trainer/learn/neural/transformer.ts";
import { adam } from "../../trainer/learn/numerics/autodiff/adam.ts";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import type { Histories } from "../../trainer/learn/statistics/histories.ts";
import { type Bench, compared, type Figure } from "./bench.ts";
import { cpuSeconds, gemmGflops } from "./gemm-speed.ts";

const HISTORIES = 6040;
const SIZES = { itemCount: 3416, length: 200, blocks: 2, heads: 2 };
const CELLS = 1600;
const DRAWN = 256;
const STEPS = 40;

/** One thread, under a minute, in CPU seconds. GFLOPS count only the matrix products of forward and backward. */
export const trainingNeural: Bench = async ({ say }) => {
  const histories = drawnHistories();
  const figures: Figure[] = [];
  for (const [name, width, rivals] of [
    ["sasrec", 64, "catalog"],
    ["sasrec_candidates", 64, "candidates"],
    ["sasrec_wide", 128, "candidates"],
  ] as const) {
    say(`  ${name}: ${STEPS} steps`);
    const before = await gemmGflops("cpu");
    const { tokensPerSecond, gflops, epochSeconds } = await measureEpoch(histories, { ...SIZES, width }, rivals);
    const gemm = (before + (await gemmGflops("cpu"))) / 2;
    figures.push(
      { name: `training.${name}.tokens`, value: tokensPerSecond, unit: "tokens/s" },
      compared(`training.${name}.gflops`, "GFLOPS", gflops, gemm),
      { name: `training.${name}.epoch`, value: epochSeconds, unit: "s" },
    );
  }
  return figures;
};

type Measured = { readonly tokensPerSecond: number; readonly gflops: number; readonly epochSeconds: number };

/** Lengths and popularities similar to MovieLens-1M. */
function drawnHistories(): Histories {
  const random = seededRandom(7);
  const lengths = Array.from({ length: HISTORIES }, () =>
    Math.min(800, Math.round(19 + 60 / (0.08 + random()) ** 1.1 / 1.5)),
  );
  const start = new Uint32Array(lengths.length + 1);
  for (const [user, length] of lengths.entries()) start[user + 1] = start[user]! + length;
  const items = Int32Array.from({ length: start.at(-1)! }, () => Math.floor(SIZES.itemCount * random() ** 2.5));
  return { userCount: lengths.length, itemCount: SIZES.itemCount, start, items };
}

async function measureEpoch(
  histories: Histories,
  shape: TransformerShape,
  rivals: "catalog" | "candidates",
): Promise<Measured> {
  const random = seededRandom(1);
  const parameters = freshParameters(shape, random);
  const dropoutMask = maskPool(0.2, { sizeMax: CELLS * shape.width, random, places: random });
  const targetCounts = new Float64Array(shape.itemCount);
  for (const item of histories.items) targetCounts[item]!++;
  let rivalCount = shape.itemCount;
  const candidatesOf = candidateSource({ targetCounts, drawnCount: DRAWN, random });
  const candidates = (targets: Int32Array) => {
    const drawn = candidatesOf(targets);
    rivalCount = drawn.indices.length;
    return drawn;
  };
  const step = await compileSasrecStep(shape, {
    parameters,
    dropoutMask,
    candidates: rivals === "candidates" ? candidates : wholeCatalog(shape.itemCount),
  });
  const optimizer = adam(parameters);
  const batches = [
    ...epochBatches(histories, histories.start.slice(1), {
      length: shape.length,
      cellsMax: CELLS,
      random,
    }),
  ];
  for (const batch of batches.slice(0, 3)) await step.run(batch);

  let tokens = 0;
  let flops = 0;
  const begin = cpuSeconds();
  for (const batch of batches.slice(3, 3 + STEPS)) {
    await step.run(batch);
    optimizer.step(1e-3);
    tokens += batch.targets.length;
    flops += flopsOf(batch, shape, rivalCount);
  }
  const seconds = cpuSeconds() - begin;
  await step.release();
  const tokensOfEpoch = batches.reduce((sum, { targets }) => sum + targets.length, 0);
  return {
    tokensPerSecond: tokens / seconds,
    gflops: flops / seconds / 1e9,
    epochSeconds: (seconds / tokens) * tokensOfEpoch,
  };
}

/** Multiplications and additions of the matrix products, forward and both gradients. */
function flopsOf({ targets, items, length }: SequenceBatch, shape: TransformerShape, rivals: number) {
  const { width, blocks } = shape;
  const loss = 6 * targets.length * width * rivals;
  const layers = 6 * MATRICES_PER_BLOCK * items.length * width ** 2;
  const attention = 2 * 6 * items.length * length * width;
  return loss + blocks * (layers + attention);
}
