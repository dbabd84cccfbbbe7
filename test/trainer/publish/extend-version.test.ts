import { expect, test } from "vitest";
import { encodeAttributes } from "../../../shared/attributes.ts";
import { encodeCatalog } from "../../../shared/catalog.ts";
import { encodeItemChanges } from "../../../shared/items/changes-file.ts";
import { NEW_ITEMS_MAX } from "../../../shared/items/extended-catalog.ts";
import {
  decodeExtension,
  EXTENSION_BYTES_MAX,
  FEATURES_KEPT,
  KNOWN_ENTRIES_MAX,
} from "../../../shared/items/extension-file.ts";
import { countOf, packStrings, stringAt } from "../../../shared/packed-strings.ts";
import { extendVersion } from "../../../trainer/publish/extend-version.ts";
import { fourTastes } from "../../fixtures/four-tastes.ts";
import { changedItem } from "../../fixtures/item-changes.ts";

type Items = Pick<ReturnType<typeof fourTastes>, "itemIds" | "itemIdType" | "itemAttributes" | "itemCount">;

const inputOf = (items: Items, added: ReturnType<typeof changedItem>[]) => ({
  catalog: encodeCatalog(items),
  attributes: encodeAttributes(items.itemAttributes, items.itemCount),
  similarity: undefined,
  changesFrom: undefined,
  head: encodeItemChanges([], null),
  base: encodeItemChanges(
    added.map((item) => ({ ...item, newAt: 1 })),
    null,
  ),
  every: 10,
});
const ofInput = async (...args: Parameters<typeof inputOf>) => {
  const bytes = await extendVersion(inputOf(...args));
  return bytes && { bytes, ...decodeExtension(bytes) };
};

test("the same files give the same bytes, and an item's features are those of the items with its values", async () => {
  const added = [
    changedItem("lamp", { kind: "lamps", price: 3 }),
    changedItem("globe", { kind: "globes", price: 190 }),
  ];
  const found = (await ofInput(fourTastes(), added))!;
  expect((await ofInput(fourTastes(), added))!.bytes).toEqual(found.bytes);
  const strongest = (row: number) => {
    const [from, to] = [found.weights.start[row]!, found.weights.start[row + 1]!];
    const values = found.weights.values.subarray(from, to);
    return found.weights.features[from + values.indexOf(Math.max(...values))]!;
  };
  const hasFeature = (item: number, feature: number) =>
    found.known.features.subarray(found.known.start[item], found.known.start[item + 1]).includes(feature);
  const having = (feature: number) =>
    Array.from({ length: 200 }, (_, item) => item).filter((item) => hasFeature(item, feature));
  const lampFeatures = [0, 4, 8].map((item) => hasFeature(item, strongest(0)));
  expect(stringAt(found.ids, 0)).toBe("lamp");
  expect(lampFeatures.every(Boolean) || having(strongest(0)).every((item) => item < 25)).toBe(true);
  expect(having(strongest(1)).every((item) => item >= 175)).toBe(true); // the dearest eighth
});

test("10,000 new items with texts are within the bounds of an edge", async () => {
  const wordsOf = (item: number) => Array.from({ length: 4 }, (_, i) => `word${(item * 7 + i * i) % 300}`).join(" ");
  const itemCount = 8000;
  const texts = Array.from({ length: itemCount }, (_, item) => wordsOf(item));
  const items: Items = {
    itemCount,
    itemIds: packStrings(texts.map((_, item) => `i${item}`)),
    itemIdType: "string",
    itemAttributes: [
      {
        name: "title",
        type: "Text",
        dictionary: texts,
        start: Uint32Array.from({ length: itemCount + 1 }, (_, row) => row),
        codes: Uint32Array.from(texts, (_, row) => row),
      },
    ],
  };
  const added = Array.from({ length: NEW_ITEMS_MAX }, (_, i) => changedItem(`n${i}`, { title: wordsOf(i * 3 + 1) }));
  const found = (await ofInput(items, added))!;
  expect(countOf(found.ids)).toBe(NEW_ITEMS_MAX);
  expect(found.bytes.length).toBeLessThan(EXTENSION_BYTES_MAX);
  expect(found.known.values.length).toBeLessThanOrEqual(KNOWN_ENTRIES_MAX);
  expect(found.weights.values.length).toBeLessThanOrEqual(NEW_ITEMS_MAX * FEATURES_KEPT);
}, 60_000);

test("without a shared value there is no extension", async () => {
  expect(await ofInput(fourTastes(), [changedItem("odd", { kind: "globes" })])).toBeUndefined();
  expect(await ofInput(fourTastes(), [changedItem("bare", { price: null })])).toBeUndefined();
  expect(await ofInput(fourTastes(), [])).toBeUndefined();
});
