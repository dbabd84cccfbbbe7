import { expect, test } from "vitest";
import { packStrings } from "../../../../shared/packed-strings.ts";
import type { EvaluationDetail } from "../../../../trainer/choose/report/evaluation-detail.ts";
import { reportSegments } from "../../../../trainer/choose/report/segments.ts";
import { SMALL_DETAIL } from "../../../fixtures/small-detail.ts";

/** Users with 0, 1, 2 and 3 in the history; popularity shows items by their order, the chosen model what is wanted. */
const detail: EvaluationDetail = {
  ...SMALL_DETAIL,
  cutOffs: [2],
  users: BigUint64Array.of(1n, 2n, 3n, 4n),
  itemIds: packStrings(["a", "b", "c", "d", "e", "f"]),
  chosen: Int32Array.of(0, 1, 5, 4, 3, 4, 4, 3),
  popularity: Int32Array.of(0, 1, 1, 2, 2, 3, 3, 4),
  relevantStart: Uint32Array.of(0, 1, 2, 4, 5),
  relevant: Int32Array.of(0, 5, 3, 4, 4),
};
const lists = { detail, owners: Uint32Array.of(0, 1, 2, 3), seed: 1 };
/** The head is item 0, the middle 1 and 2, the tail the rest. Item 4 is rare and item 5 cold. */
const by = { historyLengths: Uint32Array.of(0, 1, 2, 3), popularity: Uint32Array.of(50, 25, 10, 10, 4, 0) };
const { users, items } = reportSegments(lists, by);

test("users are in segments by the length of their history, with figures of both rankers", () => {
  const figures = users.map(({ name, users, chosen, popularity }) => ({
    name,
    users,
    own: chosen["recall@2"]!.value,
    popular: popularity["recall@2"]!.value,
  }));
  expect(figures).toEqual([
    { name: "new", users: 1, own: 1, popular: 1 },
    { name: "light", users: 1, own: 1, popular: 0 },
    { name: "heavy", users: 2, own: 1, popular: 0.75 },
  ]);
});
test("several lists of one user count as one user of a segment", () => {
  const twice = reportSegments({ ...lists, owners: Uint32Array.of(0, 1, 2, 2) }, by);
  expect(twice.users.map(({ users }) => users)).toEqual([1, 1, 1]);
  expect(twice.items.map(({ users }) => users)).toEqual([1, 0, 2, 1, 1, 2]);
});
test("without users a segment is empty, not zero", () => {
  const [none, nothing] = [new Int32Array(0), new Uint32Array(0)];
  const empty = { chosen: none, popularity: none, users: new BigUint64Array(0), relevant: none };
  const of = { detail: { ...detail, ...empty, relevantStart: Uint32Array.of(0) }, owners: nothing, seed: 1 };
  for (const { users, chosen } of reportSegments(of, { ...by, historyLengths: nothing }).users) {
    expect([users, chosen["recall@2"]!.value]).toEqual([0, null]);
  }
});
test("items are in segments by the fraction, and by the number, of the training positives", () =>
  expect(items.map(({ name, items }) => [name, items])).toEqual([
    ["head", 1],
    ["middle", 2],
    ["tail", 3],
    ["cold", 1],
    ["rare", 1],
    ["frequent", 4],
  ]));
test("each segment has its fraction of the 8 places of the lists", () =>
  expect(items.map(({ share_shown }) => share_shown)).toEqual([1, 1, 6, 1, 3, 4].map((places) => places / 8)));
test("recall counts targets in the segment, over users who have one", () => {
  expect(items.map(({ users }) => users)).toEqual([1, 0, 3, 1, 2, 2]);
  expect(items.map(({ chosen }) => chosen["recall@2"]!.value)).toEqual([1, null, 1, 1, 1, 1]);
  expect(items[2]!.popularity["recall@2"]!.value).toBeCloseTo((0 + 0.5 + 1) / 3, 12);
});
