import { expect, test } from "vitest";
import { topK } from "../../../../shared/top-k.ts";
import { decodeUserValues } from "../../../../shared/user-values.ts";
import { refitUserValues, servedValues } from "../../../../trainer/choose/newcomers/refit-user-values.ts";
import { byFallingScore, countPerItem, reorderItems } from "../../../../trainer/read/dataset/reorder-items.ts";
import { userValueTable } from "../../../../trainer/read/dataset/user-value-table.ts";
import { tastesByCity } from "../../../fixtures/tastes-by-city.ts";

const data = tastesByCity({ users: 200, items: 30, perUser: 8 });
const order = byFallingScore(countPerItem(data));
const dataset = reorderItems(data, order);
const table = userValueTable(dataset.userAttributes);

test("the file has the chosen values in their order, learnt from all users", () => {
  const [bonn, ulm] = ["Bonn", "Ulm"].map((name) => table.columns[0]!.codes.get(name)!);
  const choice = { values: [bonn!, ulm!], shrink: 10, weight: 1 };
  const bytes = refitUserValues(dataset, { table, choice, halfLifeDays: 30 });
  const values = decodeUserValues(bytes);
  expect([values.itemCount, values.valueCount, values.headCount]).toEqual([30, 2, 30]);
  const parities = (code: number) => topK(values.score([code]), 10).map((item) => order[item]! % 2);
  expect([parities(0).reduce((a, b) => a + b), parities(1).reduce((a, b) => a + b)]).toEqual([0, 10]);
  expect(refitUserValues(dataset, { table, choice, halfLifeDays: 30 })).toEqual(bytes);
  // No value: the order of the catalog.
  const { score } = decodeUserValues(refitUserValues(dataset, { table, choice, halfLifeDays: 0 }));
  expect(topK(score([]), 30)).toEqual(Array.from({ length: 30 }, (_, item) => item));
});

test("as served, users have the codes of the chosen values, and the scores are those of the file", () => {
  const ulm = table.columns[0]!.codes.get("Ulm")!;
  const refit = { table, choice: { values: [ulm], shrink: 10, weight: 1 }, halfLifeDays: 0 };
  const { score, codesOf } = servedValues(dataset, refit);
  expect([codesOf(0), codesOf(1), codesOf(3)]).toEqual([[], [0], [0]]);
  expect(score([0])).toEqual(decodeUserValues(refitUserValues(dataset, refit)).score([0]));
});
