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
