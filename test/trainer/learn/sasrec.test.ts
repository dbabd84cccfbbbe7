import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { sasrec, sasrecPlan } from "../../../trainer/learn/sasrec.ts";
import { positiveHistories } from "../../../trainer/learn/statistics/histories.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { referenceScores } from "../../fixtures/reference-scores.ts";
import { twoAisles } from "../../fixtures/two-aisles.ts";
import { attributeSuite } from "../../suites/attribute-suite.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sasrec as Method);
attributeSuite(sasrec as Method);

test.each([
  ["small and sparse", 12_000, 6000, { width: 32, epochs: 33 }], // 1,300 steps of 300 entries
  ["small and dense", 12_000, 100, { width: 32, epochs: 50 }], // 2,000 steps
  ["of medium size and sparse", 80_000, 20_000, { width: 64, epochs: 26 }],
  ["large and sparse", 200_000, 20_000, { width: 64, epochs: 14 }],
  ["large and dense", 200_000, 2000, { width: 64, epochs: 24 }],
])("data that are %s have epochs for enough steps", (_, entryCount, itemCount, expected) => {
  const history = (user: number) => Array.from({ length: 10 }, (_, i) => (10 * user + i) % itemCount);
  const data = trainingData(
    itemCount,
    Array.from({ length: entryCount / 10 }, (_, user) => history(user)),
  );
  expect(sasrec.grid(data)[0]).toMatchObject(expected);
});

test("on very sparse data a later epoch counts as better although its NDCG is a little below the highest", () => {
  const data = twoAisles();
  const toleranceOf = (itemCount: number) =>
    sasrecPlan(sasrec.grid(data)[0]!, 10, { ...positiveHistories(data), itemCount }).tolerance;
  const entryCount = positiveHistories(data).items.length;
  expect([toleranceOf(Math.ceil(entryCount / 30)), toleranceOf(Math.floor(entryCount / 31))]).toEqual([0.02, 0]);
});

test("before it has learnt anything, the scores of items that are chosen together rise and fall together", async () => {
  const data = twoAisles();
  const model = await sasrec.fit(data, { ...sasrec.grid(data)[1]!, epochs: 1, learningRate: 1e-9 }, fitContext());
  const items = Array.from({ length: 22 }, (_, item) => item as ItemIndex);
  const lists = items.map((item) => referenceScores(model, { items: [item], agesDays: [0] }));
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const centred = items.map((item) => {
    const scores = lists.map((list) => list[item]!);
    return scores.map((score) => score - mean(scores));
  });
  const product = (a: readonly number[], b: readonly number[]) => mean(a.map((value, i) => value * b[i]!));
  const correlation = (a: ItemIndex, b: ItemIndex) =>
    product(centred[a]!, centred[b]!) /
    Math.sqrt(product(centred[a]!, centred[a]!) * product(centred[b]!, centred[b]!));
  const meanOf = (rest: number) =>
    mean(items.flatMap((a) => items.filter((b) => a < b && (a + b) % 2 === rest).map((b) => correlation(a, b))));
  expect(meanOf(0)).toBeGreaterThan(meanOf(1) + 0.3);
});
