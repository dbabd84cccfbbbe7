import fc from "fast-check";
import { expect, test } from "vitest";
import {
  epochBatches,
  partsOfBatch,
  sequenceBatch,
  shuffled,
  tiesShuffled,
} from "../../../../trainer/learn/neural/batches.ts";
import type { Histories } from "../../../../trainer/learn/statistics/histories.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

/** Histories in which the entry after item i of a user is always i + 1. */
function counting(lengths: readonly number[]): Histories {
  const start = new Uint32Array(lengths.length + 1);
  for (const [user, length] of lengths.entries()) start[user + 1] = start[user]! + length;
  const items = Int32Array.from(lengths.flatMap((length, user) => Array.from({ length }, (_, i) => 1000 * user + i)));
  return { userCount: lengths.length, itemCount: 1000 * lengths.length, start, items };
}

test("the shorter of two windows is padded, and padding has no target", () => {
  const batch = sequenceBatch(Int32Array.of(5, 6, 7, 8, 9), [
    { first: 0, size: 1 },
    { first: 1, size: 3 },
  ]);
  expect(batch).toEqual({
    rowCount: 2,
    length: 3,
    items: Int32Array.of(5, 0, 0, 6, 7, 8),
    cells: Int32Array.of(0, 3, 4, 5),
    inverse: Int32Array.of(0, 4, 4, 1, 2, 3),
    targets: Int32Array.of(6, 7, 8, 9),
  });
});

test("an epoch has one window of every user with two entries, and each target follows its item", () => {
  const lengths = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(lengths, fc.integer({ min: 1, max: 12 }), fc.integer(), (sizes, length, seed) => {
      const histories = counting(sizes);
      const options = { length, cellsMax: 25, random: fitContext(seed).random };
      const batches = [...epochBatches(histories, histories.start.slice(1), options)];
      for (const { items, cells, targets, rowCount, length: padded } of batches) {
        expect(rowCount === 1 || rowCount * padded <= 25).toBe(true);
        for (const [i, cell] of cells.entries()) expect(targets[i]).toBe(items[cell]! + 1);
      }
      const cellCount = batches.reduce((sum, { cells }) => sum + cells.length, 0);
      expect(cellCount).toBe(sizes.reduce((sum, size) => sum + Math.min(length, Math.max(0, size - 1)), 0));
    }),
  );
});

test("entries from a user's end on are never used", () => {
  const histories = counting([6]);
  const options = { length: 10, cellsMax: 100, random: fitContext().random };
  const [batch] = [...epochBatches(histories, Uint32Array.of(4), options)];
  expect([...batch!.targets]).toEqual([1, 2, 3]);
});

test("the parts of a batch are batches of its rows, and there are as many as rows suffice for", () => {
  const sizes = fc.array(fc.integer({ min: 2, max: 9 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 4 }), (lengths, count) => {
      const { items, start } = counting(lengths);
      const windows = lengths.map((length, user) => ({ first: start[user]!, size: length - 1 }));
      const batch = sequenceBatch(items, windows);
      const parts = partsOfBatch(batch, count);
      expect(parts.length).toBe(Math.min(count, lengths.length));
      expect(parts.reduce((sum, { rowCount }) => sum + rowCount, 0)).toBe(lengths.length);
      let row = 0;
      for (const part of parts) {
        const own = sequenceBatch(items, windows.slice(row, row + part.rowCount));
        const read = ({ cells, targets, items }: typeof part) => [...cells].map((cell, i) => [items[cell], targets[i]]);
        expect(read(part)).toEqual(read(own));
        expect(part.length).toBe(batch.length);
        for (const [place, cell] of part.cells.entries()) expect(part.inverse[cell]).toBe(place);
        expect(part.inverse.filter((place) => place === part.cells.length)).toHaveLength(
          part.rowCount * part.length - part.cells.length,
        );
        row += part.rowCount;
      }
    }),
  );
});
test("a history longer than a window gives its newest part half of the time, and other parts too", () => {
  const histories = counting([50]);
  const firsts = Array.from({ length: 300 }, (_, seed) => {
    const options = { length: 5, cellsMax: 100, random: fitContext(seed).random };
    return [...epochBatches(histories, histories.start.slice(1), options)][0]!.items[0]!;
  });
  const newest = firsts.filter((first) => first === 44).length;
  expect(newest).toBeGreaterThan(120);
  expect(newest).toBeLessThan(190);
  expect(new Set(firsts).size).toBeGreaterThan(30);
});

test("only entries of the same second change places, and none from a user's end on", () => {
  const histories = counting([6, 3, 0, 2]);
  const times = [1, 2, 2, 2, 3, 3, 8, 9, 9, 5, 5];
  const orders = Array.from({ length: 100 }, (_, seed) =>
    [...tiesShuffled(histories, Uint32Array.of(5, 9, 9, 11), { times, random: fitContext(seed).random })].join(" "),
  );
  const middle = ["1 2 3", "1 3 2", "2 1 3", "2 3 1", "3 1 2", "3 2 1"];
  const last = ["1001 1002", "1002 1001"];
  const expected = middle.flatMap((one) => last.map((other) => `0 ${one} 4 5 1000 ${other} 3000 3001`));
  expect(new Set(orders)).toEqual(new Set(expected));
});

test("shuffling keeps every value", () => {
  const values = Array.from({ length: 20 }, (_, i) => i);
  const mixed = shuffled(values, fitContext(3).random);
  expect(mixed).not.toEqual(values);
  expect(mixed.toSorted((a, b) => a - b)).toEqual(values);
});
