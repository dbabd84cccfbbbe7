import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { erasedUsersKey } from "../../../shared/erased-users.ts";
import { livePointerKey } from "../../../shared/manifest.ts";
import { ModelRecord } from "../../../shared/model-record.ts";
import type { LogEntry } from "../../../trainer/log/log.ts";
import { closeInReverse } from "../../../trainer/manage/services.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { caller, environmentOf } from "../../fixtures/trainer-client.ts";
import { startHarness } from "../../fixtures/trainer-harness.ts";
import { specOf } from "../../fixtures/trainer-spec.ts";
import { freshState } from "../../fixtures/trainer-state.ts";

type Harness = Awaited<ReturnType<typeof startHarness>>;

async function using<Result>(harness: Harness, work: (harness: Harness) => Promise<Result>): Promise<Result> {
  try {
    return await work(harness);
  } finally {
    await harness.stop();
  }
}
const pointerOf = async ({ store }: Harness, name: string) => {
  const found = await store.get(livePointerKey("acme", name));
  return found && JSON.parse(new TextDecoder().decode(found.bytes));
};
const isAlive = (pid: number) => existsSync(`/proc/${pid}`);
async function eventually(condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 20_000;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error("The condition never became true.");
    await new Promise((done) => setTimeout(done, 20));
  }
}

test("a model is created, trains, and is active", async () => {
  await using(await startHarness(), async (harness) => {
    const script = "progress FETCHING\ndata\nprogress TRAINING\nprogress DEPLOYING\npublish v1";
    const created = await harness.create("shop", script);
    expect(created.status).toBe(201);
    expect(ModelRecord.parse(created.body)).toMatchObject({
      model_url: "https://rank.example/v0/models/shop",
      status: "SCHEDULING",
      version: null,
      training: { state: "SCHEDULED", next_run_at: null },
    });
    const record = await harness.until("shop", ({ status }) => status === "ACTIVE");
    expect(ModelRecord.parse(record)).toMatchObject({
      version: "v1",
      item_id_type: "integer",
      data: { users: 2 },
      metrics: { method: "popular", "ndcg@10": 0.2 },
      training: { state: "IDLE", progress: null },
      failure: null,
    });
    expect(record.trained_at).not.toBe(null);
    expect(harness.logs).toContainEqual(expect.objectContaining({ event: "run_ended", outcome: "published" }));
    await harness.stop();
    expect(await readdir(join(harness.stateDirectory, "runs"))).toEqual([]);
  });
});

