import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeCatalog, encodeCatalog } from "../../../shared/catalog.ts";
import type { ItemId } from "../../../shared/ids.ts";
import { withIds } from "../../../shared/items/extended-catalog.ts";
import {
  decodeExtension,
  encodeExtension,
  type FeatureRows,
  type VersionExtension,
} from "../../../shared/items/extension-file.ts";
import { placedItems } from "../../../shared/items/placed-items.ts";
import { packStrings } from "../../../shared/packed-strings.ts";

const FEATURES = 5;
type Entry = [feature: number, value: number];

function rowsOf(rows: readonly (readonly Entry[])[]): FeatureRows {
  const ends = rows.map((_, i) => rows.slice(0, i + 1).flat().length);
  return {
    start: Uint32Array.from([0, ...ends]),
    features: Uint16Array.from(rows.flat(), ([feature]) => feature),
    values: Float32Array.from(rows.flat(), ([, value]) => value),
  };
}
const extensionOf = (ids: readonly string[], weights: Entry[][], known: Entry[][]): VersionExtension => ({
  ids: packStrings(ids),
  weights: rowsOf(weights),
  known: rowsOf(known),
  featureCount: FEATURES,
  every: 10,
});
const row = fc.array(fc.tuple(fc.nat(FEATURES - 1), fc.float({ noNaN: true, min: -2, max: 2 })), { maxLength: 4 });
const rows = fc.array(row as fc.Arbitrary<Entry[]>, { maxLength: 6 });
const idsOf = (weights: readonly unknown[]) => weights.map((_, i) => `new${i}`);
const catalog = decodeCatalog(encodeCatalog({ itemIds: packStrings(["a", "b", "c", "d"]), itemIdType: "string" }));

test("an extension is what was stored, and every cut of its file is refused", () => {
  fc.assert(
    fc.property(rows, rows, fc.nat(), (weights, known, cut) => {
      const extension = extensionOf(idsOf(weights), weights, known);
      const bytes = encodeExtension(extension);
      expect(decodeExtension(bytes)).toEqual(extension);
      expect(() => decodeExtension(bytes.subarray(0, cut % bytes.length))).toThrow();
    }),
  );
});

test.each<[string, Partial<VersionExtension>, string]>([
  ["an unknown feature", { known: rowsOf([[[FEATURES, 1]]]) }, "unknown feature"],
  ["a value that is not finite", { weights: rowsOf([[[0, Number.NaN]]]) }, "not finite"],
  ["rows that fall", { known: { ...rowsOf([[], []]), start: Uint32Array.of(0, 1, 0) } }, "do not follow"],
  ["more rows than items", { weights: rowsOf([[], []]) }, "rows for 1 items"],
])("a file with %s is refused", (_, fault, message) => {
  const bytes = encodeExtension({ ...extensionOf(["x"], [[[0, 1]]], [[[0, 1]]]), ...fault });
  expect(() => decodeExtension(bytes)).toThrow(message);
});

test("a new item's score is mean + w · Tᵀ(scores − mean), whatever the order of the new items", () => {
  const score = fc.float({ noNaN: true, min: -100, max: 100 });
  fc.assert(
    fc.property(rows, rows, fc.array(score, { minLength: 4, maxLength: 4 }), (weights, known, scores) => {
      const ids = idsOf(weights);
      const all = withIds(catalog, ids.toReversed() as ItemId[]);
      const placed = placedItems(extensionOf(ids, weights, known), all, catalog.itemCount);
      const mean = 1;
      const liked = Array.from({ length: FEATURES }, (_, f) =>
        known.slice(0, 4).reduce((sum, entries, item) => {
          const values = entries
            .filter(([feature]) => feature === f)
            .map(([, value]) => value * (scores[item]! - mean));
          return sum + values.reduce((a, b) => a + b, 0);
        }, 0),
      );
      const found = placed.scoresFrom(Float32Array.from(scores), mean);
      expect(placed.items.map((at) => all.idAt((4 + at) as never))).toEqual(ids);
      for (const [i, entries] of weights.entries())
        expect(found[i]).toBeCloseTo(
          entries.reduce((sum, [f, weight]) => sum + weight * liked[f]!, mean),
          3,
        );
    }),
  );
});

test("items that were withdrawn, or that the version has, have no score, and scores that are not finite count as the mean", () => {
  const extension = extensionOf(["a", "gone", "new"], [[[0, 1]], [[0, 1]], [[0, 1]]], [[[0, 1]], [[0, 1]]]);
  const placed = placedItems(extension, withIds(catalog, ["new"] as ItemId[]), catalog.itemCount);
  expect(placed.items).toEqual([0]);
  expect([...placed.scoresFrom(Float32Array.of(-Infinity, 3, 0, 0), 1)]).toEqual([3]);
});
