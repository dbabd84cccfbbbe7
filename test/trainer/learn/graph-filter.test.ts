import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { graphFilter } from "../../../trainer/learn/graph-filter.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { symmetricEigen } from "../../../trainer/learn/numerics/linear-algebra/symmetric-eigen.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { referenceScores } from "../../fixtures/reference-scores.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(graphFilter as Method);

/** Random users with `perUser` items each, at regular distances. */
function drawn({ itemCount, perUser }: { readonly itemCount: number; readonly perUser: number }) {
  const { random } = fitContext(11);
  const histories = Array.from({ length: itemCount / 2 }, (_, user) => {
    const first = Math.floor(itemCount * random());
    return Array.from({ length: perUser }, (_, i) => (first + i * (1 + (user % 3))) % itemCount);
  });
  return trainingData(itemCount, histories);
}

test.each([
  ["many users per item: RᵀR is held as a dense matrix", { itemCount: 40, perUser: 8 }],
  ["few users per item: RᵀR is never formed", { itemCount: 120, perUser: 2 }],
])("scores equal the formula, computed directly; %s", async (_, sizes) => {
  const data = drawn(sizes);
  const { itemCount, userCount, userStart } = data;
  const params = { userExponent: 0.4, itemExponent: 0.3, smooth: 0.7, rank: itemCount };
  const fitted = await graphFilter.fit(data, params, fitContext());

  const popularity = new Array<number>(itemCount).fill(0);
  for (const item of data.items) popularity[item]!++;
  const divisor = popularity.map((count) => count ** params.itemExponent || 1);
  const gram = new Float64Array(itemCount ** 2);
  for (let user = 0; user < userCount; user++) {
    const items = data.items.subarray(userStart[user], userStart[user + 1]);
    for (const i of items)
      for (const j of items)
        gram[i * itemCount + j]! += items.length ** (-2 * params.userExponent) / (divisor[i]! * divisor[j]!);
  }
  const { values, vectors } = symmetricEigen(gram, itemCount);
  const real = Array.from(values.keys()).filter((k) => values[k]! > 1e-4 * values[0]!);
  const history = [3, 7].map((i) => data.items[i]! as ItemIndex);
  const scores = referenceScores(fitted, { items: history, agesDays: [0, 0] });
  for (let j = 0; j < itemCount; j++) {
    let expected = 0;
    for (const i of history) {
      expected += gram[i * itemCount + j]! / values[0]!;
      for (const k of real) {
        const [a, b] = [vectors[k * itemCount + i]!, vectors[k * itemCount + j]!];
        expected += (params.smooth * a * b * divisor[j]!) / divisor[i]!;
      }
    }
    expect(scores[j]!).toBeCloseTo(expected, 2);
  }
});

test.each([
  ["a dense matrix", { itemCount: 40, perUser: 8 }],
  ["a product computed user by user", { itemCount: 120, perUser: 2 }],
])("an item that nobody chose neither gives nor gets a score, with %s", async (_, sizes) => {
  const chosen = drawn(sizes);
  const data = { ...chosen, itemCount: chosen.itemCount + 3 };
  const model = await graphFilter.fit(data, graphFilter.grid(data)[0]!, fitContext());
  const unknown = chosen.itemCount as ItemIndex;
  expect(referenceScores(model, { items: [unknown], agesDays: [0] }).every((score) => score === 0)).toBe(true);
  const known = referenceScores(model, { items: [chosen.items[0]! as ItemIndex], agesDays: [0] });
  expect([...known.subarray(unknown)]).toEqual([0, 0, 0]);
});
