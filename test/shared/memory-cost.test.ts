import { expect, test } from "vitest";
import type { Manifest } from "../../shared/manifest.ts";
import { changedItemsBytes, leastMemoryBytes, memoryCostOf, RUNTIME_HEAP_BYTES } from "../../shared/memory-cost.ts";

const MB = 2 ** 20;

test("a version needs memory for its weights once, its graph, a run and its decoded files", () => {
  const file = (size: number) => ({ size });
  const manifest = {
    model: { graph: file(1000), weights: [{ path: "a", file: file(3 * MB) }] },
    catalog: file(4000),
    attributes: file(400),
    users: { directory: file(40), pages: [file(1e9)] },
    user_values: file(800),
    item_count: 100,
  } as unknown as Manifest;
  const cost = { heapBytes: 3 * MB + 3500 + 1200, scriptBytes: 6550, loadingBytes: 3 * MB };
  expect(memoryCostOf(manifest)).toEqual(cost);
  const own = cost.heapBytes + cost.scriptBytes;
  expect(leastMemoryBytes([manifest])).toBe(RUNTIME_HEAP_BYTES + own);
  expect(changedItemsBytes(manifest)).toBe(400 + 413); // every column, and 4 1/8 bytes an item
  expect(leastMemoryBytes([manifest, manifest], true)).toBe(RUNTIME_HEAP_BYTES + 2 * (own + 813));
});

test("absent files need no memory", () => {
  const file = { size: 1000 };
  const bare = { attributes: null, users: null, item_count: 0 } as unknown as Manifest;
  const model = { graph: file, weights: [] } as unknown as Manifest["model"];
  const cost = { heapBytes: 3500, scriptBytes: 1250, loadingBytes: 0 };
  expect(memoryCostOf({ ...bare, model, catalog: file } as unknown as Manifest)).toEqual(cost);
});

test("while weights load, a few pieces of them are in JavaScript", () => {
  const loadingBytes = (size: number) =>
    memoryCostOf({
      model: { graph: { size: 1 }, weights: [{ path: "a", file: { size } }] },
      catalog: { size: 1 },
      item_count: 1,
    } as unknown as Manifest).loadingBytes;
  expect([MB, 16 * MB, 17 * MB, 65 * MB].map(loadingBytes)).toEqual([MB, 16 * MB, 16 * MB, 6 * MB]);
});
