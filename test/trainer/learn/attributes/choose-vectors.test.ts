import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { vectorsHelp } from "../../../../trainer/learn/attributes/choose-vectors.ts";
import { COLD_SETTINGS, coldItems, coldScorer } from "../../../../trainer/learn/attributes/cold-items.ts";
import type { TrainingData } from "../../../../trainer/learn/model.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { referenceScores } from "../../../fixtures/reference-scores.ts";

const ITEMS = 122;
const AISLES = 4;
const COLD = [120, 121]; // of the aisles 0 and 1

/** Users choose within one aisle. The category says nothing; vectors say the aisle, or nothing. Nobody has chosen the last two items. */
function shop(sayAisle: boolean): TrainingData {
  const random = seededRandom(5);
  const within = (aisle: number) => aisle + AISLES * Math.floor((random() * 120) / AISLES);
  const histories = Array.from({ length: 200 }, (_, user) => Array.from({ length: 8 }, () => within(user % AISLES)));
  const width = 8;
  const values = Float32Array.from(
    { length: ITEMS * width },
    (_, at) => (sayAisle && at % width === Math.floor(at / width) % AISLES ? 1 : 0) + 0.1 * random(),
  );
  const category = {
    name: "colour",
    type: "Category",
    dictionary: ["red", "blue", "green"],
    start: Uint32Array.from({ length: ITEMS + 1 }, (_, i) => i),
    codes: Uint32Array.from({ length: ITEMS }, () => Math.floor(3 * random())),
  } as const;
  return {
    ...trainingData(ITEMS, histories),
    itemAttributes: [category, { name: "text", type: "Vector", width, values }],
  };
}

test("vectors count if they rank hidden items better", async () => {
  expect(await vectorsHelp(shop(true), COLD_SETTINGS, fitContext())).toBe(true);
  expect(await vectorsHelp(shop(false), COLD_SETTINGS, fitContext())).toBe(false);
});

test("new items are scored by their vectors where these help", async () => {
  const data = shop(true);
  expect([...coldItems(data)]).toEqual(COLD);
  const scorer = await coldScorer(data, fitContext());
  expect(scorer.params).toMatchObject({ vectors: 1 });
  const scoresFor = (items: number[]) => referenceScores(scorer, { items: items as ItemIndex[], agesDays: [1, 0] });
  const [first, second] = [scoresFor([0, 4]), scoresFor([1, 5])];
  expect(first[120]).toBeGreaterThan(first[121]!);
  expect(second[121]).toBeGreaterThan(second[120]!);
  expect((await coldScorer(shop(false), fitContext())).params).toMatchObject({ vectors: 0 });
});

test("an item with nothing but a vector is a cold item", async () => {
  const { itemAttributes, ...others } = shop(true);
  const data = { ...others, itemAttributes: itemAttributes.slice(1) };
  expect([...coldItems(data)]).toEqual(COLD);
  expect((await coldScorer(data, fitContext())).params).toMatchObject({ vectors: 1 });
});
