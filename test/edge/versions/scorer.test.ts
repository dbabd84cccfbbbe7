import { afterAll, beforeAll, expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { blobKey } from "../../../shared/manifest.ts";
import { graphBuilder } from "../../../trainer/learn/numerics/onnx/graph.ts";
import { openScorer } from "../../../trainer/learn/scoring/onnx-scorer.ts";
import { SHOP_ITEMS, shopItemId, shopModel } from "../../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  // High limits, so that even a slow machine refuses none of the many runs below.
  const vars = { CONCURRENT_RANKS_MAX: 1000, QUEUE_MS_MAX: 10_000, CACHE_MEGABYTES: 120 };
  edge = await startEdge({ vars });
});
afterAll(() => edge.stop());

const session = (...items: number[]) => ({
  interactions: items.map((item) => ({ item_id: shopItemId(item, "string") })),
});

const bytesOf = (array: Float32Array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

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

const LARGE_ROWS = 300_000; // of 32 bytes, so five pieces
const heapOf = (modelName: string) =>
  edge.log.map((line) => JSON.parse(line)).find(({ event, model }) => event === "version_loaded" && model === modelName)
    ?.heap_bytes;

test("large weights are written to the runtime's heap, and rank like small ones", async () => {
  await edge.publish({ modelName: "large", exported: shopModel({ padding: LARGE_ROWS }) });
  for (const item of [0, 3, 7]) {
    const ask = async (model: string) =>
      (await edge.call(`/v0/models/${model}/rank`, { body: session(item, (item + 2) % SHOP_ITEMS) })).json();
    expect(await ask("large")).toEqual(await ask("shop"));
  }
  expect(heapOf("large")).toBeLessThan(16 * 2 ** 20 + 1.2 * 32 * LARGE_ROWS);
});
test("large weights with one wrong bit are refused, and read again later", async () => {
  const exported = shopModel({ isReversed: true, padding: LARGE_ROWS });
  const { manifest } = await edge.publish({ modelName: "flipped", exported });
  const weights = blobKey("acme", "flipped", manifest.model.weights[0]!.file.digest);
  await edge.inject({ keys: weights, kind: "flip" });
  expect((await edge.call("/v0/models/flipped/rank", { body: session(0) })).status).toBe(503);
  await edge.inject(undefined);
  await expect
    .poll(async () => (await edge.call("/v0/models/flipped/rank", { body: session(0) })).json())
    .toEqual(["i7", "i6", "i5", "i4", "i3", "i2", "i1"]);
});
test("large weights that the runtime uses while loading are handed over as a whole", async () => {
  const graph = graphBuilder("folded");
  graph.input("items", "int32", ["L"]);
  const rows = LARGE_ROWS + 1;
  const table = Float32Array.from({ length: rows * SHOP_ITEMS }, (_, at) => at % SHOP_ITEMS);
  const weights = graph.op("Neg", [graph.external("weights.bin", "float32", [rows, SHOP_ITEMS])]); // computed by the runtime while loading
  const axes = graph.constant({ type: "int64", dims: [1], data: BigInt64Array.of(0n) });
  const sum = graph.op("ReduceSum", [graph.op("Gather", [weights, "items"]), axes], { keepdims: { int: 0 } });
  graph.output("scores", sum, "float32", [SHOP_ITEMS]);
  const exported = { graph: graph.build(), weights: [{ path: "weights.bin", bytes: bytesOf(table) }], truncation: "" };
  await edge.publish({ modelName: "folded", exported });
  const answer = await edge.call("/v0/models/folded/rank", { body: session(2) });
  expect(await answer.json()).toEqual(["i0", "i1", "i3", "i4", "i5", "i6", "i7"]);
});
