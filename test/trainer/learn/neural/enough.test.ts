import { expect, test } from "vitest";
import type { Method } from "../../../../trainer/learn/model.ts";
import { NEURAL_INTERACTIONS_MIN, whereDataAllow } from "../../../../trainer/learn/neural/enough.ts";
import { sasrec } from "../../../../trainer/learn/sasrec.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";

const method = whereDataAllow(sasrec as Method);

/** Users of a hundred entries each. */
function data(interactions: number, positives: number) {
  const histories = Array.from({ length: interactions / 100 }, () => Array.from({ length: 100 }, (_, i) => i));
  const all = trainingData(100, histories);
  return { ...all, positive: all.positive.map((_, i) => (i < positives ? 1 : 0)) };
}

test.each([
  ["enough positives", NEURAL_INTERACTIONS_MIN, NEURAL_INTERACTIONS_MIN, true],
  ["too few interactions", NEURAL_INTERACTIONS_MIN - 100, NEURAL_INTERACTIONS_MIN - 100, false],
  ["too few of them positive", NEURAL_INTERACTIONS_MIN, NEURAL_INTERACTIONS_MIN - 1, false],
])("%s", (_, interactions, positives, isTried) => {
  expect(method.grid(data(interactions, positives)).length > 0).toBe(isTried);
});

test("the cost is that of the method, and the highest without settings", () => {
  const large = data(NEURAL_INTERACTIONS_MIN, NEURAL_INTERACTIONS_MIN);
  const params = method.grid(large)[0]!;
  expect(method.cost(large, params)).toEqual((sasrec as Method).cost(large, params));
  expect(method.cost(large, {}).seconds).toBe(Number.MAX_VALUE);
});
