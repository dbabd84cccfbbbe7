import { expect, test } from "vitest";
import { erasureHash } from "../../../shared/erased-users.ts";
import type { UserId } from "../../../shared/ids.ts";
import { listsKey } from "../../../shared/manifest.ts";
import { encodeDetail } from "../../../trainer/evaluate/evaluation-detail.ts";
import { evaluationAnswer } from "../../../trainer/management/evaluation-answer.ts";
import { addErasedUsers } from "../../../trainer/publish/erased-list.ts";
import { memoryStore } from "../../../trainer/publish/memory-store.ts";
import { SMALL_DETAIL } from "../../fixtures/small-detail.ts";

const model = { customer: "acme", modelName: "movies", version: "v1" };

async function storeWith(bytes?: Uint8Array) {
  const store = memoryStore(() => 0);
  if (bytes) await store.putIfAbsent(listsKey("acme", "movies", "v1"), bytes, "application/octet-stream");
  return store;
}

test("is made of the lists stored with the version", async () => {
  const answer = await evaluationAnswer(model, { user_ids: ["ann", "x"] }, await storeWith(encodeDetail(SMALL_DETAIL)));
  expect(answer).toMatchObject({ users: 1, not_measured: ["x"] });
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
])("%s: told so", async (_what, bytes, words) => {
  const asked = evaluationAnswer(model, { user_ids: ["ann"] }, await storeWith(bytes));
  await expect(asked).rejects.toMatchObject({ code: "artifact_unavailable", message: expect.stringContaining(words) });
});

test.each([
  [{}, "invalid_parameter", "must have one of user_ids"],
  [{ users: ["ann"] }, "unknown_field", "users"],
  [{ user_ids: "ann" }, "invalid_parameter", "/user_ids"],
  [{ item_attribute: "genre" }, "unknown_attribute", 'did you mean "genres"'],
])("%j is refused", async (body, code, words) => {
  const asked = evaluationAnswer(model, body, await storeWith(encodeDetail(SMALL_DETAIL)));
  await expect(asked).rejects.toMatchObject({ code, message: expect.stringContaining(words) });
});
