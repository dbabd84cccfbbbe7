import { afterAll, beforeAll, expect, test } from "vitest";
import type { ItemIndex } from "../../shared/ids.ts";
import { openScorer } from "../../trainer/evaluate/onnx-scorer.ts";
import { graphBuilder } from "../../trainer/onnx/graph.ts";
import { SHOP_ITEMS, shopItemId, shopModel } from "../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  // However slow the machine, none of the many runs below is shed: what they compute is looked at here.
  edge = await startEdge({ vars: { QUEUE_MS_MAX: 10_000 } });
});
afterAll(() => edge.stop());

const session = (...items: number[]) => ({
  interactions: items.map((item) => ({ item_id: shopItemId(item, "string") })),
});

test("workerd ranks as onnxruntime-node scores, for every pair of items", async () => {
  await edge.publish();
  const native = await openScorer(shopModel(), SHOP_ITEMS);
  for (let first = 0; first < SHOP_ITEMS; first++) {
    const second = (first + 3) % SHOP_ITEMS;
    const scores = await native.score({ items: [first, second] as ItemIndex[], agesDays: [0, 0] });
    const expected = [...scores.keys()]
      .filter((item) => item !== first && item !== second)
      .sort((a, b) => scores[b]! - scores[a]! || a - b)
      .map((item) => shopItemId(item, "string"));
    const answer = await edge.call("/v0/models/shop/rank", { body: session(first, second) });
    expect(await answer.json()).toEqual(expected);
  }
  await native.close();
});

test("many runs at once do not disturb each other", async () => {
  const single = async (item: number) => (await edge.call("/v0/models/shop/rank", { body: session(item) })).json();
  const alone = await Promise.all([0, 1, 2, 3].map((item) => single(item)));
  const together = await Promise.all(Array.from({ length: 80 }, (_, i) => single(i % 4)));
  for (const [i, list] of together.entries()) expect(list).toEqual(alone[i % 4]);
});

test("a graph that wants only ages gets only ages", async () => {
  const graph = graphBuilder("ages");
  graph.input("ages_days", "float32", ["L"]);
  const axis = graph.constant({ type: "int64", dims: [1], data: BigInt64Array.of(0n) });
  const sum = graph.op("ReduceSum", ["ages_days", axis], { keepdims: { int: 1 } });
  const ramp = graph.constant({ type: "float32", dims: [8], data: Float32Array.from({ length: 8 }, (_, i) => i) });
  graph.output("scores", graph.op("Add", [ramp, graph.op("Mul", [sum, ramp])]), "float32", [8]);
  await edge.publish({ modelName: "ages", exported: { graph: graph.build(), weights: [], truncation: "" } });
  const answer = await edge.call("/v0/models/ages/rank?user_id=ann&limit=3");
  expect(await answer.json()).toEqual(["i7", "i6", "i5"]);
});
