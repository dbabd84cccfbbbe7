/**
 * What a neural epoch costs, next to a plain matrix product of the same runtime in the same run. Data have the sizes of
 * MovieLens-1M (6040 histories of up to 200 entries, 3416 items) and are drawn, so that the bench needs no files.
 *
 *     npm run bench -- training-neural --json
 */
import { performance } from "node:perf_hooks";
import * as ort from "onnxruntime-node";
import { adam } from "../../trainer/autodiff/adam.ts";
import { maskPool } from "../../trainer/autodiff/mask-pool.ts";
import { openSession } from "../../trainer/autodiff/training-step.ts";
import { seededRandom } from "../../trainer/evaluate/seeded-random.ts";
import type { Histories } from "../../trainer/models/histories.ts";
import { epochBatches } from "../../trainer/models/neural-batches.ts";
import { candidateSource } from "../../trainer/models/neural-candidates.ts";
import { compileSasrecStep } from "../../trainer/models/neural-sasrec-graph.ts";
import { freshParameters } from "../../trainer/models/neural-sasrec-parameters.ts";
import { graphBuilder } from "../../trainer/onnx/graph.ts";

export type BenchResult = {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly reference?: number;
  readonly ratio?: number;
};

const SHAPE = { itemCount: 3416, length: 200, width: 64, blocks: 2, heads: 2 };
const CELLS = 3200;
const STEPS = 20;

/** One thread; about twenty seconds. Ratios are value / reference. */
export async function trainingNeural(): Promise<BenchResult[]> {
  const plain = await gemmGflops();
  const histories = drawnHistories();
  const whole = await measureEpoch(histories, { drawnCount: undefined });
  const drawn = await measureEpoch(histories, { drawnCount: 256 });
  const again = await gemmGflops();
  const gemm = (plain + again) / 2;
  const figures = (name: string, { tokensPerSecond, gflops, epochSeconds }: Measured): BenchResult[] => [
    { name: `training.${name}.tokens_per_second`, value: tokensPerSecond, unit: "tokens/s" },
    { name: `training.${name}.gflops`, value: gflops, unit: "GFLOPS", reference: gemm, ratio: gflops / gemm },
    { name: `training.${name}.epoch`, value: epochSeconds, unit: "s" },
  ];
  return [
    { name: "training.gemm.gflops", value: gemm, unit: "GFLOPS" },
    ...figures("sasrec", whole),
    ...figures("sasrec_candidates", drawn),
  ];
}

type Measured = { readonly tokensPerSecond: number; readonly gflops: number; readonly epochSeconds: number };

/** Lengths and popularities of about MovieLens-1M's shape. */
function drawnHistories(): Histories {
  const random = seededRandom(7);
  const lengths = Array.from({ length: 6040 }, () =>
    Math.min(800, Math.round(19 + 60 / (0.08 + random()) ** 1.1 / 1.5)),
  );
  const start = new Uint32Array(lengths.length + 1);
  for (const [user, length] of lengths.entries()) start[user + 1] = start[user]! + length;
  const items = Int32Array.from({ length: start.at(-1)! }, () => Math.floor(SHAPE.itemCount * random() ** 2.5));
  return { userCount: lengths.length, itemCount: SHAPE.itemCount, start, items };
}

async function measureEpoch(
  histories: Histories,
  { drawnCount }: { readonly drawnCount: number | undefined },
): Promise<Measured> {
  const random = seededRandom(1);
  const parameters = freshParameters(SHAPE, random);
  const activation = maskPool(0.2, { sizeMax: CELLS * SHAPE.width, random });
  const targetCounts = new Float64Array(SHAPE.itemCount);
  for (const item of histories.items) targetCounts[item]!++;
  let candidateCount = 0;
  const source = candidateSource({ targetCounts, drawnCount: drawnCount ?? 0, random });
  const candidates = (targets: Int32Array) => {
    const drawn = source(targets);
    candidateCount += drawn.indices.length;
    return drawn;
  };
  const step = await compileSasrecStep(SHAPE, {
    parameters,
    dropout: { activation },
    candidates: drawnCount === undefined ? undefined : candidates,
  });
  const optimizer = adam(parameters);
  const batches = [
    ...epochBatches(histories, histories.start.slice(1), { length: SHAPE.length, cellsMax: CELLS, random }),
  ];
  for (const batch of batches.slice(0, 3)) await step.run(batch);

  candidateCount = 0;
  let tokens = 0;
  let flops = 0;
  const begin = performance.now();
  for (const batch of batches.slice(3, 3 + STEPS)) {
    const before = candidateCount;
    await step.run(batch);
    optimizer.step(1e-3);
    tokens += batch.targets.length;
    flops += flopsOf(batch, drawnCount === undefined ? SHAPE.itemCount : candidateCount - before);
  }
  const seconds = (performance.now() - begin) / 1000;
  await step.release();
  const tokensOfEpoch = batches.reduce((sum, { targets }) => sum + targets.length, 0);
  return {
    tokensPerSecond: tokens / seconds,
    gflops: flops / seconds / 1e9,
    epochSeconds: (seconds / tokens) * tokensOfEpoch,
  };
}

/** Of the matrix products alone, forward and both gradients: multiplications and additions. */
function flopsOf(
  batch: { readonly targets: Int32Array; readonly items: Int32Array; readonly length: number },
  rivals: number,
) {
  const { width, blocks } = SHAPE;
  const loss = 6 * batch.targets.length * width * rivals;
  const layers = 6 * 6 * batch.items.length * width ** 2;
  const attention = 2 * 6 * batch.items.length * batch.length * width;
  return loss + blocks * (layers + attention);
}

/** A product of two 1024 × 1024 matrices: the best of ten. */
async function gemmGflops(): Promise<number> {
  const size = 1024;
  const graph = graphBuilder("gemm");
  const [a, b] = ["a", "b"].map((name) => graph.input(name, "float32", [size, size]));
  graph.output("c", graph.op("MatMul", [a!, b!]), "float32", [size, size]);
  const session = await openSession(graph.build());
  const tensor = () => new ort.Tensor("float32", new Float32Array(size * size).fill(0.5), [size, size]);
  const feeds = { a: tensor(), b: tensor() };
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 10; i++) {
    const begin = performance.now();
    await session.run(feeds);
    best = Math.min(best, performance.now() - begin);
  }
  await session.release();
  return (2 * size ** 3) / best / 1e6;
}

if (import.meta.main) console.log(JSON.stringify(await trainingNeural()));
