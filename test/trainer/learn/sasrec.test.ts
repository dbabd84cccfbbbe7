import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { sasrec } from "../../../trainer/learn/sasrec.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { referenceScores } from "../../fixtures/reference-scores.ts";
import { twoAisles } from "../../fixtures/two-aisles.ts";
import { attributeSuite } from "../../suites/attribute-suite.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sasrec as Method);
attributeSuite(sasrec as Method);

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
