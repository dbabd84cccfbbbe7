import fc from "fast-check";
import { expect, test } from "vitest";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";
import type { Interactions } from "../../../../trainer/read/dataset/dataset.ts";
import {
  instantsForFractions,
  leaveLastOut,
  rowsWhere,
  type Split,
  setSplit,
  type Targets,
  temporalSplit,
} from "../../../../trainer/read/dataset/split.ts";

type Row = { readonly item: number; readonly time: number; readonly positive: boolean };

/** Users as lists of rows, sorted by time here. */
function interactionsOf(users: readonly (readonly Row[])[], withRatings = false): Interactions {
  const sorted = users.map((rows) => [...rows].sort((a, b) => a.time - b.time));
  const all = sorted.flat();
  const userStart = new Uint32Array(users.length + 1);
  for (const [user, rows] of sorted.entries()) userStart[user + 1] = userStart[user]! + rows.length;
  return {
    userCount: users.length,
    itemCount: 6,
    userStart,
    items: Int32Array.from(all, (row) => row.item),
    times: Uint32Array.from(all, (row) => row.time),
    positive: Uint8Array.from(all, (row) => Number(row.positive)),
    ratings: withRatings ? Float32Array.from(all, (row) => row.item + 0.5) : null,
  };
}

const row = fc.record({ item: fc.nat(5), time: fc.nat(9), positive: fc.boolean() });
const users = fc.array(fc.array(row, { maxLength: 6 }), { maxLength: 5 });

/** A user's rows as comparable texts. */
const rowsOf = (part: Interactions, user: number) =>
  Array.from(
    part.items.subarray(part.userStart[user], part.userStart[user + 1]),
    (item, i) => `${part.times[part.userStart[user]! + i]}:${item}:${part.positive[part.userStart[user]! + i]}`,
  );
const targetsOf = ({ userStart, items, times }: Targets, user: number) =>
  Array.from(
    items.subarray(userStart[user], userStart[user + 1]),
    (item, i) => `${times[userStart[user]! + i]}:${item}:1`,
  );

function expectEverythingOnce(all: Interactions, { train, targets }: Split): void {
  expect([train.userCount, train.itemCount]).toEqual([all.userCount, all.itemCount]);
  for (let user = 0; user < all.userCount; user++) {
    const isPositive = (text: string) => text.endsWith(":1");
    const parts = [...rowsOf(train, user).filter(isPositive), ...targetsOf(targets, user)];
    expect(parts.sort()).toEqual(rowsOf(all, user).filter(isPositive).sort());
  }
}

test("temporal: train rows lie before the instant, targets from it on, and no positive row is lost", () => {
  fc.assert(
    fc.property(users, fc.nat(10), (given, instant) => {
      const all = interactionsOf(given);
      const split = temporalSplit(all, instant);
      expectEverythingOnce(all, split);
      expect(split.train.times.every((time) => time < instant)).toBe(true);
      expect(split.targets.times.every((time) => time >= instant)).toBe(true);
      expect(split.train.items.length).toBe(all.times.filter((time) => time < instant).length);
    }),
  );
});

test("leave last out: no positive row is lost, and each part is older than the next", () => {
  fc.assert(
    fc.property(users, (given) => {
      const all = interactionsOf(given);
      const { train, validation, refit, test: newest } = leaveLastOut(all);
      expectEverythingOnce(all, { train: refit, targets: newest });
      expectEverythingOnce(refit, { train, targets: validation });
      for (let user = 0; user < all.userCount; user++) {
        const positives = rowsOf(all, user).filter((text) => text.endsWith(":1"));
        expect(targetsOf(newest, user)).toEqual(positives.length < 3 ? [] : [positives.at(-1)]);
        expect(targetsOf(validation, user)).toEqual(positives.length < 3 ? [] : [positives.at(-2)]);
        if (positives.length < 3) expect(rowsOf(train, user)).toEqual(rowsOf(all, user));
      }
    }),
  );
});

test("leave last out: negative rows newer than a target are not in train", () => {
  const rows = [1, 2, 3].map((time) => ({ item: time, time, positive: true }));
  const all = interactionsOf([[...rows, { item: 5, time: 4, positive: false }]]);
  const { train, refit } = leaveLastOut(all);
  expect(rowsOf(refit, 0)).toEqual(["1:1:1", "2:2:1"]);
  expect(rowsOf(train, 0)).toEqual(["1:1:1"]);
});

test("by set: positive rows are in one part, negative ones in train, and the seed decides", () => {
  fc.assert(
    fc.property(users, fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(), (given, share, seed) => {
      const all = interactionsOf(given, true);
      const split = setSplit(all, share, seededRandom(seed));
      expectEverythingOnce(all, split);
      expect(setSplit(all, share, seededRandom(seed))).toEqual(split);
      const negatives = (part: Interactions) => part.positive.filter((positive) => positive === 0).length;
      expect(negatives(split.train)).toBe(negatives(all));
      expect(Array.from(split.train.ratings!)).toEqual(Array.from(split.train.items, (item) => item + 0.5));
    }),
  );
});

test("by set: a fraction of 0 holds out nothing, of 1 every positive row", () => {
  const all = interactionsOf([[1, 2, 3].map((item) => ({ item, time: item, positive: item > 1 }))]);
  expect(setSplit(all, 0, seededRandom(1)).targets.items.length).toBe(0);
  expect([...setSplit(all, 1, seededRandom(1)).targets.items]).toEqual([2, 3]);
});

test("at most the fraction lies from the instant on, unless times are equal, and never nothing", () => {
  const times = fc.array(fc.nat(20), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(times, fc.double({ min: 0.01, max: 1, noNaN: true }), (given, share) => {
      const all = interactionsOf([given.map((time) => ({ item: 0, time, positive: true }))]);
      const [instant = Number.NaN] = instantsForFractions(all, [share]);
      const after = given.filter((time) => time >= instant).length;
      const newest = given.filter((time) => time === Math.max(...given)).length;
      expect(after).toBeGreaterThan(0);
      expect(after).toBeLessThanOrEqual(Math.max(newest, Math.ceil(share * given.length)));
    }),
  );
});

test("with ten rows a second apart and 0.2, the last two lie from the instant on", () => {
  const all = interactionsOf([Array.from({ length: 10 }, (_, time) => ({ item: 0, time, positive: true }))]);
  expect(instantsForFractions(all, [0.2, 0.5])).toEqual([8, 5]);
});

test("the instant depends on positive rows only; without any it is 0", () => {
  const rows = [
    { item: 0, time: 5, positive: true },
    { item: 0, time: 9, positive: false },
  ];
  expect(instantsForFractions(interactionsOf([rows]), [0.5])).toEqual([5]);
  expect(instantsForFractions(interactionsOf([[rows[1]!]]), [0.5])).toEqual([0]);
  expect(instantsForFractions(interactionsOf([]), [0.5])).toEqual([0]);
});

test("rowsWhere keeps users without rows", () => {
  const all = interactionsOf([[{ item: 1, time: 1, positive: true }], [], [{ item: 2, time: 2, positive: false }]]);
  const kept = rowsWhere(all, (at) => at === 1);
  expect([...kept.userStart]).toEqual([0, 0, 0, 1]);
  expect([...kept.items]).toEqual([2]);
});
