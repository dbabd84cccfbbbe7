/** The best items of many histories are those that all scores give, item by item. */
import { describe, expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { scaleOf } from "../../../../shared/rank/score-scale.ts";
import type { History } from "../../../../shared/snapshot.ts";
import { topK } from "../../../../shared/top-k.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import { AS_SET } from "../../../../trainer/learn/linear/linear-model.ts";
import type { ExportedModel } from "../../../../trainer/learn/model.ts";
import { averagesOf } from "../../../../trainer/learn/neural/averages.ts";
import { appendPooled } from "../../../../trainer/learn/neural/pooled-export.ts";
import { appendSasrec } from "../../../../trainer/learn/neural/sasrec-export.ts";
import { freshParameters } from "../../../../trainer/learn/neural/sasrec-parameters.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";
import { openHeadScorer } from "../../../../trainer/learn/scoring/head-scorer.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { exportScores } from "../../../../trainer/learn/scoring/scoring-graph.ts";
import { denseWeights, strongestWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";
import { drawnWorld } from "../../../bench/edge-scale-world.ts";

const random = seededRandom(5);
const WIDTH = 12;

/** A pooled model whose items are drawn from few vectors, so that many have the same score. */
function alike(itemCount: number, weightBytesMax: number, { ordered = false } = {}): ExportedModel {
  const kinds = Float32Array.from({ length: 40 * WIDTH }, () => random() - 0.5);
  const value = Float32Array.from({ length: itemCount * WIDTH }, (_, at) => {
    const kind = (Math.floor(at / WIDTH) * 7919) % 40;
    return kinds[kind * WIDTH + (at % WIDTH)]!;
  });
  const identity = Float32Array.from({ length: WIDTH ** 2 }, (_, i) => (i % (WIDTH + 1) === 0 ? 1 : 0));
  const parameters = new Map([
    ["item_table", { value, dims: [itemCount, WIDTH] }],
    ["projection", { value: identity, dims: [WIDTH, WIDTH] }],
    ["everyone", { value: new Float32Array(WIDTH), dims: [WIDTH] }],
    ["place_weights", { value: Float32Array.from({ length: 20 }, () => random() - 1), dims: [20] }],
  ]);
  const shape = { itemCount, width: WIDTH, length: 20, ordered };
  const append = (graph: never, items: string, budget: never) =>
    appendPooled(graph, items, { shape, parameters }, budget);
  return exportScores("pooled", itemCount, append as never)({ weightBytesMax });
}

/** A network with attention, whose nodes are nearly all there for each history. */
function network(itemCount: number, weightBytesMax: number): ExportedModel {
  const shape = { itemCount, length: 15, width: 16, blocks: 1, heads: 2 };
  const parameters = averagesOf(freshParameters(shape, random));
  return exportScores("sasrec", itemCount, (graph, items, budget) =>
    appendSasrec(graph, items, { shape, parameters }, budget),
  )({ weightBytesMax });
}
const drawn = (itemCount: number, weightBytesMax: number) =>
  drawnWorld({ label: "drawn", itemCount, userCount: 1, weightBytesMax }).exported;

const MODELS: Readonly<Record<string, { readonly itemCount: number; readonly exported: () => ExportedModel }>> = {
  "few items in bytes": { itemCount: 300, exported: () => drawn(300, 40_000) },
  "a part and one item in bytes": { itemCount: 4097, exported: () => drawn(4097, 400_000) },
  "many items in bytes": { itemCount: 20_001, exported: () => drawn(20_001, 2_000_000) },
  "fewer directions in bytes": { itemCount: 9000, exported: () => drawn(9000, 300_000) },
  "many items in float32": { itemCount: 20_001, exported: () => drawn(20_001, 1e9) },
  "items of the same score in bytes": { itemCount: 5000, exported: () => alike(5000, 150_000) },
  "weights by place in bytes": { itemCount: 5000, exported: () => alike(5000, 150_000, { ordered: true }) },
  "attention in bytes": { itemCount: 3000, exported: () => network(3000, 100_000) },
  "items of the same score in float32": { itemCount: 5000, exported: () => alike(5000, 1e9) },
};

describe.each(Object.entries(MODELS))("%s", (name, { itemCount, exported: make }) => {
  test("the same items as those of all scores, with the same scores", async () => {
    const exported = make();
    const isExact = name.endsWith("bytes");
    const single = await openScorer(exported, itemCount);
    const heads = (await openHeadScorer(exported, itemCount))!;
    const histories = Array.from({ length: heads.count + 5 }, (_, i): History => {
      const items = Array.from({ length: 1 + (i % 30) }, () => Math.floor(random() * itemCount) as ItemIndex);
      return { items, agesDays: items.map(() => random() * 30) };
    });
    let known = 0;
    const check = async (history: History, i: number) => {
      const head = await heads.headOf(history);
      const isCandidate = (item: ItemIndex) => !history.items.includes(item) && item % 5 !== i % 5;
      const limit = [1, 3, 20, 100][i % 4]!;
      const found = head.bestOf(limit, isCandidate);
      const [ofHead, scale] = [(found ?? []).map(head.scoreOf), head.scale()];
      const scores = (await single.score(history)).slice();
      const expected = topK(scores, limit, isCandidate);
      const ofAll = scaleOf(scores);
      expect(Math.abs(scale.mean - ofAll.mean)).toBeLessThan(1e-4 * ofAll.deviation);
      expect(Math.abs(scale.deviation / ofAll.deviation - 1)).toBeLessThan(1e-4);
      if (found === undefined) return;
      known++;
      // Sums of float32 products are rounded in another order, so that neighbours whose scores differ by less may be exchanged.
      if (isExact) expect(found).toEqual(expected);
      for (const [at, item] of found.entries()) {
        expect(ofHead[at]).toBeCloseTo(scores[item]!, isExact ? 9 : 5);
        expect(ofHead[at]).toBeCloseTo(scores[expected[at]!]!, 5);
      }
    };
    await Promise.all(histories.map(check));
    expect(known).toBeGreaterThan(0.5 * histories.length);
    await Promise.all([single.close(), heads.close()]);
  });
});

test("a model whose last step is no product of all items, or that needs too much memory, has no such scorer", async () => {
  const numbers = Float32Array.from({ length: 300 * 300 }, () => random() - 0.5);
  const matrix = strongestWeights(denseWeights(300, 300, numbers), 20);
  const sparse = fittedLinear("m", {}, { itemCount: 300, terms: [{ weighting: { ...AS_SET, window: 10 }, matrix }] });
  expect(await openHeadScorer(sparse.export({ weightBytesMax: 1e6 }), 300)).toBeUndefined();
  expect(await openHeadScorer(drawn(300, 40_000), 300, { memoryMbMax: 0.1 })).toBeUndefined();
});

test("too few candidates among the best are not searched for in all items", async () => {
  const exported = drawn(20_001, 2_000_000);
  const heads = (await openHeadScorer(exported, 20_001))!;
  const head = await heads.headOf({ items: [3 as ItemIndex], agesDays: [0] });
  expect(head.bestOf(20, (item) => item % 1000 === 0)).toBeUndefined();
  await heads.close();
});
