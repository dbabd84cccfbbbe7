import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { METHODS } from "../../../trainer/learn/methods.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { sessionWalk } from "../../../trainer/learn/session-walk.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { referenceScores } from "../../fixtures/reference-scores.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sessionWalk as Method);

test("scores equal the formula, computed directly", async () => {
  const { random } = fitContext(5);
  const sessions = Array.from({ length: 30 }, (_, session) =>
    Array.from({ length: 2 + (session % 5) }, () => Math.floor(12 * random())),
  );
  const data = trainingData(12, sessions);
  const params = {
    ...{ gapScale: 3, reversed: 0.6, shrinkage: 2, again: 1.2, againScale: 8, againNewest: 0.4, proceed: 0.5 },
    ...{ recentScale: 1.5, power: 0.6, trend: 0.3, rarity: 0.2 },
  };
  const fitted = await sessionWalk.fit(data, params, fitContext());

  const size = data.itemCount;
  const zeros = () => new Array<number>(size).fill(0);
  const [clicks, allClicks, recent] = [zeros(), zeros(), zeros()];
  const pairs = Array.from({ length: size }, zeros);
  const newest = Math.max(...data.times);
  const halfLife = (newest - data.times.toSorted()[data.times.length >> 1]!) / 5;
  for (const [row, item] of data.items.entries()) {
    allClicks[item]!++;
    recent[item]! += 2 ** ((data.times[row]! - newest) / halfLife);
  }
  const toAll = data.items.length / recent.reduce((sum, count) => sum + count);
  for (const session of sessions) {
    const items = session.filter((item, at) => item !== session[at - 1]);
    for (const [at, item] of items.entries()) {
      clicks[item]!++;
      for (const [gap, later] of items.slice(at + 1).entries()) {
        pairs[item]![later]! += Math.exp(-gap / params.gapScale);
        pairs[later]![item]! += params.reversed * Math.exp(-gap / params.gapScale);
      }
    }
  }
  const step = pairs.map((row, item) => row.map((count) => count / (clicks[item]! + params.shrinkage)));
  const times = (a: number[][], b: number[][]) =>
    a.map((row) => b[0]!.map((_, column) => row.reduce((sum, value, k) => sum + value * b[k]![column]!, 0)));
  const twice = times(step, step);
  const thrice = times(twice, step);
  const walk = (from: number, to: number) =>
    step[from]![to]! + params.proceed * twice[from]![to]! + params.proceed ** 2 * thrice[from]![to]!;

  const weight = (from: number, to: number) =>
    walk(from, to) ** params.power *
    ((toAll * recent[to]! + 10) ** params.trend / (allClicks[to]! + 10) ** params.rarity);

  const history = [3, 7, 3, 1] as ItemIndex[];
  const scores = referenceScores(fitted, { items: history, agesDays: [0, 0, 0, 0] });
  for (let item = 0; item < size; item++) {
    let expected = 0;
    for (const [position, from] of history.toReversed().entries()) {
      const isNewestOfItem = history.lastIndexOf(from) === history.length - 1 - position;
      if (isNewestOfItem) expected += Math.exp(-position / params.recentScale) * weight(from, item);
      const again = params.again * (position === 0 ? params.againNewest : 1);
      if (from === item) expected += again * Math.exp(-position / params.againScale);
    }
    expect(scores[item]).toBeCloseTo(expected, 5);
  }
});

test.each([
  ["click items again", [0, 1, 0, 2, 1], true],
  ["never click an item again", [0, 1, 2, 3, 4], false],
])("walks and their blend have settings only where sessions %s", (_, session, isTried) => {
  const data = trainingData(5, Array(20).fill(session));
  for (const name of ["session_walk", "session_blend"]) expect(METHODS[name]!.grid(data).length > 0).toBe(isTried);
});
