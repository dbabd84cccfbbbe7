import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { checkLease, requestAccessToken } from "../../../trainer/run/ask-management.ts";

/** A child process whose parent gives these answers, one per question. */
function childWithAnswers(answers: readonly object[]) {
  const sent: unknown[] = [];
  const left = [...answers];
  const child = Object.assign(new EventEmitter(), {
    send(message: unknown) {
      sent.push(message);
      const answer = left.shift();
      if (answer) setImmediate(() => child.emit("message", answer));
      return true;
    },
  });
  return { child: child as unknown as NodeJS.Process, sent };
}

test("each question gets management's current answer", async () => {
  const { child, sent } = childWithAnswers([
    { kind: "owns_lease", owns_lease: true },
    { kind: "owns_lease", owns_lease: false },
  ]);
  const { signal } = new AbortController();
  expect([await checkLease(child, signal), await checkLease(child, signal)]).toEqual([true, false]);
  expect(sent).toEqual([{ kind: "owns_lease" }, { kind: "owns_lease" }]);
});

test("an answer of another form counts as no", async () => {
  const { child } = childWithAnswers([{ kind: "owns_lease", owns_lease: "yes" }]);
  expect(await checkLease(child, new AbortController().signal)).toBe(false);
});

test("two questions at once each get the answer of their kind", async () => {
  const token = { kind: "access_token", token: "t", expiresMs: 7 };
  const { child } = childWithAnswers([{ kind: "owns_lease", owns_lease: true }, token]);
  const { signal } = new AbortController();
  expect(await Promise.all([requestAccessToken(child, signal), checkLease(child, signal)])).toEqual([token, true]);
});

test("the reason why there is no token is thrown", async () => {
  const failure = { stage: "fetching", code: "impersonation_denied", message: "The operator must …", retryable: false };
  const { child } = childWithAnswers([{ kind: "access_token", failure }]);
  await expect(requestAccessToken(child, new AbortController().signal)).rejects.toMatchObject(failure);
});

test("a stopped run does not wait for the answer and throws the reason of the stop", async () => {
  const stop = new AbortController();
  const { child } = childWithAnswers([]);
  const answer = checkLease(child, stop.signal);
  stop.abort(new Error("stopped by its owner"));
  await expect(answer).rejects.toThrow("stopped by its owner");
  await expect(checkLease(child, stop.signal)).rejects.toThrow("stopped by its owner");
  expect(child.listenerCount("message")).toBe(0);
});
