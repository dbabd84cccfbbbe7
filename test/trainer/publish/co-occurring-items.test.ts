import fc from "fast-check";
import { expect, test } from "vitest";
import { coOccurringItems } from "../../../trainer/publish/co-occurring-items.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";

const ITEMS = 7;
const users = fc.array(fc.array(fc.nat(ITEMS - 1), { maxLength: 12 }), { minLength: 1, maxLength: 20 });

test("neighbours are those of the definition, the strongest first", () =>
  fc.assert(
    fc.property(users, (histories) => {
      const { perItem, items, strengths } = coOccurringItems(trainingData(ITEMS, histories));
      const choosers = (...of: number[]) =>
        histories.filter((history) => of.every((item) => history.includes(item))).length;
      for (let item = 0; item < ITEMS; item++) {
        const expected = Array.from({ length: ITEMS }, (_, other) => other)
          .filter((other) => other !== item)
          .map((other) => [other, choosers(item, other) / (Math.sqrt(choosers(item) * choosers(other)) + 10)] as const)
          .filter(([, strength]) => strength > 0);
        const row = Array.from({ length: perItem }, (_, i) => [
          items[item * perItem + i]!,
          strengths[item * perItem + i]!,
        ]);
        const found = row.filter(([, strength]) => strength! > 0);
        expect(found.map(([, strength]) => strength)).toEqual(
          found.map(([, strength]) => strength).sort((a, b) => b! - a!),
        );
        expect(new Map(found as [number, number][])).toEqual(
          new Map(expected.map(([other, strength]) => [other, Math.fround(strength)])),
        );
      }
    }),
  ));

test("of very many interactions, every second user counts", () => {
  const data = trainingData(ITEMS, [
    [0, 1],
    [0, 2],
    [0, 3],
    [0, 4],
  ]);
  const neighbours = (interactionsMax?: number) => {
    const { perItem, items, strengths } = coOccurringItems(data, interactionsMax);
    return [...items.subarray(0, perItem)].filter((_, i) => strengths[i]! > 0).sort();
  };
  expect(neighbours()).toEqual([1, 2, 3, 4]);
  expect(neighbours(4)).toEqual([1, 3]);
});