describe("when the trainer stops", () => {
  test("its run waits at once, and the next start performs it without counting a failure", async () => {
    const marker = join(await freshState(), "first");
    const first = await startHarness();
    const { stateDirectory } = first;
    await first.create("shop", `progress TRAINING\nfirst ${marker} wait\npublish v1`);
    await first.until("shop", ({ training }) => training.state === "TRAINING");
    await eventually(() => existsSync(marker)); // otherwise the next run would wait
    const startedMs = performance.now();
    await first.stop();
    await first.stop();
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    const second = await startHarness({ stateDirectory, environment: { SHORTLIST_RUN_ATTEMPTS: "1" } });
    await using(second, async (harness) => {
      const record = await harness.until("shop", ({ status }) => status === "ACTIVE");
      expect(record.failure).toBe(null);
    });
  });

  test("it does not wait for a bucket that does not answer", async () => {
    const store = memoryStore();
    const first = await startHarness({ store });
    await first.call("DELETE", "/v0/users/ann");
    await first.stop();
    const requested: string[] = [];
    const get: ObjectStore["get"] = (key) => new Promise(() => requested.push(key));
    const second = await startHarness({ store: { ...store, get }, stateDirectory: first.stateDirectory });
    await eventually(() => requested.includes(erasedUsersKey("acme")));
    const startedMs = performance.now();
    await second.stop();
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    await (await startHarness({ store, stateDirectory: first.stateDirectory })).stop(); // the lock is free
  });

  test("a run whose process received the signal too is handed back uncounted, even while a caller is waited for", async () => {
    const marker = join(await freshState(), "first");
    const harness = await startHarness({
      environment: { SHORTLIST_RUN_ATTEMPTS: "1", SHORTLIST_RETRY_SECONDS: "3600" },
    });
    const { stateDirectory, port } = harness;
    await harness.create("shop", `progress TRAINING\npid ${marker}\nwait`);
    await eventually(() => existsSync(marker) && readFileSync(marker, "utf8") !== "");
    const caller = connect(port, "127.0.0.1").on("error", () => {});
    caller.write("POST /v0/models HTTP/1.1\r\nhost: it\r\ncontent-length: 9\r\n\r\n{");
    await new Promise((done) => setTimeout(done, 200));
    const stopped = harness.stop();
    process.kill(Number(readFileSync(marker, "utf8")), "SIGTERM");
    await stopped;
    const { openDatabase } = await import("../../../trainer/manage/records/database.ts");
    const database = await openDatabase(null, stateDirectory);
    const runs = await database.query("select crashes, not_before <= now() as may_begin from shortlist.runs");
    await database.close();
    expect(runs).toEqual([{ crashes: 0, may_begin: true }]);
  });

  test("by SIGKILL, its run's process ends too, and the next start performs the run again", async () => {
    const state = await freshState();
    const [pidFile, marker] = [join(state, "pid"), join(state, "first")];
    const program = new URL("../../fixtures/trainer-process.ts", import.meta.url).pathname;
    const env = { ...environmentOf(state), PATH: process.env.PATH } as NodeJS.ProcessEnv;
    const killed = spawn(process.execPath, ["--liftoff-only", program, state], {
      stdio: ["ignore", "pipe", "inherit"],
      env,
    });
    const [line] = await once(killed.stdout, "data");
    const script = `progress TRAINING\nfirst ${marker} pid ${pidFile}\nfirst ${marker}2 spin\npublish v1`;
    await caller(Number(String(line)))("POST", "/v0/models", { body: specOf("shop", script) });
    await eventually(() => existsSync(`${marker}2`));
    const pid = Number(readFileSync(pidFile, "utf8"));
    expect(isAlive(pid)).toBe(true);
    killed.kill("SIGKILL");
    await once(killed, "exit");
    await using(await startHarness({ stateDirectory: state }), async (harness) => {
      await harness.until("shop", ({ status }) => status === "ACTIVE");
      await eventually(() => !isAlive(pid));
    });
  });

  test("and dies during the same run again and again, the run fails", async () => {
    const first = await startHarness();
    await first.create("shop", "progress TRAINING\nwait");
    await first.until("shop", ({ training }) => training.state === "TRAINING");
    const { stateDirectory } = first;
    await first.stop();
    const { openDatabase } = await import("../../../trainer/manage/records/database.ts");
    const database = await openDatabase(null, stateDirectory);
    await database.query("update shortlist.runs set crashes = 4");
    await database.close();
    await using(await startHarness({ stateDirectory }), async (harness) => {
      const record = await harness.until("shop", ({ status }) => status === "ERROR");
      expect(record.failure).toMatchObject({ code: "run_lost", retryable: false });
      await eventually(() => harness.logs.length > 0);
      expect(await pointerOf(harness, "shop")).toMatchObject({ status: "ERROR", live: null });
    });
  });
});

test("a port in use is reported in one sentence, and the state folder is unlocked", async () => {
  await using(await startHarness(), async ({ port }) => {
    const state = await freshState();
    const environment = { SHORTLIST_TRAINER_PORT: String(port) };
    await expect(startHarness({ stateDirectory: state, environment })).rejects.toThrow(
      `Port ${port} of 127.0.0.1 is in use`,
    );
    await (await startHarness({ stateDirectory: state })).stop();
  });
});

test("closing performs the steps in reverse order, each once, and logs those that fail", async () => {
  const [performed, logs]: [string[], LogEntry[]] = [[], []];
  const steps = [
    () => void performed.push("lock"),
    () => Promise.reject(new Error("the database is gone")),
    () => {
      throw new Error("no such thing");
    },
    async () => void performed.push("server"),
  ];
  await closeInReverse(steps, (entry) => void logs.push(entry));
  await closeInReverse(steps, () => {});
  expect(performed).toEqual(["server", "lock"]);
  expect(logs.map(({ event }) => event)).toEqual(["close_failed", "close_failed"]);
});
