import { expect, test } from "vitest";
import { stringAt } from "../../../../shared/packed-strings.ts";
import { type RefitInput, refit } from "../../../../trainer/choose/decide/refit.ts";
import { positivesOf } from "../../../../trainer/choose/report/report.ts";
import type { FittedModel, Method } from "../../../../trainer/learn/model.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { ease } from "../../../fixtures/ease.ts";
import { referenceScores } from "../../../fixtures/reference-scores.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const shop = twoTastes({ users: 100, items: 20, perUser: 5 });
const input: RefitInput = {
  dataset: shop,
  methods: { ease: ease as Method },
  choice: { method: "ease", params: { ...ease.grid(shop)[0]!, lambda: 2 } },
  halfLifeDays: 0,
  secondsMax: 10,
  context: {
    budget: { weightBytesMax: 1e7 },
    memoryMbMax: 1000,
    seed: 1,
    signal: new AbortController().signal,
    clock: () => performance.now() / 1000,
    progress: () => {},
  },
};

test("the chosen settings are fitted on every interaction, under the catalog order that is published", async () => {
  const models: FittedModel[] = [];
  const fit: Method["fit"] = async (...task) => {
    models.push(await (ease as Method).fit(...task));
    return models[0]!;
  };
  const methods = { ease: { ...(ease as Method), fit } };
  const { dataset, fitted, exported, report } = await refit({ ...input, methods });
  expect(report.interactions).toBe(500);
  const { historyMax } = models[0]!;
  expect(fitted).toEqual({ ...input.choice, historyMax });
  const counts = [...positivesOf(dataset)];
  expect(counts).toEqual(counts.toSorted((a, b) => b - a));
  // Item ids moved with their items: the most popular one has the count that its id had before.
  const id = Number(stringAt(dataset.itemIds, 0));
  expect(positivesOf(shop)[id - 1000]).toBe(counts[0]);
  const scorer = await openScorer(exported, 20);
  const scores = await scorer.score({ items: [3 as never], agesDays: [0] });
  const expected = referenceScores(models[0]!, { items: [3 as never], agesDays: [0] });
  for (const [item, score] of scores.entries()) expect(score).toBeCloseTo(expected[item]!, 5);
  await scorer.close();
});
test("a method that is not there is named", () =>
  expect(refit({ ...input, choice: { method: "oracle", params: {} } })).rejects.toThrow('no method "oracle"'));
test("a fit beyond the memory learns from some of the users, and all users are published", async () => {
  const many = twoTastes({ users: 4000, items: 20, perUser: 5 });
  const costly = {
    ...(ease as Method),
    cost: ({ items }: { items: Int32Array }) => ({ seconds: 0, memoryMb: items.length / 10 }),
  };
  const { dataset, report } = await refit({ ...input, dataset: many, methods: { ease: costly } });
  expect(report.interactions).toBeGreaterThan(4000); // of half of the users: a quarter of them would be 5,000
  expect(report.interactions).toBeLessThan(11_000);
  expect(dataset.items.length).toBe(20_000);
});
