import { describe, expect, test } from "vitest";
import type { ItemIndex } from "../../shared/ids.ts";
import type { Method } from "../../trainer/learn/model.ts";
import { fitContext } from "../fixtures/fit-context.ts";
import { referenceScores } from "../fixtures/reference-scores.ts";
import { twoAisles } from "../fixtures/two-aisles.ts";
import { withShelves } from "../fixtures/with-shelves.ts";
import { modelSuite } from "./model-suite.ts";

/** The behaviour of a method that learns from item attributes: that of every method, and that attributes count. */
export function attributeSuite(method: Method): void {
  modelSuite(withShelves(method));

  describe(`${method.name} learns from item attributes`, () => {
    test("items that nobody has chosen recommend their aisle, if the settings use attributes", async () => {
      const data = twoAisles();
      const preference = async (attributes: number) => {
        const model = await method.fit(data, { ...method.grid(data)[0]!, attributes }, fitContext());
        const mean = (values: Float32Array) => values.reduce((sum, value) => sum + value) / values.length;
        const preferenceOf = (unchosen: number) => {
          const scores = referenceScores(model, { items: [unchosen as ItemIndex], agesDays: [0] });
          const ofAisle = (rest: number) => mean(scores.filter((_, item) => item < 22 && item % 2 === rest));
          return ofAisle(unchosen % 2) - ofAisle((unchosen + 1) % 2);
        };
        return preferenceOf(22) + preferenceOf(23); // of each aisle one, since vectors that nothing has taught prefer one of them
      };
      expect(await preference(1)).toBeGreaterThan((await preference(0)) + 0.01);
    });

    test("with attributes in the data, the first setting uses them and the second does not", () => {
      const [first, second] = method.grid(twoAisles());
      expect(first!.attributes).toBeGreaterThan(0);
      expect(second).not.toHaveProperty("attributes");
      expect({ ...second, attributes: first!.attributes }).toEqual(first);
    });
  });
}
