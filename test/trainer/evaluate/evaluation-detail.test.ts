import { serialize } from "node:v8";
import { describe, expect, test } from "vitest";
import { EvaluationAnswer, EvaluationQuestion } from "../../../shared/evaluation-report.ts";
import { packStrings } from "../../../shared/packed-strings.ts";
import { planSplit } from "../../../trainer/evaluate/choose-split.ts";
import type { Evaluation } from "../../../trainer/evaluate/evaluate.ts";
import {
  answerQuestion,
  decodeDetail,
  type EvaluationDetail,
  encodeDetail,
  evaluationDetail,
} from "../../../trainer/evaluate/evaluation-detail.ts";
import { validationOf } from "../../../trainer/evaluate/validation.ts";
import { twoTastes } from "../../fixtures/two-tastes.ts";

/** Ann, Bob and Cat were shown two items each and wanted: Ann a and c, Bob b, Cat c. */
const detail: EvaluationDetail = {
  format: 1,
  cutOffs: [1, 2],
  listLength: 2,
  userIds: packStrings(["ann", "bob", "7"]),
  itemIds: packStrings(["a", "b", "c", "d"]),
  chosen: Int32Array.of(0, 2, 3, 1, 2, -1),
  popularity: Int32Array.of(0, 1, 0, 1, 0, 1),
  relevantStart: Uint32Array.of(0, 2, 3, 4),
  relevant: Int32Array.of(0, 2, 1, 2),
};
const value = (answer: EvaluationAnswer, who: "chosen" | "popularity" | "lift", name: string) =>
  answer[who][name]!.value;

describe("given users", () => {
  const answer = answerQuestion(detail, { user_ids: ["ann", 7, "dan"] });
  test("are measured, and who was not is told", () => {
    expect([answer.users, answer.not_measured]).toEqual([2, ["dan"]]);
    expect(value(answer, "chosen", "recall@2")).toBe(1); // 2 of 2 and 1 of 1
    expect(value(answer, "popularity", "recall@2")).toBe(0.25); // 1 of 2 and 0 of 1
    expect(value(answer, "lift", "recall@2")).toBe(0.75);
    expect(value(answer, "chosen", "mrr@1")).toBe(1);
  });
  test("the answer has the published form", () => expect(EvaluationAnswer.parse(answer)).toEqual(answer));
});

describe("given items", () => {
  const answer = answerQuestion(detail, { item_ids: ["c", "x"] });
  test("are looked for among those who chose them", () => {
    expect([answer.users, answer.not_measured]).toEqual([2, ["x"]]);
    expect(value(answer, "chosen", "recall@1")).toBe(0.5); // Cat's first, not Ann's
    expect(value(answer, "chosen", "recall@2")).toBe(1);
    expect(value(answer, "popularity", "recall@2")).toBe(0);
  });
  test("and their share of all places: 1 of 3, 2 of 5", () =>
    expect(answer.share_shown).toEqual({ chosen: { "@1": 1 / 3, "@2": 2 / 5 }, popularity: { "@1": 0, "@2": 0 } }));
});
test("nobody known: no figures rather than zeros", () => {
  const answer = answerQuestion(detail, { user_ids: ["dan"] });
  expect([answer.users, value(answer, "chosen", "recall@2")]).toEqual([0, null]);
});

test.each([
  [{}],
  [{ user_ids: [] }],
  [{ user_ids: ["a"], item_ids: ["b"] }],
  [{ item_ids: new Array(1001).fill("a") }],
])("%j is no question", (body) => expect(EvaluationQuestion.safeParse(body).success).toBe(false));

describe("as a file", () => {
  test("comes back as it was", () => expect(decodeDetail(encodeDetail(detail))).toEqual(detail));
  test.each([
    ["not a file of this trainer", new Uint8Array([1, 2, 3])],
    ["its arrays do not fit each other", encodeDetail({ ...detail, chosen: Int32Array.of(0) })],
    ["Invalid input", serialize({ ...detail, format: 2 })],
    ["Invalid input", serialize(null)],
  ])("%s: refused", (reason, bytes) => expect(() => decodeDetail(bytes)).toThrow(reason));
});

test("holds the lists and targets of every user measured, by the ids of the data", () => {
  const shop = twoTastes({ users: 20, items: 10, perUser: 4 });
  const validation = validationOf(shop, planSplit(shop, { protocol: "next-item", seed: 1, includeSeen: false }), 0, 1);
  const { length } = validation.positions;
  const evaluation: Evaluation = {
    positions: validation.positions,
    cutOffs: [2],
    listLength: 2,
    lists: Int32Array.from({ length: length * 2 }, (_, i) => i % 10),
    values: new Map(),
  };
  const made = evaluationDetail(validation, evaluation, evaluation);
  expect(decodeDetail(encodeDetail(made))).toEqual(made);
  expect(answerQuestion(made, { user_ids: ["user-3", "user-4"] })).toMatchObject({ users: 2, not_measured: [] });
  expect(made.relevant.length).toBe(length);
});
