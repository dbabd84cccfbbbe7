import { expect, test } from "vitest";
import type { Method } from "../../../trainer/learn/model.ts";
import { neuralBlend } from "../../../trainer/learn/neural-blend.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(neuralBlend as Method);

/** 120 users who walk around the same ring of 24 items, each from another starting point. */
const ring = trainingData(
  24,
  Array.from({ length: 120 }, (_, user) => Array.from({ length: 6 }, (_, i) => (user * 5 + i) % 24)),
);

test("the weights of the parts are learnt from the held-out entries and recorded", async () => {
  const model = await neuralBlend.fit(ring, { ...neuralBlend.grid(ring)[0]!, epochs: 3 }, fitContext());
  const { farShare, nearShare } = model.params as Record<string, number>;
  // After three epochs the network knows less than the exact transition counts of the ridges.
  expect(farShare! + nearShare!).toBeGreaterThan(1);
});

test("progress never falls over all parts", async () => {
  const fractions: number[] = [];
  const context = { ...fitContext(), progress: (fraction: number) => void fractions.push(fraction) };
  await neuralBlend.fit(ring, { ...neuralBlend.grid(ring)[0]!, epochs: 2 }, context);
  expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
  expect(fractions.at(-1)).toBeGreaterThan(0.9);
});
