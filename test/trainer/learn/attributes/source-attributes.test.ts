import { expect, test } from "vitest";
import {
  attributesSetting,
  sourceAttributes,
  sourceAttributesCost,
} from "../../../../trainer/learn/attributes/source-attributes.ts";
import { checkerboard, trainingData } from "../../../fixtures/checkerboard.ts";
import { twoAisles } from "../../../fixtures/two-aisles.ts";
import { shelves } from "../../../fixtures/with-shelves.ts";

test("attributes are learnt from where there are any and interactions are few", () => {
  expect(attributesSetting(checkerboard(6))).toEqual({});
  expect(attributesSetting(twoAisles())).toEqual({ attributes: 20 });
  const many = trainingData(
    3,
    Array.from({ length: 100 }, () => [0, 1, 2]),
  );
  expect(attributesSetting({ ...many, itemAttributes: [shelves(3)] })).toEqual({});
});

test("not where writing out every pair would take minutes", () => {
  const itemCount = 400_000;
  const data = { ...trainingData(itemCount, [[0, 1]]), itemAttributes: [shelves(itemCount)] };
  expect(attributesSetting(data)).toEqual({});
});

test("the first decay's items have theirs, the constant its own, and nothing else any", () => {
  const data = twoAisles();
  const { rowCount, columnCount, start, columns } = sourceAttributes(data, 2);
  expect([rowCount, columnCount]).toEqual([2 * 24 + 1, 3]);
  const of = (row: number) => [...columns.subarray(start[row], start[row + 1])];
  expect([of(0), of(2), of(1)]).toEqual([of(22), of(22), of(23)]);
  expect(of(0)).not.toEqual(of(1));
  for (let row = 24; row < 48; row++) expect(of(row)).toEqual([]);
  expect(of(48)).toEqual([2]);
});

test("their cost grows with the catalog", () => {
  const cost = (itemCount: number) =>
    sourceAttributesCost(
      { ...trainingData(itemCount, [[0, 1]]), itemAttributes: [shelves(itemCount)] },
      10 * itemCount,
    );
  expect(cost(10_000).seconds).toBeGreaterThan(10 * cost(1000).seconds);
  expect(cost(10_000).memoryMb).toBeGreaterThan(5 * cost(1000).memoryMb);
});
