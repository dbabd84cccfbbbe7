import { expect, test } from "vitest";
import type { Evaluation } from "../../../../trainer/choose/evaluate/evaluate.ts";
import { listShape, restrictedTo } from "../../../../trainer/choose/evaluate/evaluation-figures.ts";
import { measuredShape, measuredShapeLift, shapeFigures } from "../../../../trainer/choose/evaluate/shape-intervals.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";

const ITEMS = 40;
const popularity = Array.from({ length: ITEMS }, (_, item) => ITEMS - item);

/** Lists of three items, drawn with the chances that item i has by `chance`; two lists for each user. */
function drawn(users: number, seed: number, chance = (uniform: number) => uniform ** 3): Evaluation {
  const random = seededRandom(seed);
  const count = 2 * users;
  const lists = Int32Array.from({ length: 3 * count }, () => Math.floor(ITEMS * chance(random())));
  const positions = Uint32Array.from({ length: count }, (_, i) => i);
  const owners = positions.map((i) => Math.floor(i / 2));
  return { positions, owners, cutOffs: [1, 3], listLength: 3, lists, values: new Map() };
}

test("each figure, and each without a group of users, is the one that a count from the beginning gives", () => {
  const evaluation = drawn(6, 1);
  const figures = shapeFigures(evaluation, popularity);
  const whole = listShape(evaluation, popularity);
  for (const [name, { all, without }] of figures) {
    expect(all, name).toBeCloseTo(whole[name]!, 12);
    expect(without.length).toBe(6);
    for (const [user, value] of without.entries()) {
      const others = evaluation.positions.filter((i) => evaluation.owners[i] !== user);
      const rest = listShape(restrictedTo(evaluation, others), popularity)[name]!;
      expect(value, `${name} without user ${user}`).toBeCloseTo(rest, 12);
    }
  }
  expect([...figures.keys()].sort()).toEqual(Object.keys(whole).sort());
});

test("of a hundred samples of users, about 95 or more have an interval that holds the mean of all samples", () => {
  const samples = Array.from({ length: 100 }, (_, seed) => measuredShape(shapeFigures(drawn(60, seed), popularity)));
  for (const name of Object.keys(samples[0]!)) {
    const values = samples.map((sample) => sample[name]!);
    const mean = values.reduce((sum, { value }) => sum + value!, 0) / values.length;
    expect(values.filter(({ low, high }) => low! <= mean && mean <= high!).length, name).toBeGreaterThanOrEqual(88);
    const widths = values.map(({ low, high }) => high! - low!);
    const spread = Math.sqrt(values.reduce((sum, { value }) => sum + (value! - mean) ** 2, 0) / values.length);
    expect(Math.max(...widths), name).toBeLessThan(10 * spread); // 4 if every estimate were exact
  }
});

test("a difference is own minus other; of the same lists it is 0 without doubt", () => {
  const [own, other] = [drawn(60, 1, (uniform) => uniform), drawn(60, 2)].map((one) => shapeFigures(one, popularity));
  const { "gini@3": gini } = measuredShapeLift(own!, other!);
  expect(gini!.value).toBeCloseTo(own!.get("gini@3")!.all - other!.get("gini@3")!.all, 12);
  expect(gini!.high).toBeLessThan(0); // evenly drawn items are shown more equally
  expect(measuredShapeLift(own!, own!)["gini@1"]).toEqual({ value: 0, low: 0, high: 0 });
});

test("without lists there is nothing to measure", () => {
  const nothing = restrictedTo(drawn(2, 1), new Uint32Array(0));
  expect(measuredShape(shapeFigures(nothing, popularity))).toMatchObject({
    "coverage@1": { value: 0, low: 0, high: 0 },
    "popularity_percentile@1": { value: null, low: null, high: null },
  });
});
