import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { customerIdentity } from "../../../../../trainer/read/connectors/bigquery/identity.ts";
import {
  type BigQueryAccess,
  dryRunQuery,
  openAccess,
  runQuery,
  withRetries,
} from "../../../../../trainer/read/connectors/bigquery/job.ts";
import { startDeadline } from "../../../../../trainer/read/connectors/limits.ts";
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

test("a finished job has its id, its count of rows and the table that holds them", async () => {
  const job = await runQuery(access, "SELECT * FROM range(7)", never);
  expect(job).toMatchObject({ totalRows: 7, id: `acme-data:EU.${job.job.id}`, table: { tableId: job.job.id } });
});

test("a query whose job began although the answer was lost is not run again", async () => {
  const before = world.fake.jobs.size;
  world.fake.faults.push({ on: /POST .*jobs$/, lost: true });
  expect(await runQuery(access, "SELECT 1 AS once", never)).toMatchObject({ totalRows: 1 });
  expect(world.fake.faults).toEqual([]);
  expect(world.fake.jobs.size - before).toBe(1);
});

test("a job whose start was not confirmed is cancelled with the run", async () => {
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

test("a job whose start was requested before the run was stopped is cancelled once it has begun", async () => {
  const events: string[] = [];
  const job = { cancel: async () => void events.push("cancelled") };
  const createQueryJob = async () => {
    await setTimeout(50);
    events.push("begun");
  };
  const client = { job: () => job, createQueryJob } as unknown as BigQueryAccess["client"];
  const controller = new AbortController();
  const running = runQuery({ ...access, client }, "SELECT 1", controller.signal);
  controller.abort(new Error("stop"));
  await expect(running).rejects.toThrow("stop");
  await expect.poll(() => events.at(-2)).toBe("begun");
  expect(events.at(-1)).toBe("cancelled");
});

test("a job that is not done at the deadline is cancelled", async () => {
  world.fake.faults.push({ on: /job runs on/ });
  const running = runQuery(access, "SELECT 1 AS slow", startDeadline(never, 0.3).signal);
  await expect(running).rejects.toMatchObject({ code: "source_timeout" });
  await expect.poll(() => [...world.fake.jobs.values()].at(-1)!.cancelled).toBe(true);
  world.fake.faults.length = 0;
});

test("a request without an answer ends at the deadline, or when the run is stopped", async () => {
  const deadline = startDeadline(never, 0.05);
  const silent = () => new Promise<never>(() => undefined);
  await expect(withRetries(access, deadline.signal, silent)).rejects.toMatchObject({ code: "source_timeout" });
  const controller = new AbortController();
  const waiting = withRetries(access, controller.signal, silent);
  const reason = new Error("stop");
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});

test("a service that accepts connections and never answers ends the request", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const endpoint = { bigqueryApiEndpoint: `http://127.0.0.1:${port}`, silenceSeconds: 0.2 };
  const connector = await world.open(endpoint);
  await expect(connector.inspect("SELECT 1", never)).rejects.toMatchObject({
    code: "source_silent",
    message: expect.stringContaining("SHORTLIST_SILENCE_SECONDS"),
  });
  await connector.close();
  server.close();
});

test("requests are retried a few times, but not after the caller's own faults", async () => {
  let requests = 0;
  const failing = (code: number, reason: string) => async () => {
    requests++;
    throw Object.assign(new Error(reason), { code, errors: [{ reason, message: reason }] });
  };
  await expect(withRetries(access, never, failing(400, "invalidQuery"))).rejects.toMatchObject({
    code: "source_query_failed",
  });
  expect(requests).toBe(1);
  const controller = new AbortController();
  const reason = new Error("stop");
  const waiting = withRetries(access, controller.signal, failing(503, "backendError"));
  setImmediate(() => controller.abort(reason));
  await expect(waiting).rejects.toBe(reason);
  expect(requests).toBe(2);
});
