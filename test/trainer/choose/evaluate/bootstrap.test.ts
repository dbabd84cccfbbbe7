import { describe, expect, test } from "vitest";
import {
  bootstrapMeans,
  type KeptDraws,
  mean,
  pairedDifference,
} from "../../../../trainer/choose/evaluate/bootstrap.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";

const normal = (random: () => number) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

describe("bootstrapMeans", () => {
  test("the interval of 400 normal values is about 1.96 standard errors each way", () => {
    const random = seededRandom(1);
    const [interval] = bootstrapMeans([Float64Array.from({ length: 400 }, () => normal(random))], { seed: 7 });
    expect(interval!.high - interval!.low).toBeGreaterThan(0.17);
    expect(interval!.high - interval!.low).toBeLessThan(0.23); // 2 · 1.96 / √400 = 0.196
  });
  test("about 95 of 100 intervals hold the true mean", () => {
    const held = Array.from({ length: 200 }, (_, seed) => {
      const random = seededRandom(seed);
      const [interval] = bootstrapMeans([Float64Array.from({ length: 60 }, random)], { seed });
      return interval!.low <= 0.5 && 0.5 <= interval!.high;
    }).filter(Boolean).length;
    expect(held).toBeGreaterThan(180);
    expect(held).toBeLessThan(200);
  });
  test("a higher confidence is a wider interval", () => {
    const values = Float64Array.from({ length: 100 }, (_, i) => i % 7);
    const [narrow] = bootstrapMeans([values], { seed: 1, confidence: 0.8 });
    const [wide] = bootstrapMeans([values], { seed: 1, confidence: 0.999 });
    expect(wide!.low).toBeLessThan(narrow!.low);
    expect(wide!.high).toBeGreaterThan(narrow!.high);
  });
  test("the same seed gives the same interval", () => {
    const values = Float64Array.from({ length: 40 }, seededRandom(9));
    expect(bootstrapMeans([values], { seed: 3 })).toEqual(bootstrapMeans([values], { seed: 3 }));
    expect(bootstrapMeans([values], { seed: 3 })).not.toEqual(bootstrapMeans([values], { seed: 4 }));
  });
  test("without users the mean is not a number; with one user it is that user's value", () => {
    expect(bootstrapMeans([new Float64Array(0)], { seed: 1 })[0]!.value).toBeNaN();
    expect(bootstrapMeans([Float64Array.of(2)], { seed: 1 })).toEqual([{ value: 2, low: 2, high: 2 }]);
  });
});

/** Resampled one after the other: the 2.5 % and 97.5 % points of the means, linear between order statistics. */
function longhand(values: Float64Array, seed: number, resamples: number): { low: number; high: number } {
  const random = seededRandom(seed, values.length);
  const means = Array.from({ length: resamples }, () => {
    const times = new Uint32Array(values.length);
    for (let i = 0; i < values.length; i++) times[Math.floor(random() * values.length)]!++;
    return values.reduce((sum, value, user) => sum + value * times[user]!, 0) / values.length;
  }).sort((a, b) => a - b);
  const at = (share: number) => {
    const place = share * (resamples - 1);
    const [below, above] = [means[Math.floor(place)]!, means[Math.ceil(place)]!];
    return below + (place - Math.floor(place)) * (above - below);
  };
  return { low: at(0.025), high: at(0.975) };
}

test.each([
  { users: 30, resamples: 1000 },
  { users: 56_000, resamples: 200 }, // in 22 blocks and a bit
])("$users users: as written out longhand, also when the same draws are wanted again", ({ users, resamples }) => {
  const random = seededRandom(5);
  const series = [0.3, 1].map((share) => Float64Array.from({ length: users }, () => Math.max(0, random() - 1 + share)));
  const drawsMax = users * resamples;
  const expected = series.map((values) => longhand(values, 11, resamples));
  const all = bootstrapMeans(series, { seed: 11, drawsMax });
  const kept: KeptDraws = [];
  // Others in between, of as many users or as many resamples.
  bootstrapMeans([series[0]!], { seed: 11, kept, drawsMax: 300 * users });
  bootstrapMeans([series[0]!.subarray(1)], { seed: 11, kept, drawsMax });
  const alone = series.map((values) => bootstrapMeans([values], { seed: 11, kept, drawsMax })[0]!);
  for (const got of [all, alone])
    for (const [s, { low, high }] of expected.entries()) {
      expect(got[s]!.low).toBeCloseTo(low, 12);
      expect(got[s]!.high).toBeCloseTo(high, 12);
    }
  expect(kept.length).toBe(users < 100 ? 3 : 0);
});

describe("several values of one user", () => {
  const random = seededRandom(2);
  const users = Float64Array.from({ length: 60 }, () => normal(random));
  const each = (count: (user: number) => number) => {
    const owners = Array.from(users.keys()).flatMap((user) => new Array<number>(count(user)).fill(1000 - user));
    return { owners, values: Float64Array.from(owners, (owner) => users[1000 - owner]!) };
  };
  test("are drawn together: five equal values of each user are no more evidence than one", () => {
    const { owners, values } = each(() => 5);
    const [one] = bootstrapMeans([users], { seed: 1 });
    const [five] = bootstrapMeans([values], { seed: 1, owners });
    for (const key of ["value", "low", "high"] as const) expect(five![key]).toBeCloseTo(one![key], 12);
    const [apart] = bootstrapMeans([values], { seed: 1 });
    expect((five!.high - five!.low) / (apart!.high - apart!.low)).toBeGreaterThan(2); // √5
  });
  test("weigh as many: each resample is divided by the values that it drew", () => {
    const { owners, values } = each((user) => 1 + (user % 3));
    const kept: KeptDraws = [];
    const [own, constant] = bootstrapMeans([values, values.map(() => 7)], { seed: 1, kept, owners });
    expect(own!.value).toBe(mean(values));
    expect(constant).toEqual({ value: 7, low: 7, high: 7 });
    expect(bootstrapMeans([values], { seed: 1, kept, owners })).toEqual([own]);
  });
  test("one value for each user changes nothing, whatever the owners are called", () =>
    expect(bootstrapMeans([users], { seed: 1, owners: users.map((_, i) => 9 * i) })).toEqual(
      bootstrapMeans([users], { seed: 1 }),
    ));
});

test("a difference is paired: equal but for a constant leaves no doubt", () => {
  const a = Float64Array.from({ length: 50 }, (_, i) => i);
  const difference = pairedDifference(
    a,
    a.map((value) => value - 0.25),
    { seed: 1 },
  );
  expect(difference).toEqual({ value: 0.25, low: 0.25, high: 0.25 });
});
test("mean of 1 2 6 is 3", () => expect(mean([1, 2, 6])).toBe(3));
