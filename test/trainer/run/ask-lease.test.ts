import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { askLease } from "../../../trainer/run/ask-lease.ts";

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
  const { child, sent } = childWithAnswers([{ owns_lease: true }, { owns_lease: false }]);
  const { signal } = new AbortController();
  expect([await askLease(child, signal), await askLease(child, signal)]).toEqual([true, false]);
  expect(sent).toEqual([{ kind: "owns_lease" }, { kind: "owns_lease" }]);
});

test("an answer of another form counts as no", async () => {
  const { child } = childWithAnswers([{ owns_lease: "yes" }]);
  expect(await askLease(child, new AbortController().signal)).toBe(false);
});

test("a stopped run does not wait for the answer and throws the reason of the stop", async () => {
  const stop = new AbortController();
  const { child } = childWithAnswers([]);
  const answer = askLease(child, stop.signal);
  stop.abort(new Error("stopped by its owner"));
  await expect(answer).rejects.toThrow("stopped by its owner");
  await expect(askLease(child, stop.signal)).rejects.toThrow("stopped by its owner");
  expect(child.listenerCount("message")).toBe(0);
});
