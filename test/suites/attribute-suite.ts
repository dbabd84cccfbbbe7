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
    test("an item that nobody has chosen recommends its aisle, if the settings use attributes", async () => {
      const data = twoAisles();
      const preference = async (attributes: number) => {
        const model = await method.fit(data, { ...method.grid(data)[0]!, attributes }, fitContext());
        const scores = referenceScores(model, { items: [22 as ItemIndex], agesDays: [0] }); // an unchosen item of the even aisle
        const ofAisle = (rest: number) => scores.filter((_, item) => item < 22 && item % 2 === rest);
        const mean = (values: Float32Array) => values.reduce((sum, value) => sum + value) / values.length;
        return mean(ofAisle(0)) - mean(ofAisle(1));
      };
      expect(await preference(1)).toBeGreaterThan((await preference(0)) + 0.005);
    });

    test("with attributes in the data, the first setting uses them and the second does not", () => {
      const [first, second] = method.grid(twoAisles());
      expect(first!.attributes).toBeGreaterThan(0);
      expect(second).not.toHaveProperty("attributes");
      expect({ ...second, attributes: first!.attributes }).toEqual(first);
    });
  });
}
