import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { EvaluationQuestion } from "../../../../shared/evaluation-report.ts";
import { answerQuestion } from "../../../../trainer/choose/report/answer-question.ts";
import { type EvaluationDetail, encodeDetail } from "../../../../trainer/choose/report/evaluation-detail.ts";
import { measureScenario } from "../../../../trainer/choose/scenarios/measure-scenario.ts";
import { decodeReplay } from "../../../../trainer/choose/scenarios/replay.ts";
import { type EvaluationLimits, evaluations } from "../../../../trainer/manage/questions/evaluations.ts";
import { SMALL_DETAIL } from "../../../fixtures/small-detail.ts";
import { smallReplay } from "../../../fixtures/small-replay.ts";

const PATIENT = new AbortController().signal;
const LIMITS = { atOnce: 1, seconds: 25, smallBytes: 0 };
const QUESTION: EvaluationQuestion = { item_attribute: "genres" };

/** The users of the small detail, repeated. */
function manyUsers(times: number): EvaluationDetail {
  const { users, chosen, popularity, relevantStart, relevant } = SMALL_DETAIL;
  const repeated = (values: Int32Array) =>
    Int32Array.from({ length: times * values.length }, (_, i) => values[i % values.length]!);
  const start = Uint32Array.from({ length: times * users.length + 1 }, (_, i) => {
    return Math.floor(i / users.length) * relevant.length + relevantStart[i % users.length]!;
  });
  return {
    ...SMALL_DETAIL,
    users: BigUint64Array.from({ length: times * users.length }, (_, i) => BigInt(i + 1)),
    userColumns: [],
    chosen: repeated(chosen),
    popularity: repeated(popularity),
    relevantStart: start,
    relevant: repeated(relevant),
  };
}

const SMALL = encodeDetail(SMALL_DETAIL);
const LARGE = encodeDetail(manyUsers(3000));
const stored = (bytes: Uint8Array) => ({ packedBytes: bytes.length, read: async () => bytes });
const ask = (bytes: Uint8Array, limits: EvaluationLimits, question = QUESTION, caller = PATIENT) =>
  evaluations(limits).answer(stored(bytes), question, { customer: "acme", caller });

test("another process gives the same answer as this one", async () => {
  expect(await ask(SMALL, LIMITS)).toEqual(answerQuestion(SMALL_DETAIL, QUESTION));
  expect(await ask(SMALL, { ...LIMITS, smallBytes: 2 ** 17 })).toEqual(answerQuestion(SMALL_DETAIL, QUESTION));
});

test("timers fire during a large answer", async () => {
  let isDone = false;
  const answer = ask(LARGE, { ...LIMITS, smallBytes: 2 ** 17 }).finally(() => {
    isDone = true;
  });
  let turns = 0;
  while (!isDone && turns < 10) {
    await delay(1);
    if (!isDone) turns++;
  }
  expect(turns).toBe(10);
  expect((await answer).users).toBe(9000);
});

test("another process refuses with the same problem", async () => {
  const refused = { code: "unknown_attribute", errors: [{ pointer: "/item_attribute" }] };
  const pending = ask(SMALL, LIMITS, { item_attribute: "genre" });
  await expect(pending).rejects.toMatchObject(refused);
  await expect(pending).rejects.toThrow('did you mean "genres"');
  await expect(ask(new Uint8Array(9).fill(1), LIMITS)).rejects.toMatchObject({ name: "FormatError" });
});

test("an answer that takes too long, or whose caller hangs up, is ended", async () => {
  const late = ask(LARGE, { ...LIMITS, seconds: 0.02 });
  await expect(late).rejects.toMatchObject({ code: "overloaded", retryAfterSeconds: 5 });
  await expect(ask(LARGE, LIMITS, QUESTION, AbortSignal.timeout(20))).rejects.toThrow("The caller did not wait");
});

test("a customer's second large question is refused while the first is in progress; small ones are not", async () => {
  const limited = evaluations({ ...LIMITS, atOnce: 1, smallBytes: 2 ** 17 });
  const start = (bytes: Uint8Array, customer: string) =>
    limited.answer(stored(bytes), QUESTION, { customer, caller: PATIENT });
  const first = start(LARGE, "acme");
  await expect(start(LARGE, "acme")).rejects.toMatchObject({ code: "rate_limited", retryAfterSeconds: 5 });
  await expect(start(LARGE, "globex")).rejects.toMatchObject({ code: "overloaded", retryAfterSeconds: 5 });
  expect((await start(SMALL, "acme")).users).toBe(3);
  // The lists of a refused question are not read.
  const unread = { packedBytes: 1e9, read: () => Promise.reject(new Error("read")) };
  const pending = limited.answer(unread, QUESTION, { customer: "acme", caller: PATIENT });
  await expect(pending).rejects.toMatchObject({ code: "rate_limited" });
  await first;
  expect((await start(LARGE, "acme")).users).toBe(9000);
});

test("a scenario is measured in another process, and counts as a large question", async () => {
  const { replay } = smallReplay();
  const scenario = { limit: 5, retrieval: { shelf: "first" } };
  const limited = evaluations(LIMITS);
  const asker = { customer: "acme", caller: PATIENT };
  const measuring = limited.measure(stored(replay), scenario, asker);
  await expect(limited.answer(stored(LARGE), QUESTION, asker)).rejects.toMatchObject({ code: "rate_limited" });
  const figures = await measuring;
  expect(figures).toEqual(await measureScenario(decodeReplay(replay), scenario, { signal: PATIENT }));
  expect(figures.with["coverage@5"]!.value).toBeLessThan(figures.without["coverage@5"]!.value!);
  const unreadable = limited.measure(stored(SMALL), scenario, asker);
  await expect(unreadable).rejects.toMatchObject({ name: "FormatError" });
  const late = evaluations({ ...LIMITS, seconds: 0.02 }).measure(stored(replay), scenario, asker);
  await expect(late).rejects.toMatchObject({ code: "overloaded", retryAfterSeconds: 5 });
});
