import { expect, test } from "vitest";
import type { Method } from "../../../trainer/learn/model.ts";
import { neuralBlend } from "../../../trainer/learn/neural-blend.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(neuralBlend as Method);

/** Each of 120 users walks around the same ring of 24 items, from a place of their own. */
const ring = trainingData(
  24,
  Array.from({ length: 120 }, (_, user) => Array.from({ length: 6 }, (_, i) => (user * 5 + i) % 24)),
);

test("shares are learnt from the held-out entries and recorded", async () => {
  const model = await neuralBlend.fit(ring, { ...neuralBlend.grid(ring)[0]!, epochs: 3 }, fitContext());
  const { farShare, nearShare } = model.params as Record<string, number>;
  // A network that has hardly begun to learn knows less than a transition count that is exact.
  expect(farShare! + nearShare!).toBeGreaterThan(1);
});

test("progress rises over all parts", async () => {
  const shares: number[] = [];
  const context = { ...fitContext(), progress: (share: number) => void shares.push(share) };
  await neuralBlend.fit(ring, { ...neuralBlend.grid(ring)[0]!, epochs: 2 }, context);
  expect(shares).toEqual(shares.toSorted((a, b) => a - b));
  expect(shares.at(-1)).toBeGreaterThan(0.9);
});
