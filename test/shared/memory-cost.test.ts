import { expect, test } from "vitest";
import type { Manifest } from "../../shared/manifest.ts";
import {
  isPrepacked,
  leastMemoryBytes,
  memoryCostOf,
  RUNTIME_HEAP_BYTES,
  weightsHeapBytes,
} from "../../shared/memory-cost.ts";

const MB = 2 ** 20;

test.each([
  ["none", [], true, 0],
  ["small ones, twice", [4 * MB, 3 * MB], true, 14 * MB],
  ["many small ones that are large together, once", Array(10).fill(30 * MB), false, 300 * MB],
  ["at the bound", [32 * MB], true, 64 * MB],
  ["a large one, once", [32 * MB + 1], false, 32 * MB + 1],
  ["a million items of 64 bytes with two numbers each, all once", [64e6, 4e6, 4e6], false, 72e6],
])("%s", (_, sizes, prepacked, bytes) => {
  expect([isPrepacked(sizes), weightsHeapBytes(sizes)]).toEqual([prepacked, bytes]);
});

test("a version takes its weights as the runtime holds them, its graph, a run, and what is decoded", () => {
  const file = (size: number) => ({ size });
  const manifest = {
    model: { graph: file(1000), weights: [{ path: "a", file: file(3 * MB) }] },
    catalog: file(4000),
    attributes: file(400),
    users: { directory: file(40), pages: [file(1e9)] },
    user_values: file(800),
    item_count: 100,
  } as unknown as Manifest;
  const cost = { heapBytes: 6 * MB + 3500 + 1200, scriptBytes: 6550, loadingBytes: 3 * MB };
  expect(memoryCostOf(manifest)).toEqual(cost);
  expect(leastMemoryBytes(manifest)).toBe(RUNTIME_HEAP_BYTES + cost.heapBytes + cost.scriptBytes);
});

test("while they load, small weights are in JavaScript whole, large ones a few pieces at a time", () => {
  const loadingBytes = (size: number) =>
    memoryCostOf({
      model: { graph: { size: 1 }, weights: [{ path: "a", file: { size } }] },
      catalog: { size: 1 },
      item_count: 1,
    } as unknown as Manifest).loadingBytes;
  expect([loadingBytes(32 * MB), loadingBytes(64 * MB)]).toEqual([32 * MB, 6 * MB]);
});
