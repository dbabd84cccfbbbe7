import { expect, test } from "vitest";
import { ease } from "../../../../trainer/learn/ease.ts";
import type { Cost, FitContext, Method } from "../../../../trainer/learn/model.ts";
import { costOfParts, fitParts } from "../../../../trainer/learn/scoring/blend-recipe.ts";
import { checkerboard } from "../../../fixtures/checkerboard.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

const data = checkerboard(8);
const seen: FitContext[] = [];
const recipe = (name: string, cost: Cost, weight = 1) => {
  const method: Method = {
    name,
    grid: () => [],
    cost: () => cost,
    fit: (given, _params, context) => {
      seen.push(context);
      context.progress(0.5, "half");
      return ease.fit(given, ease.grid(given)[0]!, fitContext());
    },
  };
  return { method, params: {}, weight };
};

test("each part gets time in proportion to its predicted seconds, and its slice of the progress", async () => {
  const progress: [number, string][] = [];
  const context: FitContext = { ...fitContext(), secondsMax: 50, progress: (...report) => progress.push(report) };
  const recipes = [recipe("quick", { seconds: 2, memoryMb: 1 }), recipe("long", { seconds: 98, memoryMb: 1 })];
  expect(await fitParts(data, [...recipes, recipe("unused", { seconds: 1, memoryMb: 1 }, 0)], context)).toHaveLength(2);
  expect(seen.map(({ secondsMax }) => secondsMax)).toEqual([1, 49]);
  expect(progress.filter(([, detail]) => detail.endsWith("half"))).toEqual([
    [0.25, "quick: half"],
    [0.75, "long: half"],
  ]);
});

test("seconds add up, shared ones once; memory is the largest peak and half of the other peaks", () => {
  const shared = { seconds: 3, isLearnt: false };
  const recipes = [
    recipe("a", { seconds: 5, memoryMb: 100, shared }),
    recipe("b", { seconds: 4, memoryMb: 60, shared }),
  ];
  expect(costOfParts(data, recipes)).toEqual({ seconds: 2 + 1 + 3, memoryMb: 100 + 30, shared });
  expect(costOfParts(data, [recipes[0]!, recipe("c", { seconds: 9, memoryMb: 9 }, 0)]).memoryMb).toBe(100);
});
