import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { askHeld } from "../../../trainer/run/ask-held.ts";

/** A process whose parent answers so. */
function askingProcess(answers: readonly object[]) {
  const sent: unknown[] = [];
  const left = [...answers];
  const asking = Object.assign(new EventEmitter(), {
    send(message: unknown) {
      sent.push(message);
      const answer = left.shift();
      if (answer) setImmediate(() => asking.emit("message", answer));
      return true;
    },
  });
  return { asking: asking as unknown as NodeJS.Process, sent };
}

test("the answer is what management says, each time anew", async () => {
  const { asking, sent } = askingProcess([{ is_held: true }, { is_held: false }]);
  const { signal } = new AbortController();
  expect([await askHeld(asking, signal), await askHeld(asking, signal)]).toEqual([true, false]);
  expect(sent).toEqual([{ kind: "is_held" }, { kind: "is_held" }]);
});

test("anything else is no yes", async () => {
  expect(await askHeld(askingProcess([{ is_held: "yes" }]).asking, new AbortController().signal)).toBe(false);
});

test("a run that is stopped does not wait for the answer, with the reason of the stop", async () => {
  const stop = new AbortController();
  const { asking } = askingProcess([]);
  const answer = askHeld(asking, stop.signal);
  stop.abort(new Error("stopped by its owner"));
  await expect(answer).rejects.toThrow("stopped by its owner");
  await expect(askHeld(asking, stop.signal)).rejects.toThrow("stopped by its owner");
  expect(asking.listenerCount("message")).toBe(0);
});
