import { expect, test } from "vitest";
import { createHeldWork } from "../../../edge/admission/held-work.ts";

test("work counts for all and for its holder, until it ends or its time is over", () => {
  const work = createHeldWork(1000);
  const end = work.take("acme", 0, 5);
  work.take("acme", 1, 7);
  work.take("bolt", 2, 2);
  expect([work.count(2), work.weight(2), work.weightOf("acme", 2), work.weightOf("bolt", 2)]).toEqual([3, 14, 12, 2]);
  end();
  end();
  expect([work.count(2), work.weight(2), work.weightOf("acme", 2), work.weightOf("nobody", 2)]).toEqual([2, 9, 7, 0]);
  expect([work.weightOf("acme", 1001), work.weight(1001), work.weight(1002)]).toEqual([0, 2, 0]);
});

test("a holder is alone until another asks, and again ten seconds after that", () => {
  const work = createHeldWork(1000);
  expect(work.isAlone("acme", 0)).toBe(true);
  for (const atMs of [0, 10, 20]) work.asks("acme", atMs);
  expect([work.isAlone("acme", 20), work.isAlone("bolt", 20)]).toEqual([true, false]);
  work.asks("bolt", 30);
  expect([work.isAlone("acme", 30), work.isAlone("bolt", 30)]).toEqual([false, false]);
  for (let atMs = 40; atMs <= 10_031; atMs++) work.asks("acme", atMs);
  expect([work.isAlone("acme", 10_030), work.isAlone("acme", 10_031)]).toEqual([false, true]);
});

test("holders who are gone are forgotten, those with work are not", () => {
  const work = createHeldWork(10_000);
  work.take("acme", 0, 3);
  for (let i = 0; i < 3000; i++) work.take(`holder-${i}`, 0, 1)();
  expect(work.weightOf("acme", 0)).toBe(3);
  expect(work.count(0)).toBe(1);
});
