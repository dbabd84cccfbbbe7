import { describe, expect, test } from "vitest";
import { decodeCatalog, encodeCatalog } from "../../../shared/catalog.ts";
import { itemIdColumn } from "../../../shared/filter/item-id-column.ts";
import type { FilterTest } from "../../../shared/filter/parse-filter.ts";
import type { ItemIdType } from "../../../shared/ids.ts";
import { packStrings } from "../../../shared/packed-strings.ts";

const open = (ids: readonly string[], itemIdType: ItemIdType) =>
  itemIdColumn("id", decodeCatalog(encodeCatalog({ itemIds: packStrings(ids), itemIdType })));
const testOf = (change: object) => ({ attribute: "id", pointer: "/id", path: "", ...change }) as FilterTest;

describe("ids as a column", () => {
  const passing = (ids: string[], type: ItemIdType, change: object) => {
    const column = open(ids, type);
    const { classAt } = column.classifier(column.keysOf(testOf(change)));
    return ids.filter((_, item) => classAt(item) % 2 === 1);
  };
  const texts = ["b", "a", "10", "9"];
  const numbers = ["20", "-5", "3", "9007199254740993"];
  test.each<[string[], ItemIdType, object, string[]]>([
    [texts, "string", { kind: "in", values: ["a", 9, "z", null] }, ["a", "9"]],
    [texts, "string", { kind: "compare", operator: "$lt", value: "9" }, ["10"]],
    [texts, "string", { kind: "compare", operator: "$gte", value: 9 }, ["b", "a", "9"]],
    [texts, "string", { kind: "compare", operator: "$gt", value: "a" }, ["b"]],
    [numbers, "integer", { kind: "in", values: [3, "20", "007"] }, ["20", "3"]],
    [numbers, "integer", { kind: "compare", operator: "$gt", value: 3 }, ["20", "9007199254740993"]],
    [numbers, "integer", { kind: "compare", operator: "$lte", value: "4" }, ["-5", "3"]],
    [numbers, "integer", { kind: "compare", operator: "$lt", value: "9007199254740993" }, ["20", "-5", "3"]],
  ])("%j of type %s, %j", (ids, type, change, expected) => expect(passing(ids, type, change)).toEqual(expected));

  test.each<[ItemIdType, object, string]>([
    ["string", { kind: "in", values: [1.5] }, "an item id"],
    ["string", { kind: "in", values: [true] }, "an item id"],
    ["integer", { kind: "compare", operator: "$gt", value: "x" }, "an integer"],
    ["integer", { kind: "compare", operator: "$gt", value: 1.5 }, "an item id"],
  ])("of type %s, %j is refused", (type, change, sentence) =>
    expect(() => open(["1"], type).keysOf(testOf(change))).toThrow(`expected ${sentence}`),
  );
});

test.each([10, 5000, 10_000])("%i items are classified, by a Map or by an array of all items", (count) => {
  const ids = Array.from({ length: count }, (_, i) => String((i * 7 + 3) % count)); // 7 and count have no common factor
  const column = open(ids, "integer");
  const odd = Array.from({ length: 299 }, (_, i) => Math.floor((i * count) / 300) + (i % 2));
  for (const bounds of [
    odd.filter((bound, i) => bound > (odd[i - 1] ?? -1)),
    [3, 5],
    [0, count - 2],
    [2, 3, count / 2, count / 2 + 1, Infinity],
    [-Infinity, 1],
    [],
  ]) {
    const { classAt } = column.classifier(bounds);
    const expected = ids.map((id) => bounds.filter((bound) => bound <= Number(id)).length);
    expect(ids.map((_, item) => classAt(item))).toEqual(expected);
  }
});
