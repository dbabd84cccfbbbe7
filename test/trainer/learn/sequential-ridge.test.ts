import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { sequentialRidge } from "../../../trainer/learn/sequential-ridge.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { attributeSuite } from "../../suites/attribute-suite.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sequentialRidge as Method);
attributeSuite(sequentialRidge as Method);

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

test("dense data may look back three times, and what is far, near and between is told apart", async () => {
  const dense = trainingData(
    3,
    Array.from({ length: 110 }, () => [0, 1, 2]),
  );
  const three = sequentialRidge.grid(dense).find(({ middleScale }) => middleScale)!;
  expect(three.longScale).toBeGreaterThan(three.middleScale!);
  expect(three.middleScale).toBeGreaterThan(three.shortScale);
  expect(sequentialRidge.grid(trainingData(3, [[0, 1, 2]])).some(({ middleScale }) => middleScale)).toBe(false);
  const two = { ...three, middleScale: 0 };
  for (const of of ["seconds", "memoryMb"] as const)
    expect(sequentialRidge.cost(dense, three)[of]).toBeGreaterThan(sequentialRidge.cost(dense, two)[of]);

  // What comes next is the item of three steps ago, which only the middle look tells from the last four.
  const data = trainingData(
    4,
    Array.from({ length: 40 }, (_, user) => Array.from({ length: 12 }, (_, at) => (at % 3) + (user % 2))),
  );
  const looks = { longScale: 1e6, longWindow: 9, middleScale: 1e6, middleWindow: 3, shortScale: 1e6, shortWindow: 2 };
  const params = { ...three, ...looks, lambda: 1e-3, reversed: 0 };
  const model = await sequentialRidge.fit(data, params, fitContext());
  const items = [2, 3, 1, 2, 3] as ItemIndex[];
  const scores = model.score({ items, agesDays: items.map(() => 0) });
  expect(scores.indexOf(Math.max(...scores))).toBe(1);
});

test("a fit that is solving still hears that it should end, and tells how far it is", async () => {
  const data = trainingData(4, [
    [0, 1, 2],
    [3, 1],
  ]);
  const controller = new AbortController();
  const progress = (share: number) => share > 0.7 && controller.abort(new Error("enough"));
  const context = { ...fitContext(), signal: controller.signal, progress };
  await expect(sequentialRidge.fit(data, settings(data), context)).rejects.toThrow("enough");
});
