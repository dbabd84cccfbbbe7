import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../../../trainer/manage/records/database.ts";
import { trainOnce } from "../../../trainer/manage/train-once.ts";
import { findPostgres, type PostgresServer, startPostgres } from "../../fixtures/postgres-server.ts";
import { caller, environmentOf } from "../../fixtures/trainer-client.ts";
import { scriptedParts, startHarness } from "../../fixtures/trainer-harness.ts";
import { specOf } from "../../fixtures/trainer-spec.ts";
import { freshFolder } from "../../fixtures/trainer-state.ts";

const bin = findPostgres();
if (bin === undefined) console.warn("No Postgres server on this machine: trainers that share one are not tested.");

describe.skipIf(bin === undefined)("several trainers on one Postgres server", () => {
  let server: PostgresServer;
  let url: string;
  beforeAll(async () => {
    server = await startPostgres(bin!);
    url = `postgres://owner:${encodeURIComponent(server.password)}@127.0.0.1:${server.port}/postgres`;
  });
  afterAll(() => server.stop());
  const shared = () => ({ DATABASE_URL: url, SHORTLIST_HEARTBEAT_SECONDS: "10" });

  test("may start at once on an empty database", async () => {
    const databases = await Promise.all([1, 2, 3, 4].map(() => openDatabase(url, "")));
    const steps = await Promise.all(
      databases.map((database) => database.query("select step from shortlist.migrations")),
    );
    expect(new Set(steps.map((rows) => JSON.stringify(rows))).size).toBe(1);
    const failing = databases[0]!.transaction(async (queries) => {
      await queries.query("insert into shortlist.migrations (step, applied_at) values (99, now())");
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await databases[1]!.query("select step from shortlist.migrations where step = 99")).toEqual([]);
    for (const database of databases) await database.close();
  });

  test("limit statements to a minute", async () => {
    const database = await openDatabase(url, "");
    expect(await database.query("show statement_timeout")).toEqual([{ statement_timeout: "1min" }]);
    await database.close();
  });

  test("perform each run once next to trainers that only work once", async () => {
    const harness = await startHarness({ environment: { ...shared(), SHORTLIST_CONCURRENCY: "1" } });
    try {
      const names = Array.from({ length: 8 }, (_, i) => `once-${i}`);
      for (const name of names) await harness.create(name, "progress TRAINING\npublish v1", { customer: "once" });
      const others = [scriptedParts(await freshFolder(), { environment: shared(), store: harness.store })];
      others.push(scriptedParts(await freshFolder(), { environment: shared(), store: harness.store }));
      const { signal } = new AbortController();
      const results = await Promise.all(others.map((parts) => trainOnce(parts, { customer: "once" }, signal)));
      expect(results.flatMap(({ failed }) => failed)).toEqual([]);
      for (const name of names) await harness.until(name, ({ status }) => status === "ACTIVE", { customer: "once" });
      const logs = [...harness.logs, ...others.flatMap((parts) => parts.logs)];
      const started = logs.filter(({ event, customer }) => event === "run_started" && customer === "once");
      expect(started.map(({ model_name }) => model_name).sort()).toEqual(names);
    } finally {
      await harness.stop();
    }
  });

  test("answer for each other, and perform each run once", async () => {
    const [one, two] = await Promise.all([
      startHarness({ environment: shared() }),
      startHarness({ environment: shared() }),
    ]);
    try {
      const names = Array.from({ length: 6 }, (_, i) => `model-${i}`);
      await Promise.all(names.map((name, i) => [one, two][i % 2]!.create(name, "progress TRAINING\npublish v1")));
      for (const [i, name] of names.entries())
        await [two, one][i % 2]!.until(name, ({ status }) => status === "ACTIVE");
      const started = [...one.logs, ...two.logs].filter(({ event }) => event === "run_started");
      expect(started.map(({ model_name }) => model_name).sort()).toEqual(names);
      expect((await two.call("DELETE", "/v0/models/model-0")).status).toBe(200);
      expect((await one.call("GET", "/v0/models/model-0")).status).toBe(404);
    } finally {
      await Promise.all([one.stop(), two.stop()]);
    }
  });

  test("end each other's runs when a model is deleted", async () => {
    const one = await startHarness({ environment: shared() });
    await one.create("elsewhere", "progress TRAINING\nwait");
    await one.until("elsewhere", ({ training }) => training.state === "TRAINING");
    const two = await startHarness({ environment: shared(), store: one.store });
    try {
      expect((await two.call("DELETE", "/v0/models/elsewhere")).status).toBe(202);
      const status = async () => (await two.call("GET", "/v0/models/elsewhere")).status;
      await expect.poll(status).toBe(404);
      expect(one.logs).toContainEqual(expect.objectContaining({ event: "run_ended", outcome: "stopped" }));
    } finally {
      await Promise.all([one.stop(), two.stop()]);
    }
  });

  test("take over the runs of one that was killed", async () => {
    const state = await freshFolder();
    const program = new URL("../../fixtures/trainer-process.ts", import.meta.url).pathname;
    const env = { ...environmentOf(state), ...shared() } as NodeJS.ProcessEnv;
    const killed = spawn(process.execPath, ["--liftoff-only", program, state], {
      stdio: ["ignore", "pipe", "inherit"],
      env,
    });
    const [line] = await once(killed.stdout, "data");
    const marker = join(await freshFolder(), "first");
    const script = `progress TRAINING\nfirst ${marker} wait\npublish v1`;
    await caller(Number(String(line)))("POST", "/v0/models", { body: specOf("orphan", script) });
    while (!existsSync(marker)) await new Promise((done) => setTimeout(done, 50));
    killed.kill("SIGKILL");
    await once(killed, "exit");
    const heir = await startHarness({ environment: shared() });
    try {
      await heir.until("orphan", ({ status }) => status === "ACTIVE", {}, 50_000);
    } finally {
      await heir.stop();
    }
  }, 90_000);

  test("survive a restart of the server", async () => {
    const harness = await startHarness({ environment: shared() });
    try {
      await server.restart();
      const status = async () => (await harness.call("GET", "/v0/models")).status;
      await expect.poll(status).toBe(200);
      await harness.create("after-restart", "publish v1");
      await harness.until("after-restart", ({ status }) => status === "ACTIVE");
    } finally {
      await harness.stop();
    }
  });
});
