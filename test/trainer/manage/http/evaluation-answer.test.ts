import { expect, test } from "vitest";
import { erasureHash } from "../../../../shared/erased-users.ts";
import type { EvaluationAnswer } from "../../../../shared/evaluation-report.ts";
import type { UserId } from "../../../../shared/ids.ts";
import { listsKey } from "../../../../shared/manifest.ts";
import { encodeDetail } from "../../../../trainer/choose/report/evaluation-detail.ts";
import { evaluationAnswer as answerIn } from "../../../../trainer/manage/http/evaluation-answer.ts";
import { evaluations } from "../../../../trainer/manage/questions/evaluations.ts";
import { addErasedUsers } from "../../../../trainer/store/erased-list.ts";
import type { ObjectStore } from "../../../../trainer/store/object-store.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { SMALL_DETAIL } from "../../../fixtures/small-detail.ts";

const model = { customer: "acme", modelName: "movies", version: "v1" };

const evaluationAnswer = async (of: typeof model, body: unknown, store: ObjectStore) =>
  (await answerIn(of, body, {
    store,
    evaluations: evaluations(),
    caller: new AbortController().signal,
  })) as EvaluationAnswer;

async function storeWith(bytes?: Uint8Array) {
  const store = memoryStore(() => 0);
  if (bytes) await store.putIfAbsent(listsKey("acme", "movies", "v1"), bytes, "application/octet-stream");
  return store;
}

test("an answer is computed from the lists stored with the version", async () => {
  const answer = await evaluationAnswer(model, { user_ids: ["ann", "x"] }, await storeWith(encodeDetail(SMALL_DETAIL)));
  expect(answer).toMatchObject({ users: 1, not_measured: ["x"] });
});

test("ids that were not measured are returned as they were sent", async () => {
  const longest = "é".repeat(128);
  const user_ids = ["007", 8, "9007199254740993", longest];
  const answer = await evaluationAnswer(model, { user_ids }, await storeWith(encodeDetail(SMALL_DETAIL)));
  expect(answer.not_measured).toEqual(user_ids);
});

test("an erased user is not measured", async () => {
  const store = await storeWith(encodeDetail(SMALL_DETAIL));
  const ask = async (...user_ids: string[]) => {
    const { users, not_measured } = await evaluationAnswer(model, { user_ids }, store);
    return { users, not_measured };
  };
  expect(await ask("ann")).toEqual({ users: 1, not_measured: [] });
  const salt = "00112233445566778899aabbccddeeff";
  await addErasedUsers(store, "acme", { salt, hashes: [await erasureHash(salt, "ann" as UserId)] });
  expect(await ask("ann", "x")).toEqual({ users: 0, not_measured: ["x", "ann"] });
});

test.each([
  ["no lists", undefined, "are not there: train the model again"],
  ["other bytes", Uint8Array.of(1), "cannot be read: not a file of this trainer. train the model again"],
])("with %s the answer says so", async (_what, bytes, words) => {
  const pending = evaluationAnswer(model, { user_ids: ["ann"] }, await storeWith(bytes));
  await expect(pending).rejects.toMatchObject({
    code: "artifact_unavailable",
    message: expect.stringContaining(words),
  });
});

test.each([
  [{}, "invalid_parameter", "must have one of user_ids"],
  [{ users: ["ann"] }, "unknown_field", "users"],
  [{ user_ids: "ann" }, "invalid_parameter", "/user_ids"],
  [{ user_ids: ["ann", 2 ** 53] }, "invalid_parameter", "/user_ids/1 is beyond 2^53−1"],
  [{ user_ids: [1.5] }, "invalid_parameter", "/user_ids/0 must be a string or an integer"],
  [{ user_ids: [1e300] }, "invalid_parameter", "/user_ids/0 is beyond 2^53−1"],
  [{ item_ids: ["a\u0000"] }, "invalid_parameter", "/item_ids/0 must not contain the character NUL"],
  [{ item_ids: ["\ud800"] }, "invalid_parameter", "/item_ids/0 must be well-formed Unicode"],
  [{ item_ids: ["é".repeat(129)] }, "invalid_parameter", "/item_ids/0 must have at most 256 bytes"],
  [{ item_ids: [""] }, "invalid_parameter", "/item_ids/0 must not be empty"],
  [{ user_ids: [true] }, "invalid_parameter", "/user_ids/0 must be a string or a number, found true"],
  [{ user_ids: [] }, "invalid_parameter", "/user_ids must be at least 1"],
  [{ item_attribute: "genre" }, "unknown_attribute", 'did you mean "genres"'],
])("%j is refused", async (body, code, words) => {
  const pending = evaluationAnswer(model, body, await storeWith(encodeDetail(SMALL_DETAIL)));
  await expect(pending).rejects.toMatchObject({ code, message: expect.stringContaining(words) });
});
