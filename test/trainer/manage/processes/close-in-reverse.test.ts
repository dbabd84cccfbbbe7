import { expect, test } from "vitest";
import type { LogEntry } from "../../../../trainer/log/log.ts";
import { closeInReverse } from "../../../../trainer/manage/processes/close-in-reverse.ts";

test("the last first, each once, whichever of them fails and however", async () => {
  const [done, logs]: [string[], LogEntry[]] = [[], []];
  const steps = [
    () => void done.push("lock"),
    async () => {
      throw new Error("the database is gone");
    },
    () => {
      throw new Error("no such thing");
    },
    async () => void done.push("server"),
  ];
  await closeInReverse(steps, (entry) => void logs.push(entry));
  expect(done).toEqual(["server", "lock"]);
  expect(logs.map(({ event, error }) => [event, String(error).split("\n")[0]])).toEqual([
    ["close_failed", expect.stringContaining("no such thing")],
    ["close_failed", expect.stringContaining("the database is gone")],
  ]);
  await closeInReverse(steps, () => {});
  expect(done).toHaveLength(2);
});
