import { expect, test } from "vitest";
import type { Manifest } from "../../../shared/manifest.ts";
import { leastMemoryBytes } from "../../../shared/memory-cost.ts";
import { checkServable } from "../../../trainer/publish/check-servable.ts";

const MB = 2 ** 20;
const file = (size: number) => ({ size });
const manifest = {
  model: { graph: file(2000), weights: [{ path: "a", file: file(20 * MB) }] },
  catalog: file(MB),
  attributes: null,
  users: null,
  item_count: 50_000,
} as unknown as Manifest;

test("a version that fits to the byte is let through, one byte less is refused with both figures", () => {
  const needed = leastMemoryBytes([manifest]);
  expect(() => checkServable(manifest, needed)).not.toThrow();
  expect(() => checkServable(manifest, needed - 1)).toThrow(/needs 39\.7 MB .* has 39\.7 MB .*SHORTLIST_WEIGHT_MB/);
});

test("changed items take memory too, and the refusal says how much", () => {
  const needed = leastMemoryBytes([manifest], true);
  expect(() => checkServable(manifest, needed, true)).not.toThrow();
  expect(() => checkServable(manifest, needed - 1, true)).toThrow(
    /of which 0\.2 MB are for changed items.*CACHE_MEGABYTES/,
  );
  expect(() => checkServable(manifest, needed - 1)).not.toThrow();
});
