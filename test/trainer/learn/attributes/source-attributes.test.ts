import { expect, test } from "vitest";
import {
  attributesSetting,
  sourceAttributes,
  sourceAttributesCost,
} from "../../../../trainer/learn/attributes/source-attributes.ts";
import { checkerboard, trainingData } from "../../../fixtures/checkerboard.ts";
import { twoAisles } from "../../../fixtures/two-aisles.ts";
import { shelves } from "../../../fixtures/with-shelves.ts";

test("attributes are used if there are any and interactions are few", () => {
  expect(attributesSetting(checkerboard(6))).toEqual({});
  expect(attributesSetting(twoAisles())).toEqual({ attributes: 20 });
  const many = trainingData(
    3,
    Array.from({ length: 100 }, () => [0, 1, 2]),
  );
  expect(attributesSetting({ ...many, itemAttributes: [shelves(3)] })).toEqual({});
});

test("attributes are not used where weights for all item pairs would take minutes", () => {
  const itemCount = 320_000;
  const data = { ...trainingData(itemCount, [[0, 1]]), itemAttributes: [shelves(itemCount)] };
  expect(attributesSetting(data)).toEqual({});
});

test("only the items under the first decay and the constant have attributes", () => {
  const data = twoAisles();
  const { rowCount, columnCount, start, columns } = sourceAttributes(data, 2);
  expect([rowCount, columnCount]).toEqual([2 * 24 + 1, 3]);
  const attributesOf = (row: number) => [...columns.subarray(start[row], start[row + 1])];
  expect([attributesOf(0), attributesOf(2), attributesOf(1)]).toEqual([
    attributesOf(22),
    attributesOf(22),
    attributesOf(23),
  ]);
  expect(attributesOf(0)).not.toEqual(attributesOf(1));
  for (let row = 24; row < 48; row++) expect(attributesOf(row)).toEqual([]);
  expect(attributesOf(48)).toEqual([2]);
});

test("the cost grows with the catalog", () => {
  const cost = (itemCount: number) =>
    sourceAttributesCost(
      { ...trainingData(itemCount, [[0, 1]]), itemAttributes: [shelves(itemCount)] },
      10 * itemCount,
    );
  expect(cost(10_000).seconds).toBeGreaterThan(10 * cost(1000).seconds);
  expect(cost(10_000).memoryMb).toBeGreaterThan(5 * cost(1000).memoryMb);
});
