import { describe, expect, test } from "vitest";
import { EvaluationAnswer, EvaluationQuestion } from "../../../../shared/evaluation-report.ts";
import { answerQuestion } from "../../../../trainer/choose/report/answer-question.ts";
import { SMALL_DETAIL as detail } from "../../../fixtures/small-detail.ts";

const value = (answer: EvaluationAnswer, who: "chosen" | "popularity" | "lift", name: string) =>
  answer[who][name]!.value;

describe("given users", () => {
  const answer = answerQuestion(detail, { user_ids: ["ann", 7, "dan"] });
  test("are measured, and users without lists are listed", () => {
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
  test("are measured over the users who chose them", () => {
    expect([answer.users, answer.not_measured]).toEqual([2, ["x"]]);
    expect(value(answer, "chosen", "recall@1")).toBe(0.5); // 7's first, not Ann's
    expect(value(answer, "chosen", "recall@2")).toBe(1);
    expect(value(answer, "popularity", "recall@2")).toBe(0);
  });
  test("and have their fraction of all places: 1 of 3, 2 of 5", () =>
    expect(answer.share_shown).toEqual({ chosen: { "@1": 1 / 3, "@2": 2 / 5 }, popularity: { "@1": 0, "@2": 0 } }));
});

test("several lists of one user count as one user and are drawn together", () => {
  const [ann, bob] = detail.users;
  const twice = { ...detail, users: BigUint64Array.of(ann!, ann!, bob!) };
  const answer = answerQuestion(twice, { user_ids: ["ann", "bob"] });
  expect([answer.users, answer.not_measured]).toEqual([2, []]);
  expect(answerQuestion(twice, { user_ids: ["ann"] }).popularity["recall@2"]).toEqual({
    value: 0.75,
    low: 0.75,
    high: 0.75,
  });
  expect(answerQuestion(twice, { item_ids: ["a", "b"] }).users).toBe(1);
  expect(answerQuestion(twice, { user_attribute: "age" }).segments!.map(({ users }) => users)).toEqual([1, 1]);
  const unnamed = { ...detail, users: new BigUint64Array(3) };
  expect(answerQuestion(unnamed, { item_ids: ["a", "b", "c"] }).users).toBe(3);
});

test("an attribute: everybody's figures, and those of each value", () => {
  const answer = answerQuestion(detail, { user_attribute: "member" });
  expect(answer.users).toBe(3);
  expect(answer.segments!.map(({ name, users }) => [name, users])).toEqual([
    ["true", 1],
    ["false", 1],
  ]);
  expect(EvaluationAnswer.parse(answer)).toEqual(answer);
});

test("all known: the answer has the published form too", () => {
  const answer = answerQuestion(detail, { user_ids: ["ann"] });
  expect(EvaluationAnswer.parse(answer)).toEqual(answer);
});

test("nobody known: no figures rather than zeros", () => {
  const answer = answerQuestion(detail, { user_ids: ["dan"] });
  expect([answer.users, value(answer, "chosen", "recall@2")]).toEqual([0, null]);
});

test.each([
  [{}],
  [{ user_ids: [] }],
  [{ user_ids: ["a"], item_ids: ["b"] }],
  [{ user_ids: ["a"], user_attribute: "b" }],
  [{ item_ids: new Array(1001).fill("a") }],
  [{ item_attribute: "" }],
])("%j is no question", (body) => expect(EvaluationQuestion.safeParse(body).success).toBe(false));
