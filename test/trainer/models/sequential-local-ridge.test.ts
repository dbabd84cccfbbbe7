import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { Method } from "../../../trainer/models/model.ts";
import { sequentialLocalRidge } from "../../../trainer/models/sequential-local-ridge.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { twoAisles } from "../../fixtures/two-aisles.ts";
import { withShelves } from "../../fixtures/with-shelves.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sequentialLocalRidge as Method);
modelSuite(withShelves(sequentialLocalRidge as Method));

test("what nobody has chosen yet tells of its aisle, where the settings let attributes speak", async () => {
  const data = twoAisles();
  const aisleOf = async (attributes: number) => {
    const model = await sequentialLocalRidge.fit(
      data,
      { ...sequentialLocalRidge.grid(data)[0]!, attributes },
      fitContext(),
    );
    const scores = model.score({ items: [22 as ItemIndex], agesDays: [0] }); // of the even aisle
    const mean = (rest: number) =>
      scores.filter((_, item) => item < 22 && item % 2 === rest).reduce((a, b) => a + b) / 11;
    return mean(0) - mean(1);
  };
  expect(await aisleOf(0)).toBeCloseTo(0, 2);
  expect(await aisleOf(1)).toBeGreaterThan(0.005);
});

test("with attributes the first setting learns from them and the second does not", () => {
  const [first, second] = sequentialLocalRidge.grid(twoAisles());
  expect([first?.attributes, second?.attributes]).toEqual([20, undefined]);
  expect(second).toEqual({ ...first, attributes: undefined });
});
