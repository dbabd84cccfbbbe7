import { expect, test } from "vitest";
import { forEachAtOnce } from "../../../trainer/store/for-each-at-once.ts";

const never = new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));

test.each([0, 1, 2, 25])("does the work for each of %i values, at most four at a time", async (count) => {
  const values = Array.from({ length: count }, (_, i) => i);
  const done: number[] = [];
  let [running, most] = [0, 0];
  await forEachAtOnce(
    values,
    async (value) => {
      most = Math.max(most, ++running);
      await turn();
      running--;
      done.push(value);
    },
    never,
  );
  expect(done.sort((a, b) => a - b)).toEqual(values);
  expect(most).toBe(Math.min(count, 4));
});

test("the first failure is thrown once all begun work has ended, and no new work begins", async () => {
  const begun: number[] = [];
  const ended: number[] = [];
  const work = forEachAtOnce(
    [0, 1, 2, 3, 4, 5, 6, 7],
    async (value) => {
      begun.push(value);
      if (value === 1) throw new Error("value 1");
      await turn();
      ended.push(value);
    },
    never,
  );
  await expect(work).rejects.toThrow("value 1");
  expect(begun).toEqual([0, 1, 2, 3]);
  expect(ended).toEqual([0, 2, 3]);
});

test("an abort stops the work", async () => {
  const work = forEachAtOnce([1], async () => {}, AbortSignal.abort(new Error("stopped")));
  await expect(work).rejects.toThrow("stopped");
});
