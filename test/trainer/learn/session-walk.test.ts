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
  const params = { ...sessionWalk.grid(data)[0]!, gapScale: 3, reversed: 0.6, shrinkage: 2, recentScale: 1.5 };
  const fitted = await sessionWalk.fit(data, params, fitContext());

  const size = data.itemCount;
  const clicks = new Array<number>(size).fill(0);
  const pairs = Array.from({ length: size }, () => new Array<number>(size).fill(0));
  for (const items of sessions) {
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

  const history = [3, 7, 3, 1] as ItemIndex[];
  const scores = referenceScores(fitted, { items: history, agesDays: [0, 0, 0, 0] });
  for (let item = 0; item < size; item++) {
    let expected = 0;
    for (const [position, from] of history.toReversed().entries()) {
      expected += Math.exp(-position / params.recentScale) * walk(from, item);
      if (from === item) expected += params.again * Math.exp(-position / params.againScale);
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
