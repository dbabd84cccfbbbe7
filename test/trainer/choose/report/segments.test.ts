import { expect, test } from "vitest";
import type { Evaluation } from "../../../../trainer/choose/evaluate/evaluate.ts";
import { casesOfSplit } from "../../../../trainer/choose/evaluate/evaluation-cases.ts";
import { itemSegments, userSegments } from "../../../../trainer/choose/report/segments.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";

/** A new user and three with 1, 2 and 3 in the history; popularity shows everybody 0 and 1, the chosen what is wanted. */
const train = trainingData(6, [[], [0], [0, 1], [0, 1, 2]]);
const cases = casesOfSplit(train, trainingData(6, [[0], [5], [3, 4], [4]]));
const evaluation = (lists: number[], hits: number[]): Evaluation => ({
  positions: Uint32Array.of(0, 1, 2, 3),
  owners: Uint32Array.of(0, 1, 2, 3),
  cutOffs: [2],
  listLength: 2,
  lists: Int32Array.from(lists),
  values: new Map([["recall@2", Float64Array.from(hits)]]),
});
const chosen = evaluation([0, 1, 5, 4, 3, 4, 4, 3], [1, 1, 1, 1]);
const popularity = evaluation([0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 0.5, 1]);
const input = { cases, chosen, popularity, seed: 1 };

test("users are in segments by the length of their history, with figures of both rankers", () => {
  const segments = userSegments(input).map(({ name, users, chosen, popularity }) => ({
    name,
    users,
    own: chosen["recall@2"]!.value,
    popular: popularity["recall@2"]!.value,
  }));
  expect(segments).toEqual([
    { name: "new", users: 1, own: 1, popular: 1 },
    { name: "light", users: 1, own: 1, popular: 0 },
    { name: "heavy", users: 2, own: 1, popular: 0.75 },
  ]);
});
test("several lists of one user count as one user of a segment", () => {
  const twice = { ...cases, ownerAt: (at: number) => Math.min(at, 2) };
  expect(userSegments({ ...input, cases: twice }).map(({ users }) => users)).toEqual([1, 1, 1]);
  expect(itemSegments({ ...input, cases: twice }, [50, 25, 10, 10, 5, 0]).map(({ users }) => users)).toEqual([1, 0, 2]);
});
test("without users a segment is empty, not zero", () => {
  const none = evaluation([], []);
  const empty = {
    ...input,
    chosen: { ...none, positions: new Uint32Array(0), owners: new Uint32Array(0) },
    popularity: { ...none, positions: new Uint32Array(0), owners: new Uint32Array(0) },
  };
  for (const { users, chosen } of userSegments(empty)) expect([users, chosen["recall@2"]!.value]).toEqual([0, null]);
});

/** Training positives 50, 25, 10, 10, 5, 0: the head is item 0, the middle 1 and 2, the tail the rest. */
const segments = itemSegments(input, [50, 25, 10, 10, 5, 0]);
test("items are in segments by the fraction of the training positives", () =>
  expect(segments.map(({ name, items }) => [name, items])).toEqual([
    ["head", 1],
    ["middle", 2],
    ["tail", 3],
  ]));
test("each segment has its fraction of the lists: 1, 1 and 6 of 8 places", () =>
  expect(segments.map(({ share_shown }) => share_shown)).toEqual([1 / 8, 1 / 8, 6 / 8]));
test("recall counts targets in the segment, over users who have one", () => {
  expect(segments.map(({ users }) => users)).toEqual([1, 0, 3]);
  expect(segments.map(({ chosen }) => chosen["recall@2"]!.value)).toEqual([1, null, 1]);
  expect(segments[2]!.popularity["recall@2"]!.value).toBeCloseTo((0 + 0.5 + 1) / 3, 12);
});
