import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { sasrec, sasrecPlan } from "../../../trainer/learn/sasrec.ts";
import { positiveHistories } from "../../../trainer/learn/statistics/histories.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { referenceScores } from "../../fixtures/reference-scores.ts";
import { twoAisles } from "../../fixtures/two-aisles.ts";
import { attributeSuite } from "../../suites/attribute-suite.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sasrec as Method);
attributeSuite(sasrec as Method);

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
