import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { customerIdentity } from "../../../../../trainer/read/connectors/bigquery/identity.ts";
import {
  type BigQueryAccess,
  dryRunQuery,
  openAccess,
  patiently,
  runQuery,
  withDeadline,
} from "../../../../../trainer/read/connectors/bigquery/job.ts";
import { type BigQueryWorld, bigqueryWorld, READER } from "../../../../fixtures/bigquery-world.ts";

const never = new AbortController().signal;
let world: BigQueryWorld;
let access: BigQueryAccess;
beforeAll(async () => {
  world = await bigqueryWorld();
  const context = { customer: "acme", settings: world.settings() };
  const party = { projectId: "acme-data", location: "EU", serviceAccount: READER };
  access = openAccess(party, await customerIdentity(context), context);
});
afterAll(() => world.stop());

test("a dry run gives columns and bytes and leaves no job", async () => {
  expect(await dryRunQuery(access, "SELECT 1 AS one", never)).toEqual({
    fields: [expect.objectContaining({ name: "one", type: "INTEGER" })],
    bytes: 10_485_760,
  });
  expect(world.fake.jobs.size).toBe(0);
});

test.each(["DELETE FROM x WHERE true", "CREATE TABLE x AS SELECT 1", "EXPORT DATA OPTIONS() AS SELECT 1"])(
  "%s is refused before anything runs",
  async (query) => {
    await expect(dryRunQuery(access, query, never)).rejects.toMatchObject({ code: "not_a_select" });
    expect(world.fake.jobs.size).toBe(0);
  },
);

test("a finished job knows its rows, its name and the table that holds them", async () => {
  const job = await runQuery(access, "SELECT * FROM range(7)", never);
  expect(job).toMatchObject({ totalRows: 7, id: `acme-data:EU.${job.job.id}`, table: { tableId: job.job.id } });
});

test("a query whose job began although its answer was lost is not run again", async () => {
  const before = world.fake.jobs.size;
  world.fake.faults.push({ on: /POST .*jobs$/, lost: true });
  expect(await runQuery(access, "SELECT 1 AS once", never)).toMatchObject({ totalRows: 1 });
  expect(world.fake.faults).toEqual([]);
  expect(world.fake.jobs.size - before).toBe(1);
});

test("a job that began unheard of is cancelled with the run", async () => {
  const controller = new AbortController();
  const reason = new Error("stop");
  world.fake.faults.push({ on: /job runs on/ }, { on: /POST .*jobs$/, lost: true });
  const before = world.fake.jobs.size;
  const running = runQuery(access, "SELECT 1 AS slow", controller.signal);
  running.catch(() => undefined);
  await expect.poll(() => world.fake.jobs.size).toBe(before + 1);
  controller.abort(reason);
  await expect(running).rejects.toBe(reason);
  await expect.poll(() => [...world.fake.jobs.values()].at(-1)!.cancelled).toBe(true);
  world.fake.faults.length = 0;
});

test("a job that is asked for when the run is stopped is cancelled once it has begun", async () => {
  const told: string[] = [];
  const job = { cancel: async () => void told.push("cancelled") };
  const createQueryJob = async () => {
    await setTimeout(50);
    told.push("begun");
  };
  const client = { job: () => job, createQueryJob } as unknown as BigQueryAccess["client"];
  const controller = new AbortController();
  const running = runQuery({ ...access, client }, "SELECT 1", controller.signal);
  controller.abort(new Error("stop"));
  await expect(running).rejects.toThrow("stop");
  await expect.poll(() => told.at(-2)).toBe("begun");
  expect(told.at(-1)).toBe("cancelled");
});

test("a job that takes longer than it may is cancelled", async () => {
  world.fake.faults.push({ on: /job runs on/ });
  const running = runQuery({ ...access, timeoutSeconds: 0.3 }, "SELECT 1 AS slow", never);
  await expect(running).rejects.toMatchObject({ code: "source_timeout" });
  await expect.poll(() => [...world.fake.jobs.values()].at(-1)!.cancelled).toBe(true);
  world.fake.faults.length = 0;
});

test("nobody waits for a request without an answer once the time is over, or the run", async () => {
  const limit = withDeadline(never, 0.05);
  const silent = () => new Promise<never>(() => undefined);
  await expect(patiently(access, limit.signal, silent)).rejects.toMatchObject({ code: "source_timeout" });
  const controller = new AbortController();
  const waiting = patiently(access, withDeadline(controller.signal, 60).signal, silent);
  const reason = new Error("stop");
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  const ended = withDeadline(never, 0.05);
  ended.end();
  await setTimeout(100);
  expect(ended.signal.aborted).toBe(false);
});

test("requests are repeated a few times and no more, and never for the caller's own faults", async () => {
  let asked = 0;
  const failing = (code: number, reason: string) => async () => {
    asked++;
    throw Object.assign(new Error(reason), { code, errors: [{ reason, message: reason }] });
  };
  await expect(patiently(access, never, failing(400, "invalidQuery"))).rejects.toMatchObject({
    code: "source_query_failed",
  });
  expect(asked).toBe(1);
  const controller = new AbortController();
  const reason = new Error("stop");
  const waiting = patiently(access, controller.signal, failing(503, "backendError"));
  setImmediate(() => controller.abort(reason));
  await expect(waiting).rejects.toBe(reason);
  expect(asked).toBe(2);
});
