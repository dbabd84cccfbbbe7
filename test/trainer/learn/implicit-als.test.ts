import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { implicitAls } from "../../../trainer/learn/implicit-als.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { normal } from "../../../trainer/learn/numerics/seeded-random.ts";
import { openScorer } from "../../../trainer/learn/scoring/onnx-scorer.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { referenceScores } from "../../fixtures/reference-scores.ts";
import { solvedLonghand } from "../../fixtures/solved-longhand.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(implicitAls as Method);

const ITEMS = 9; // nobody chose the last one
const HISTORIES = [[0, 1, 2, 1], [1, 2, 3], [], [4, 5], [4, 5, 6, 7], [0, 2, 3], [7, 5], [1]];
const params = { rank: 3, density: 2, penalty: 0.2, frequencyExponent: 0.7, iterations: 4 };

test("scores equal the formulas, computed directly", async () => {
  const model = await implicitAls.fit(trainingData(ITEMS, HISTORIES), params, fitContext(5));
  const itemScores = scoresLonghand(fitContext(5).random);
  for (const history of [[0], [4, 1], [8], [3, 5, 7]]) {
    const scores = referenceScores(model, { items: history as ItemIndex[], agesDays: history.map(() => 0) });
    for (const [target, score] of scores.entries()) {
      const expected = history.reduce((sum, item) => sum + itemScores[item]![target]!, 0);
      expect(Math.abs(score - expected)).toBeLessThan(1e-6);
    }
  }
});

test("progress starts at 0, never falls and ends below 1", async () => {
  const fractions: number[] = [];
  const context = { ...fitContext(), progress: (fraction: number) => fractions.push(fraction) };
  await implicitAls.fit(trainingData(ITEMS, HISTORIES), params, context);
  expect(fractions).toHaveLength(2 * params.iterations);
  expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
  expect(fractions[0]).toBe(0);
  expect(fractions.at(-1)).toBeLessThan(1);
});

test("an export with half the rank drops the least important half of the vectors", async () => {
  const { random } = fitContext(7);
  const itemCount = 200;
  const tastes = 6;
  const histories = Array.from({ length: 300 }, (_, user) =>
    Array.from({ length: 8 }, () => {
      const item = Math.floor(itemCount * random() ** 2);
      return random() < 0.3 ? item : item - (item % tastes) + (user % tastes);
    }).filter((item) => item < itemCount),
  );
  const rank = 16;
  const model = await implicitAls.fit(trainingData(itemCount, histories), { ...params, rank }, fitContext());
  const bytesOfRank = (kept: number) => 2 * itemCount * kept + 8 * itemCount;
  const exported = model.export({ weightBytesMax: bytesOfRank(rank / 2) });
  expect(exported.truncation).toContain("rank 8 of 16");
  const scorer = await openScorer(exported, itemCount);
  let [lost, whole] = [0, 0];
  for (const items of histories.slice(0, 30) as ItemIndex[][]) {
    const history = { items, agesDays: items.map(() => 0) };
    const cut = await scorer.score(history);
    for (const [item, score] of referenceScores(model, history).entries()) {
      lost += (score - cut[item]!) ** 2;
      whole += score ** 2;
    }
  }
  await scorer.close();
  expect(lost / whole).toBeLessThan(0.1);
});

type Rows = readonly (readonly number[])[];

/** [i][j]: what item i of a history adds to the score of item j, by the formulas on plain arrays. */
function scoresLonghand(random: () => number): Rows {
  const { rank, density, penalty, frequencyExponent, iterations } = params;
  const sets = HISTORIES.map((history) => [...new Set(history)]);
  const choosers = Array.from({ length: ITEMS }, (_, item) =>
    sets.flatMap((set, user) => (set.includes(item) ? [user] : [])),
  );
  const rows = sets.flat().length;
  const [users, items] = [sets, choosers].map((lists) => lists.filter((list) => list.length > 0).length) as [
    number,
    number,
  ];
  const everyPair = (density * rows) / (users * items);
  const square = (of: (i: number, j: number) => number): Rows =>
    Array.from({ length: rank }, (_, i) => Array.from({ length: rank }, (_, j) => of(i, j)));
  const sum = (vectors: Rows, of: (v: readonly number[], row: number) => number) =>
    vectors.reduce((total, v, row) => total + of(v, row), 0);
  const ridge = (count: number, others: number) => penalty * (count + everyPair * others) ** frequencyExponent;
  const half = (lists: Rows, fixed: Rows, others: number): Rows =>
    lists.map((list) => {
      const vectorsOfList = list.map((partner) => fixed[partner]!);
      const system = square(
        (i, j) =>
          everyPair * sum(fixed, (v) => v[i]! * v[j]!) +
          sum(vectorsOfList, (v) => v[i]! * v[j]!) +
          (i === j ? ridge(list.length, others) : 0),
      );
      return solvedLonghand(
        system,
        square((i) => sum(vectorsOfList, (v) => v[i]!)).map((row) => row[0]!),
      );
    });

  const draw = (list: readonly number[]) => (list.length > 0 ? (0.1 / Math.sqrt(rank)) * normal(random) : 0);
  let vectors: Rows = choosers.map((list) => Array.from({ length: rank }, () => draw(list)));
  for (let i = 0; i < iterations; i++) vectors = half(choosers, half(sets, vectors, items), users);

  const meanLength = rows / users;
  const expected = square(
    (i, j) =>
      everyPair * sum(vectors, (v) => v[i]! * v[j]!) +
      meanLength * sum(vectors, (v, item) => (choosers[item]!.length / rows) * v[i]! * v[j]!) +
      (i === j ? ridge(meanLength, items) : 0),
  );
  return vectors.map((vector) => {
    const left = solvedLonghand(expected, vector);
    return vectors.map((v) => v.reduce((dot, value, k) => dot + value * left[k]!, 0));
  });
}
