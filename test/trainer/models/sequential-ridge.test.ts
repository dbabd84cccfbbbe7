import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { Method } from "../../../trainer/models/model.ts";
import { sequentialRidge } from "../../../trainer/models/sequential-ridge.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sequentialRidge as Method);

const settings = (data: Parameters<typeof sequentialRidge.grid>[0]) => sequentialRidge.grid(data)[0]!;

test("the order counts: after 0 comes 1, after 1 comes 2, whoever had both", async () => {
  const data = trainingData(4, [
    [0, 1, 2, 3],
    [3, 0, 1, 2],
    [2, 3, 0, 1],
  ]);
  const model = await sequentialRidge.fit(data, { ...settings(data), reversed: 0, lambda: 0.1 }, fitContext());
  const best = (items: number[]) => {
    const scores = model.score({ items: items as ItemIndex[], agesDays: items.map(() => 0) });
    return scores.indexOf(Math.max(...scores));
  };
  expect([best([0]), best([1]), best([2])]).toEqual([1, 2, 3]);
});

test("more ridge leads to popularity: the scores of any history become the constant's", async () => {
  const data = trainingData(3, [
    [0, 1, 2, 1],
    [2, 1, 0, 1],
    [0, 2, 1, 1],
  ]);
  const model = await sequentialRidge.fit(data, { ...settings(data), reversed: 0, lambda: 1e7 }, fitContext());
  const scores = model.score({ items: [0 as ItemIndex], agesDays: [0] });
  // Of nine targets six are item 1, one is 0 and two are 2; the constant's own penalty is 1 beside nine positions.
  for (const [item, share] of [1, 6, 2].entries()) expect(scores[item]).toBeCloseTo(share / 10, 3);
});

test("negatives are a setting only where there are any, and teach what follows", async () => {
  const data = trainingData(4, [
    [0, 1],
    [0, 1],
    [2, 3],
  ]);
  expect(sequentialRidge.grid(data).every(({ negatives }) => negatives === 0)).toBe(true);
  const labelled = { ...data, positive: Uint8Array.of(1, 0, 1, 0, 1, 1) };
  const [without, using] = [0, 1].map(
    (negatives) => sequentialRidge.grid(labelled).find((own) => own.negatives === negatives)!,
  );
  const history = { items: [0 as ItemIndex], agesDays: [0] };
  expect((await sequentialRidge.fit(labelled, without!, fitContext())).score(history)[1]).toBeCloseTo(0, 6);
  expect((await sequentialRidge.fit(labelled, using!, fitContext())).score(history)[1]).toBeGreaterThan(0.1);
});
