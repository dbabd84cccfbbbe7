import { describe, expect, test } from "vitest";
import { localSetRidge } from "../../../trainer/learn/local-set-ridge.ts";
import { METHODS } from "../../../trainer/learn/methods.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { sequentialLocalRidge } from "../../../trainer/learn/sequential-local-ridge.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { twoAisles } from "../../fixtures/two-aisles.ts";
import { attributeSuite } from "../../suites/attribute-suite.ts";
import { modelSuite } from "../../suites/model-suite.ts";

// Methods without tests of their own; the others run the suite in their test files.
modelSuite(localSetRidge as Method);
attributeSuite(localSetRidge as Method);
modelSuite(sequentialLocalRidge as Method);
attributeSuite(sequentialLocalRidge as Method);

test("every method stands under its own name, and its settings are numbers", () => {
  for (const [name, method] of Object.entries(METHODS)) {
    expect(method.name).toBe(name);
    for (const params of method.grid(twoAisles())) {
      expect(Object.values(params).every(Number.isFinite)).toBe(true);
    }
  }
});

describe.each([
  [10_000, ["sasrec", "neural_blend"]],
  [20_000, ["pooled_history", "pooled_blend"]],
])("networks that need %s positive interactions", (needed, names) => {
  test.each([
    ["enough positives", needed, needed, true],
    ["too few interactions", needed - 100, needed - 100, false],
    ["too few positives", needed, needed - 1, false],
  ])("on data with %s", (_, interactions, positives, isTried) => {
    const histories = Array.from({ length: interactions / 100 }, () => Array.from({ length: 100 }, (_, i) => i));
    const all = trainingData(100, histories);
    const data = { ...all, positive: all.positive.map((_, i) => (i < positives ? 1 : 0)) };
    for (const name of names) expect(METHODS[name]!.grid(data).length > 0).toBe(isTried);
  });
});

test("the sharpened filter is tried, and blended, where interactions are few for the catalog", () => {
  const histories = Array.from({ length: 300 }, (_, user) => [user, user + 1, user + 2, user + 3]);
  for (const [itemCount, isTried] of [
    [400, true],
    [304, false],
  ] as const) {
    const data = trainingData(itemCount, histories);
    expect(METHODS.sharpened_filter!.grid(data).length > 0).toBe(isTried);
    for (const name of ["graph_filter", "implicit_als"])
      expect(METHODS[name]!.standsInFor!(data)).toEqual(isTried ? ["sharpened_filter"] : []);
    const [blended] = METHODS.set_blend!.grid(data);
    expect(Object.keys(blended!).some((name) => name.includes("sharpened_filter"))).toBe(isTried);
  }
});

test.each([
  [9, false],
  [8.9, true],
])(
  "with %s interactions for each item that has any, the first guesses for sets are smooth: %s",
  (perItem, isSmooth) => {
    const itemCount = 3000;
    const rows = perItem * itemCount;
    const histories = Array.from({ length: rows / 10 }, (_, user) =>
      [...Array(10).keys()].map((i) => (10 * user + i) % itemCount),
    );
    const data = trainingData(2 * itemCount, histories); // nobody chose the other half
    const [guess, ridge, filter] = ["pooled_blend", "local_ridge", "sharpened_filter"].map(
      (name) => METHODS[name]!.grid(data)[0],
    );
    expect(guess!["0.pooled_history.temperature"]).toBe(isSmooth ? 0.2 : 0.12);
    expect(guess!["1.sharpened_filter.smooth"]).toBe(isSmooth ? 2 : undefined);
    expect(filter!.smooth).toBe(isSmooth ? 2 : 0.2);
    expect(ridge!.penaltyExponent).toBe(isSmooth ? 0 : 0.25);
  },
);
