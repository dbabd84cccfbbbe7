import fc from "fast-check";
import { expect, test } from "vitest";
import { partsOfPooledBatch, pooledBatch, pooledEpoch } from "../../../../trainer/learn/neural/pooled-batches.ts";
import type { Histories } from "../../../../trainer/learn/statistics/histories.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

test("padding has weight 0, all targets have the same weight, and weights sum to 1", () => {
  const batch = pooledBatch([
    { members: Int32Array.of(4), targets: Int32Array.of(7, 8) },
    { members: Int32Array.of(5, 6), targets: Int32Array.of(9) },
  ]);
  const third = Math.fround(1 / 3);
  expect(batch).toEqual({
    rowCount: 2,
    memberMax: 2,
    targetMax: 2,
    members: Int32Array.of(4, 0, 5, 6),
    memberMask: Float32Array.of(1, 0, 1, 1),
    targets: Int32Array.of(7, 8, 9, 0),
    targetWeights: Float32Array.of(third, third, third, 0),
    rowWeights: Float32Array.of(2 / 3, third),
  });
});

/** Users whose entries are 0, 1, 2, … */
function counting(lengths: readonly number[]): Histories {
  const start = new Uint32Array(lengths.length + 1);
  for (const [user, length] of lengths.entries()) start[user + 1] = start[user]! + length;
  const items = Int32Array.from(lengths.flatMap((length) => Array.from({ length }, (_, i) => i)));
  return { userCount: lengths.length, itemCount: 1000, start, items };
}

const rowsOf = (flat: Int32Array, weights: Float32Array, rowCount: number): number[][] => {
  const width = flat.length / rowCount;
  return Array.from({ length: rowCount }, (_, row) =>
    [...flat.subarray(row * width, (row + 1) * width)].filter((_, i) => weights[row * width + i]! > 0),
  );
};

test.each([false, true])(
  "a split has members and targets, none in both, within its bounds (ordered: %s)",
  (ordered) => {
    const lengths = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(lengths, fc.integer(), (sizes, seed) => {
        const histories = counting(sizes);
        const options = { length: 12, ordered, cellsMax: 60, rowsMax: 4, random: fitContext(seed).random };
        for (const batch of pooledEpoch(histories, histories.start.slice(1), options)) {
          expect(batch.rowCount).toBeLessThanOrEqual(4);
          const members = rowsOf(batch.members, batch.memberMask, batch.rowCount);
          const targets = rowsOf(batch.targets, batch.targetWeights, batch.rowCount);
          for (const [row, own] of members.entries()) {
            expect(own.length).toBeGreaterThanOrEqual(1);
            expect(own.length).toBeLessThanOrEqual(12);
            expect(targets[row]!.length).toBeGreaterThanOrEqual(1);
            expect(own.filter((item) => targets[row]!.includes(item))).toEqual([]);
            if (ordered) {
              expect(own).toEqual(own.toSorted((a, b) => b - a));
              expect(targets[row]![0]).toBe(own[0]! + 1);
            }
          }
        }
      }),
    );
  },
);

test("every user with two entries is split once, and entries from a user's end on are never used", () => {
  const histories = counting([0, 1, 2, 8]);
  const options = { length: 50, ordered: false, cellsMax: 500, rowsMax: 50, random: fitContext().random };
  const batches = [...pooledEpoch(histories, Uint32Array.of(0, 1, 3, 9), options)];
  expect(batches.reduce((sum, { rowCount }) => sum + rowCount, 0)).toBe(2);
  const seen = batches.flatMap(({ members, targets }) => [...members, ...targets]);
  expect(Math.max(...seen)).toBe(5);
});

test("the parts of a batch have its rows and weights, in their order", () => {
  const batch = pooledBatch([
    { members: Int32Array.of(4), targets: Int32Array.of(7, 8) },
    { members: Int32Array.of(5, 6), targets: Int32Array.of(9) },
    { members: Int32Array.of(1), targets: Int32Array.of(2) },
  ]);
  const parts = partsOfPooledBatch(batch, 2);
  expect(parts.map(({ rowCount }) => rowCount)).toEqual([2, 1]);
  for (const name of ["members", "memberMask", "targets", "targetWeights", "rowWeights"] as const)
    expect(parts.flatMap((part) => [...part[name]])).toEqual([...batch[name]]);
  expect(partsOfPooledBatch(batch, 9)).toHaveLength(3);
});
