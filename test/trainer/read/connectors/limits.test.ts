import { expect, test } from "vitest";
import { startDeadline, withinLimits } from "../../../../trainer/read/connectors/limits.ts";

async function* chunks(failsAt: number) {
  for (let i = 0; i < 3; i++) {
    if (i === failsAt) throw new Error("lost");
    yield { rowCount: 10 };
  }
}

test.each([
  ["reads everything", 9, 9, 30, 3, undefined],
  ["stops early", 9, 2, 30, 2, undefined],
  ["fails", 1, 9, 30, 1, "lost"],
  ["gives too many rows", 9, 9, 29, 2, "too_many_rows"],
] as const)("`end` is called once when the reader %s", async (_, failsAt, stopAfter, rowsMax, count, failure) => {
  let ends = 0;
  let seen = 0;
  const read = async () => {
    for await (const _ of withinLimits(chunks(failsAt), { rowsMax, end: () => void ends++ }))
      if (++seen === stopAfter) break;
  };
  const error = await read().then(
    () => undefined,
    (cause: Error & { code?: string }) => cause.code ?? cause.message,
  );
  expect([seen, error, ends]).toEqual([count, failure, 1]);
});

test("a deadline aborts with source_timeout, unless it has ended or the caller was faster", async () => {
  const never = new AbortController().signal;
  const [late, ended] = [startDeadline(never, 0.01), startDeadline(never, 0.01)];
  ended.end();
  await expect.poll(() => late.signal.aborted).toBe(true);
  expect(late.signal.reason).toMatchObject({ code: "source_timeout" });
  expect(ended.signal.aborted).toBe(false);
  const stopped = startDeadline(AbortSignal.abort(new Error("stopped")), 1);
  expect(stopped.signal.reason).toMatchObject({ message: "stopped" });
});
