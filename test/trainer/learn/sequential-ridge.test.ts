import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { sequentialRidge } from "../../../trainer/learn/sequential-ridge.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { referenceScores } from "../../fixtures/reference-scores.ts";
import { attributeSuite } from "../../suites/attribute-suite.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sequentialRidge as Method);
attributeSuite(sequentialRidge as Method);

const settings = (data: Parameters<typeof sequentialRidge.grid>[0]) => sequentialRidge.grid(data)[0]!;

test("order counts: 1 follows 0, and 2 follows 1", async () => {
  const data = trainingData(4, [
    [0, 1, 2, 3],
    [3, 0, 1, 2],
    [2, 3, 0, 1],
  ]);
  const model = await sequentialRidge.fit(data, { ...settings(data), reversed: 0, lambda: 0.1 }, fitContext());
  const best = (items: number[]) => {
    const scores = referenceScores(model, { items: items as ItemIndex[], agesDays: items.map(() => 0) });
    return scores.indexOf(Math.max(...scores));
  };
  expect([best([0]), best([1]), best([2])]).toEqual([1, 2, 3]);
});

test("a very large ridge leads to popularity, whatever the history", async () => {
  const data = trainingData(3, [
    [0, 1, 2, 1],
    [2, 1, 0, 1],
    [0, 2, 1, 1],
  ]);
  const model = await sequentialRidge.fit(data, { ...settings(data), reversed: 0, lambda: 1e7 }, fitContext());
  const scores = referenceScores(model, { items: [0 as ItemIndex], agesDays: [0] });
  // Six of the nine targets are item 1, one is item 0, two are item 2. The constant's ridge adds 1 to the nine positions.
  for (const [item, count] of [1, 6, 2].entries()) expect(scores[item]).toBeCloseTo(count / 10, 3);
});

test("the grid uses negatives only if the data have some; then a negative interaction counts as the next item", async () => {
  const data = trainingData(4, [
    [0, 1],
    [0, 1],
    [2, 3],
  ]);
  expect(sequentialRidge.grid(data).every(({ negatives }) => negatives === 0)).toBe(true);
  const labelled = { ...data, positive: Uint8Array.of(1, 0, 1, 0, 1, 1) };
  const [without, using] = [0, 1].map(
    (negatives) => sequentialRidge.grid(labelled).find((params) => params.negatives === negatives)!,
  );
  const history = { items: [0 as ItemIndex], agesDays: [0] };
  expect(referenceScores(await sequentialRidge.fit(labelled, without!, fitContext()), history)[1]).toBeCloseTo(0, 6);
  expect(referenceScores(await sequentialRidge.fit(labelled, using!, fitContext()), history)[1]).toBeGreaterThan(0.1);
});

test("dense data get a setting with three windows, and the middle one counts", async () => {
  const dense = trainingData(
    3,
    Array.from({ length: 110 }, () => [0, 1, 2]),
  );
  const three = sequentialRidge.grid(dense).find(({ middleScale }) => middleScale)!;
  expect(three.longScale).toBeGreaterThan(three.middleScale!);
  expect(three.middleScale).toBeGreaterThan(three.shortScale);
  expect(sequentialRidge.grid(trainingData(3, [[0, 1, 2]])).some(({ middleScale }) => middleScale)).toBe(false);
  const two = { ...three, middleScale: 0 };
  for (const cost of ["seconds", "memoryMb"] as const)
    expect(sequentialRidge.cost(dense, three)[cost]).toBeGreaterThan(sequentialRidge.cost(dense, two)[cost]);

  // The next item is the one of three steps ago, which only the middle window separates from older ones.
  const data = trainingData(
    4,
    Array.from({ length: 40 }, (_, user) => Array.from({ length: 12 }, (_, at) => (at % 3) + (user % 2))),
  );
  const windows = { longScale: 1e6, longWindow: 9, middleScale: 1e6, middleWindow: 3, shortScale: 1e6, shortWindow: 2 };
  const params = { ...three, ...windows, lambda: 1e-3, reversed: 0 };
  const model = await sequentialRidge.fit(data, params, fitContext());
  const items = [2, 3, 1, 2, 3] as ItemIndex[];
  const scores = referenceScores(model, { items, agesDays: items.map(() => 0) });
  expect(scores.indexOf(Math.max(...scores))).toBe(1);
});

test("a fit can be aborted while it solves, and reports its progress", async () => {
  const data = trainingData(4, [
    [0, 1, 2],
    [3, 1],
  ]);
  const controller = new AbortController();
  const progress = (fraction: number) => fraction > 0.7 && controller.abort(new Error("enough"));
  const context = { ...fitContext(), signal: controller.signal, progress };
  await expect(sequentialRidge.fit(data, settings(data), context)).rejects.toThrow("enough");
});
