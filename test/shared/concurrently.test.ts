import { expect, test } from "vitest";
import { forEachConcurrently } from "../../shared/concurrently.ts";

test("works on every value once, and on at most `limit` at a time", async () => {
  const done: number[] = [];
  let [now, most] = [0, 0];
  await forEachConcurrently([1, 2, 3, 4, 5, 6, 7], 3, async (value) => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setTimeout(resolve, 1));
    now--;
    done.push(value);
  });
  expect([done.toSorted((a, b) => a - b), most]).toEqual([[1, 2, 3, 4, 5, 6, 7], 3]);
  await forEachConcurrently([], 3, () => Promise.reject(new Error("nothing to do")));
});
test("a single failure is thrown", () =>
  expect(forEachConcurrently([1, 2, 3], 2, async (value) => expect(value).not.toBe(2))).rejects.toThrow("not to be 2"));
test("the first failure is thrown once all begun work has ended, and no work begins after it", async () => {
  const [begun, ended]: [number[], number[]] = [[], []];
  const work = async (value: number) => {
    begun.push(value);
    await Promise.resolve();
    if (value === 2) throw new Error("two");
    await new Promise((resolve) => setTimeout(resolve, 5));
    ended.push(value);
    if (value === 1) throw new Error("one");
  };
  await expect(forEachConcurrently([1, 2, 3, 4, 5], 2, work)).rejects.toThrow("two");
  expect([begun, ended]).toEqual([[1, 2], [1]]);
});
