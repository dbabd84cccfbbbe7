import { describe, expect, test } from "vitest";
import {
  casesOfSessions,
  casesOfSplit,
  type EvaluationCases,
  historyOfCase,
  ownersOf,
} from "../../../../trainer/choose/evaluate/evaluation-cases.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";

/** Users 0 and 1 have a history, user 2 is new, user 3 has nothing to find, user 4 only what was seen. */
const train = trainingData(9, [[1, 2], [3], [], [4], [5, 6]]);
const targets = trainingData(9, [[7, 2, 7], [8], [1], [], [5]]);
const caseOf = (cases: EvaluationCases) => Array.from({ length: cases.count }, (_, at) => cases.caseAt(at));

describe("casesOfSplit", () => {
  test("each user with something to find that was not seen, repeats once", () =>
    expect(caseOf(casesOfSplit(train, targets)).map(({ items, relevant }) => ({ items, relevant }))).toEqual([
      { items: [1, 2], relevant: [7] },
      { items: [3], relevant: [8] },
      { items: [], relevant: [1] },
    ]));
  test("with seen items shown, they may be found again", () =>
    expect(caseOf(casesOfSplit(train, targets, { includeSeen: true })).map(({ relevant }) => relevant)).toEqual([
      [7, 2],
      [8],
      [1],
      [5],
    ]));
  test("users without a history can be left out", () =>
    expect(casesOfSplit(train, targets, { withHistoryOnly: true }).count).toBe(2));
  test("the moment is the instant, or that of the first target", () => {
    expect(casesOfSplit(train, targets).caseAt(0).nowSeconds).toBe(1_700_000_000);
    expect(casesOfSplit(train, targets, { instantSeconds: 5 }).caseAt(0).nowSeconds).toBe(5);
  });
  test("a negative interaction is seen, but no history", () => {
    const disliked = { ...train, positive: Uint8Array.of(0, 1, 1, 1, 1, 1) };
    const first = casesOfSplit(disliked, targets).caseAt(0);
    expect(first.items).toEqual([2]);
    expect([...first.seen]).toEqual([1, 2]);
  });
});

const again = { repeats: true };

test("the sizes of a case are those of its history and its targets", () => {
  for (const cases of [casesOfSplit(train, targets), casesOfSessions(targets, again)])
    for (const [at, { items, relevant }] of caseOf(cases).entries())
      expect(cases.sizesAt(at)).toEqual({ known: items.length, wanted: relevant.length });
});

describe("casesOfSessions", () => {
  test("where items come once, those of the prefix are neither shown nor targets", () => {
    const cases = casesOfSessions(trainingData(9, [[1, 2, 1, 3]]), { repeats: false });
    expect(cases.sessions).toEqual({ repeats: false });
    expect(caseOf(cases)).toMatchObject([
      { items: [1], relevant: [2], seen: new Set([1]) },
      { items: [1, 2, 1], relevant: [3], seen: new Set([1, 2]) },
    ]);
  });
  test("every prefix predicts the next item, which may be one of the prefix", () =>
    expect(caseOf(casesOfSessions(trainingData(9, [[1, 2, 1], [4], [], [5, 6]]), again))).toMatchObject([
      { items: [1], relevant: [2], seen: new Set() },
      { items: [1, 2], relevant: [1], seen: new Set() },
      { items: [5], relevant: [6], seen: new Set() },
    ]));
  test("a case of a long session has the newest 500 items, as a request may, and counting builds no case", () => {
    const long = Array.from({ length: 200_000 }, (_, i) => i % 9);
    const cases = casesOfSessions(trainingData(9, [long]), again);
    const { items, times } = cases.caseAt(150_000);
    expect([items.length, times.length, items.at(-1)]).toEqual([500, 500, 150_000 % 9]);
    expect(cases.caseAt(498).items.length).toBe(499);
    let known = 0;
    for (let at = 0; at < cases.count; at++) known += cases.sizesAt(at).known;
    expect(known).toBe((199_999 * 200_000) / 2);
  });
  test("cases of one session have one owner", () => {
    const cases = casesOfSessions(trainingData(9, [[1, 2, 1], [4], [5, 6]]), again);
    expect([0, 1, 2].map(cases.ownerAt)).toEqual([0, 0, 2]);
    expect(ownersOf(cases, [0, 1, 2])).toEqual(new Set([0, 2]));
  });
  test("a model is given a session without ages, since a request has no times, and a stored history with them", () => {
    const data = { ...trainingData(9, [[1, 2, 3]]), times: Uint32Array.of(0, 86_400, 3 * 86_400) };
    const sessions = casesOfSessions(data, again);
    expect(historyOfCase(sessions.caseAt(1), { of: sessions, historyMax: 9 })).toEqual({
      items: [1, 2],
      agesDays: [0, 0],
    });
    const stored = casesOfSplit(data, { ...trainingData(9, [[4]]), times: Uint32Array.of(4 * 86_400) });
    expect(historyOfCase(stored.caseAt(0), { of: stored, historyMax: 2 })).toEqual({ items: [2, 3], agesDays: [3, 1] });
  });
  test("a negative interaction is neither in a prefix nor to be found", () => {
    const sessions = {
      ...trainingData(9, [
        [1, 2, 3],
        [4, 5],
      ]),
      positive: Uint8Array.of(1, 0, 1, 1, 0),
    };
    expect(caseOf(casesOfSessions(sessions, again))).toMatchObject([{ items: [1], relevant: [3] }]);
  });
});
