import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { depthFor, liveChoices, newestChoices } from "../../../../trainer/choose/splits/newest-choices.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";
import { ordersOf } from "../../../fixtures/orders.ts";

const options = { depth: 2, includeSeen: false };

describe("one user's history of eight", () => {
  const all = trainingData(9, [
    [0, 1, 2, 3, 4, 5, 6, 7],
    [8, 0],
  ]);
  const { train, cases } = newestChoices(all, options);
  test("its newest two choices are cases, each with everything before it as history", () => {
    const asked = [0, 1].map((at) => cases.caseAt(at));
    expect(asked.map(({ items, relevant }) => [items.at(-1), items.length, relevant])).toEqual([
      [5, 6, [6]],
      [6, 7, [7]],
    ]);
    expect([...asked[1]!.seen]).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect([0, 1].map(cases.sizesAt)).toEqual([6, 7].map((known) => ({ known, wanted: 1 })));
    expect(asked[1]!.nowSeconds).toBe(all.times[7]);
    expect([cases.count, cases.userAt(0), cases.userAt(1), cases.ownerAt(1)]).toEqual([2, 0, 0, 0]);
  });
  test("and learnt from is what came before both, and all of a user with fewer than three", () =>
    expect([...train.items]).toEqual([0, 1, 2, 3, 4, 5, 8, 0]));
});

test("a repeated item is no target, unless seen ones may be shown again", () => {
  const all = trainingData(4, [[0, 1, 2, 3, 0, 1, 0, 3]]);
  expect(newestChoices(all, options).cases.count).toBe(0);
  expect(newestChoices(all, { ...options, includeSeen: true }).cases.count).toBe(2);
});

test("a target is in no training part, and never known before its own case", () =>
  fc.assert(
    fc.property(fc.array(fc.array(fc.nat(20), { maxLength: 30 })), fc.integer({ min: 1, max: 5 }), (lists, depth) => {
      const all = trainingData(
        21,
        lists.map((items) => [...new Set(items)]),
      );
      const { train, cases } = newestChoices(all, { depth, includeSeen: false });
      expect(train.items.length + cases.count).toBe(all.items.length);
      for (let at = 0; at < cases.count; at++) {
        const { seen, relevant } = cases.caseAt(at);
        const user = cases.userAt(at)!;
        expect(seen.has(relevant[0]!)).toBe(false);
        expect([...train.items.subarray(train.userStart[user], train.userStart[user + 1])]).not.toContain(relevant[0]);
      }
    }),
  ));

describe("in orders", () => {
  const all = ordersOf([
    [
      [0, 1],
      [2, 3],
      [1, 4, 5],
    ],
    [[6], [6]],
    [[7, 8, 9, 1]],
  ]);
  const inOrders = { includeSeen: false, inOrders: true };
  const asked = ({ count, caseAt }: ReturnType<typeof newestChoices>["cases"]) =>
    Array.from({ length: count }, (_, at) => caseAt(at)).map(({ items, relevant }) => [items, relevant]);

  test("a case is a whole order, with the orders before it as history", () => {
    const { train, cases } = newestChoices(all, { ...inOrders, depth: 1 });
    expect(asked(cases)).toEqual([
      [
        [0, 1, 2, 3],
        [4, 5],
      ],
    ]);
    expect([...cases.caseAt(0).seen]).toEqual([0, 1, 2, 3]);
    expect(cases.sizesAt(0)).toEqual({ known: 4, wanted: 2 });
    expect(cases.caseAt(0).nowSeconds).toBe(all.times[4]);
    expect([...train.items]).toEqual([0, 1, 2, 3, 6, 7, 8, 9, 1]); // a single order has nothing before it
  });
  test("seen items are targets if they may be shown again", () => {
    const { cases } = newestChoices(all, { ...inOrders, includeSeen: true, depth: 1 });
    expect(asked(cases)).toEqual([
      [
        [0, 1, 2, 3],
        [1, 4, 5],
      ],
      [[6], [6]],
    ]);
  });
  test("from an instant on, an order is one choice", () => {
    const { cases } = liveChoices(all, { ...inOrders, instantSeconds: all.times[2]! });
    expect(asked(cases)).toEqual([
      [
        [0, 1],
        [2, 3],
      ],
      [
        [0, 1, 2, 3],
        [4, 5],
      ],
    ]);
  });
  test("negative interactions and items in no list are no targets", () => {
    const listed = { ...all, listedCount: 5, positive: all.positive.map((_, row) => Number(row !== 2)) };
    const { cases } = liveChoices(listed, { ...inOrders, instantSeconds: all.times[2]! });
    expect(asked(cases)).toEqual([
      [[0, 1], [3]],
      [[0, 1, 3], [4]],
    ]);
  });
});

test.each([
  [100, 1],
  [250, 5],
  [1000, 3],
  [3000, 1],
  [9000, 1],
])("of %i users up to %i choices are held out", (users, depth) => {
  const all = trainingData(
    3,
    Array.from({ length: users }, () => [0, 1, 2]),
  );
  expect(depthFor(all)).toBe(depth);
});

describe("choices from an instant on, with everything before each as its history", () => {
  const histories = [[0, 1, 2, 3, 4, 5, 6, 7, 0], [8, 0], []];
  const all = trainingData(9, histories);
  const instantSeconds = all.times[2]!;
  const { train, cases } = liveChoices(all, { instantSeconds, includeSeen: false });

  test("at most five of each user are cases, evenly spread, and no item that was seen before", () => {
    const shown = Array.from({ length: cases.count }, (_, at) => [cases.userAt(at), cases.caseAt(at).relevant[0]]);
    const later = [2, 3, 4, 5, 6, 7]; // the item 0 is seen again
    const spread = [0, 1, 2, 3, 4].map((i) => later[Math.floor((i * 6) / 5)]);
    expect(shown.filter(([user]) => user === 0)).toEqual(spread.map((item) => [0, item]));
  });

  test("a history is newer than the training part", () => {
    const last = cases.caseAt(4);
    expect(last.items).toEqual(histories[0]!.slice(0, last.relevant[0]!));
    expect([...train.times].every((time) => time < instantSeconds)).toBe(true);
    expect(train.items.length).toBe([...all.times].filter((time) => time < instantSeconds).length);
  });

  test("seen items are targets if they may be shown again", () => {
    const { cases: again } = liveChoices(all, { instantSeconds: all.times[8]!, includeSeen: true });
    expect(again.caseAt(0).relevant).toEqual([0]);
  });
});
