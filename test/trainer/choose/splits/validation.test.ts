import { expect, test } from "vitest";
import { stringAt } from "../../../../shared/packed-strings.ts";
import { positivesOf } from "../../../../trainer/choose/report/report.ts";
import { planSplit } from "../../../../trainer/choose/splits/choose-split.ts";
import { popularityOrder, validationOf } from "../../../../trainer/choose/splits/validation.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const shop = twoTastes({ users: 4000, items: 40, perUser: 6 });
const validationIn = (secondsMax: number) => validationOf(shop, plan, { halfLifeDays: 0, seed: 1, secondsMax });
const plan = planSplit(shop, { protocol: "next-item", seed: 1, includeSeen: false });

test("the catalog is in the order that the training part gives", () => {
  const { train, dataset } = validationIn(1000);
  const counts = [...positivesOf(train)];
  expect(counts).toEqual(counts.toSorted((a, b) => b - a));
  expect(stringAt(dataset.itemIds, 0)).not.toBe(stringAt(dataset.itemIds, 1));
});
test("the early cases are some of all cases", () => {
  const { positions, earlyPositions } = validationIn(1000);
  expect(positions.length).toBe(4000);
  expect(earlyPositions.length).toBe(3000);
  expect([...earlyPositions].every((at, i) => positions.includes(at) && (i === 0 || at > earlyPositions[i - 1]!))).toBe(
    true,
  );
});
test.each([
  [1000, 4000, 3000],
  [21, 3493, 3000],
  [6, 2000, 998],
  [1, 2000, 500],
])("with %i seconds for the choice there are %i lists, %i of them for comparing settings", (seconds, lists, early) => {
  const { positions, earlyPositions, firstPositions } = validationIn(seconds);
  expect([positions.length, earlyPositions.length, firstPositions.length]).toEqual([lists, early, 500]);
  expect(earlyPositions.every((at) => positions.includes(at))).toBe(true);
  expect(firstPositions.every((at) => earlyPositions.includes(at))).toBe(true);
});
test("by falling positives, then rows, then by lot", () => {
  const data = {
    ...trainingData(5, [
      [1, 1, 4, 2],
      [3, 0],
    ]),
    positive: Uint8Array.of(1, 1, 1, 0, 1, 0),
  };
  const orders = Array.from({ length: 20 }, (_, seed) => [...popularityOrder(data, 0, seed)].join(" "));
  expect(new Set(orders)).toEqual(new Set(["1 3 4 0 2", "1 4 3 0 2", "1 3 4 2 0", "1 4 3 2 0"]));
  expect(popularityOrder(data, 0, 7)).toEqual(popularityOrder(data, 0, 7));
});
test("a short half-life prefers what is new", () => {
  const data = trainingData(2, [[0, 0, 0, 1, 1]]); // a day apart each
  expect([...popularityOrder(data, 0, 1)]).toEqual([0, 1]);
  expect([...popularityOrder(data, 1, 1)]).toEqual([1, 0]);
});
