import { expect, test } from "vitest";
import type { LogEntry } from "../../../../trainer/log/log.ts";
import { startRunWorkers } from "../../../../trainer/manage/models/run-workers.ts";
import type { Run } from "../../../../trainer/manage/records/run-ledger.ts";

const aRun = (runId: string): Run => ({ runId, customer: "acme", modelName: runId });

/** Workers over a list of waiting runs. A run leaves the list when it is claimed, and works until it is ended. */
function setUp(names: readonly string[], concurrency = 1) {
  const seen = { waiting: names.map(aRun), begun: [] as string[], reasons: [] as unknown[], logs: [] as LogEntry[] };
  const ends = new Map<string, () => void>();
  const workers = startRunWorkers({
    ledger: { waiting: async (limit) => seen.waiting.slice(0, limit) },
    concurrency,
    perCustomer: 64,
    log: (entry) => void seen.logs.push(entry),
    async perform(run, stop) {
      await Promise.resolve(); // the claim
      seen.waiting = seen.waiting.filter(({ runId }) => runId !== run.runId);
      seen.begun.push(run.runId);
      if (run.runId === "fails") throw new Error("no database");
      await new Promise<void>((done) => {
        ends.set(run.runId, done);
        stop.signal.addEventListener("abort", () => done());
      });
      seen.reasons.push(stop.signal.reason);
    },
  });
  return { seen, workers, end: (name: string) => ends.get(name)!() };
}

test("as many runs work at once as may, oldest first, each of them once", async () => {
  const { seen, workers, end } = setUp(["a", "b", "c"], 2);
  await expect.poll(() => seen.begun).toEqual(["a", "b"]);
  for (let i = 0; i < 3; i++) workers.wake();
  end("a");
  await expect.poll(() => seen.begun).toEqual(["a", "b", "c"]);
  await workers.handBack();
});

test("a run that comes later begins at the next wake", async () => {
  const { seen, workers } = setUp([]);
  await Promise.resolve();
  seen.waiting.push(aRun("late"));
  workers.wake();
  await expect.poll(() => seen.begun).toEqual(["late"]);
  await workers.handBack();
});

test("a run that fails to be performed is logged, and the next one is taken", async () => {
  const { seen, workers } = setUp(["fails", "next"]);
  await expect.poll(() => seen.logs).toEqual([expect.objectContaining({ event: "run_error", run_id: "fails" })]);
  workers.wake();
  await expect.poll(() => seen.begun).toEqual(["fails", "next"]);
  await workers.handBack();
});

test("a run is cancelled by its id, and no other", async () => {
  const { seen, workers } = setUp(["a", "b"], 2);
  await expect.poll(() => seen.begun).toEqual(["a", "b"]);
  workers.cancel("unknown");
  workers.cancel("a");
  await expect.poll(() => seen.reasons).toEqual(["cancelled"]);
  await workers.handBack();
});

test("handing back stops what works, waits for it, and takes nothing more", async () => {
  const { seen, workers } = setUp(["a", "b"]);
  await expect.poll(() => seen.begun).toEqual(["a"]);
  await workers.handBack();
  workers.wake();
  await new Promise((done) => setTimeout(done, 20));
  expect([seen.begun, seen.reasons]).toEqual([["a"], ["stopping"]]);
});
