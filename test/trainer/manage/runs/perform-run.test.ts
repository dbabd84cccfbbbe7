import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { erasedUsersKey, isErased } from "../../../../shared/erased-users.ts";
import { learntMarksKey } from "../../../../shared/events/event-store.ts";
import type { UserId } from "../../../../shared/ids.ts";
import { manifestKey } from "../../../../shared/manifest.ts";
import type { LogEntry } from "../../../../trainer/log/log.ts";
import { runLedger } from "../../../../trainer/manage/records/run-ledger.ts";
import { modelFolders } from "../../../../trainer/manage/runs/model-folders.ts";
import { prepareRun } from "../../../../trainer/manage/runs/perform-run.ts";
import type { StopReason } from "../../../../trainer/manage/runs/run-lease.ts";
import { readSettings } from "../../../../trainer/settings.ts";
import type { Grant } from "../../../../trainer/store/bucket-grants.ts";
import { readErasedUsers } from "../../../../trainer/store/erased-list.ts";
import { changeLivePointer, readLivePointer } from "../../../../trainer/store/live-pointer-swap.ts";
import { type ObjectStore, StoreError, storedJson } from "../../../../trainer/store/object-store.ts";
import { liveVersion, smallVersion } from "../../../fixtures/edge-version.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { environmentOf } from "../../../fixtures/trainer-client.ts";
import { aModel } from "../../../fixtures/trainer-model.ts";
import { listeningSpec, specOf } from "../../../fixtures/trainer-spec.ts";
import { freshFolder } from "../../../fixtures/trainer-state.ts";
import { NO_GRANTS, runsOf } from "../../../fixtures/waiting-run.ts";

const { state, database, registry, ledger, waitingRun, isWaiting } = await runsOf();
afterAll(() => database.close());

/** Resolves when the record says TRAINING. The pause lets other work go on, since the embedded database never yields. */
async function training(modelName: string): Promise<void> {
  while ((await registry.find("acme", modelName))!.training.state !== "TRAINING")
    await new Promise((done) => setTimeout(done, 20));
}
const statusAtEdge = async (store: ObjectStore, modelName: string) =>
  (await readLivePointer(store, { customer: "acme", modelName }))?.pointer.status;

test("a retryable failure is retried, a limited number of times", async () => {
  const { run, perform, store, modelName } = await waitingRun("fail source_down retryable");
  expect(await perform()).toMatchObject({
    status: "SCHEDULING",
    failure: { code: "source_down", retryable: true },
    training: { state: "SCHEDULED", finishedAt: null },
  });
  expect(await isWaiting(run.runId)).toBe(true);
  expect(await perform()).toMatchObject({ status: "ERROR", training: { state: "FAILED", attempt: 2 } });
  expect(await isWaiting(run.runId)).toBe(false);
  expect(await statusAtEdge(store, modelName)).toBe("ERROR");
});

test("a retry waits before it begins", async () => {
  const { run, perform } = await waitingRun("fail source_down retryable", { retrySeconds: 60 });
  await perform();
  expect(await isWaiting(run.runId)).toBe(false);
});

test("a failure that is not retryable ends the run", async () => {
  const { run, perform } = await waitingRun("fail no_positives");
  expect(await perform()).toMatchObject({ status: "ERROR", failure: { code: "no_positives" } });
  expect(await isWaiting(run.runId)).toBe(false);
});

test("too few events are no error: the model waits for more", async () => {
  const { run, perform } = await waitingRun("fail not_enough_events", { listens: true });
  expect(await perform()).toMatchObject({
    status: "SCHEDULING",
    failure: { code: "not_enough_events" },
    training: { state: "SCHEDULED", finishedAt: expect.any(String) },
  });
  expect(await isWaiting(run.runId)).toBe(false);
});

test("the record has the reasons why the gate refused a version", async () => {
  const { perform } = await waitingRun("refuse");
  expect(await perform()).toMatchObject({
    status: "ERROR",
    failure: { code: "version_refused", message: "The new version was not put live: worse than popular." },
  });
});

test("secrets are removed from messages and output, and not from names and codes", async () => {
  const failing = await waitingRun("say pass shop\nfail no_shop_here", { password: "shop" });
  const { failure } = await failing.perform();
  expect(failure).toMatchObject({ code: "no_shop_here", message: "It failed with no_***_here." });
  expect(failing.logs.find(({ event }) => event === "run_ended")?.output).toBe("pass ***\n");
  const publishing = await waitingRun("say pass shop\npublish shop-v1", { password: "shop" });
  expect(await publishing.perform()).toMatchObject({ status: "ACTIVE", version: "shop-v1" });
  expect(publishing.logs.find(({ event }) => event === "run_ended")?.output).toBe("pass ***\n");
});

test("a failed retrain keeps the live version and its metrics", async () => {
  const marker = join(await freshFolder(), "first");
  const { run, perform, modelName } = await waitingRun(`first ${marker} publish v1\nfail no_positives`);
  const before = await perform();
  expect(before).toMatchObject({ status: "ACTIVE", version: "v1" });
  const second = { ...run, runId: `${run.runId}-again` };
  await registry.apply("acme", modelName, { kind: "scheduled", runId: second.runId });
  await ledger.create(database, second);
  Object.assign(run, second);
  expect(await perform()).toMatchObject({
    status: "ACTIVE",
    version: "v1",
    metrics: before.metrics,
    failure: { code: "no_positives" },
    training: { state: "FAILED" },
  });
});

test("a store that does not answer is a retryable failure, and its error goes to the log only", async () => {
  const down: ObjectStore = { ...memoryStore(), get: () => Promise.reject(new StoreError("no route to hunter2")) };
  const { perform, logs } = await waitingRun("publish v1", { store: down });
  const { failure } = await perform();
  expect(failure).toMatchObject({ code: "store_unavailable", retryable: true });
  expect(failure!.message).not.toContain("hunter2");
  expect(logs).toContainEqual(expect.objectContaining({ event: "run_error" }));
});

test("the pointer exists before the run's process begins", async () => {
  const { perform, store, modelName } = await waitingRun("progress TRAINING\nfail no_positives");
  const seen: (string | undefined)[] = [];
  const swap = store.swap;
  store.swap = async (...args) => {
    const result = await swap(...args);
    seen.push(await statusAtEdge(store, modelName));
    return result;
  };
  await perform();
  expect([seen[0], seen.at(-1)]).toEqual(["FETCHING", "ERROR"]);
});

test("the record adopts the version that a dead trainer had published", async () => {
  const { perform, store, modelName } = await waitingRun("progress TRAINING\nfail no_positives");
  const manifest = { media_type: "x", digest: `sha256:${"0".repeat(64)}`, size: 1 };
  const live = { version: "v9", manifest };
  await changeLivePointer(store, { customer: "acme", modelName }, () => ({
    format: 1,
    status: "ACTIVE",
    live,
    updated_at: "",
  }));
  expect(await perform()).toMatchObject({ status: "ACTIVE", version: "v9" });
});

test("a lost list of erased users is restored before the run reads rows", async () => {
  const { perform, store, erased } = await waitingRun("publish v1");
  await erased.erase("acme", "ann" as UserId);
  await store.delete(erasedUsersKey("acme"));
  await perform();
  expect(await isErased((await readErasedUsers(store, "acme"))!, "ann" as UserId)).toBe(true);
});

describe("a run that is stopped", () => {
  /** Performs a run that hangs, and stops it during TRAINING. */
  async function stopped(reason: StopReason) {
    const waiting = await waitingRun("progress TRAINING\nwait");
    const stop = new AbortController();
    const ended = waiting.perform(stop);
    await training(waiting.modelName);
    stop.abort(reason);
    return { ...waiting, model: await ended };
  }

  test("because the trainer stops waits for the next trainer, and its attempt does not count", async () => {
    const { model, run } = await stopped("stopping");
    expect(model).toMatchObject({ status: "SCHEDULING", failure: null, training: { finishedAt: null } });
    expect(await isWaiting(run.runId)).toBe(true);
    expect(await ledger.claim(run.runId)).toMatchObject({ crashes: 0 });
  });

  test("because it was cancelled has ended", async () => {
    const { model, run } = await stopped("cancelled");
    expect(model.training.finishedAt).not.toBe(null);
    expect(await ledger.claim(run.runId)).toBe(undefined);
  });

  test("because another trainer owns the lease writes nothing", async () => {
    const { model, run } = await stopped("lost");
    expect(model).toMatchObject({ status: "TRAINING", training: { state: "TRAINING", finishedAt: null } });
    expect(await ledger.renew({ runId: run.runId, attempt: 1 })).toBe("owned");
  });
});

test("a cancellation by another trainer is noticed", async () => {
  const { run, perform, modelName } = await waitingRun("progress TRAINING\nwait");
  const ended = perform();
  await training(modelName);
  expect(await runLedger(database, "theirs", 30).cancel(run.runId)).toBe(true);
  expect((await ended).training.finishedAt).not.toBe(null);
});

test("a changed model is trained again even if the trainer that should stop the old run dies", async () => {
  const { run, modelName, perform } = await waitingRun("publish v1");
  const claim = (await runLedger(database, "theirs", 30).claim(run.runId))!;
  const { spec } = (await registry.apply("acme", modelName, { kind: "started", runId: run.runId, attempt: 1 }))!;
  await registry.apply("acme", modelName, { kind: "changed", from: spec, spec, retrain: true, nextRunAt: null });
  expect(await ledger.cancel(run.runId)).toBe(true);
  await database.query("update shortlist.runs set seen_at = now() - interval '1 hour' where run_id = $1", [run.runId]);
  expect(await perform()).toMatchObject({
    version: null,
    training: { attempt: claim.attempt + 1, state: "SCHEDULED" },
  });
  const pending = await registry.due(new Date().toISOString(), 100, 100);
  expect(pending.map((model) => model.modelName)).toContain(modelName);
});

test("a cancellation is noticed right before publishing, between two renewals", async () => {
  const { perform, modelName, logs, run } = await waitingRun(
    `progress TRAINING\nuntil ${join(state, "cancelled")}\nask-lease\nfail source_down retryable`,
  );
  const ended = perform();
  await training(modelName);
  await runLedger(database, "theirs", 30).cancel(run.runId);
  await writeFile(join(state, "cancelled"), "");
  expect((await ended).training.finishedAt).not.toBe(null);
  expect(logs).toContainEqual(expect.objectContaining({ event: "run_ended", outcome: "stopped" }));
});

describe("a run that asks whether it owns the lease", () => {
  async function performWith(renewals: readonly ("owned" | "lost" | Error)[]) {
    const { perform, logs } = await waitingRun("ask-lease\nexit 3");
    const remaining = [...renewals];
    const renew = ledger.renew;
    ledger.renew = (attempt) => {
      const next = remaining.shift() ?? "owned";
      if (next instanceof Error) return Promise.reject(next);
      return next === "owned" ? renew(attempt) : Promise.resolve(next);
    };
    await perform().finally(() => {
      ledger.renew = renew;
    });
    return { logs, remaining: remaining.length };
  }
  const outputOf = (logs: readonly LogEntry[]) => logs.find(({ event }) => event === "run_ended")?.output;

  test("gets yes while it does", async () => {
    expect(outputOf((await performWith(["owned"])).logs)).toContain("owns_lease=true");
  });

  test("is stopped when another trainer owns it", async () => {
    const { logs } = await performWith(["lost"]);
    expect(logs.find(({ event }) => event === "run_ended")?.outcome).toBe("stopped");
  });

  test("gets its answer once a failing database works again", async () => {
    const { logs, remaining } = await performWith([new Error("no database"), new Error("no database"), "owned"]);
    expect(outputOf(logs)).toContain("owns_lease=true");
    expect(remaining).toBe(0);
  });
});

test.each<[string, () => Promise<never>, number]>([
  ["fails", () => Promise.reject(new Error("no database")), 20],
  ["never answers", () => new Promise(() => {}), 1],
])(
  "a run stops in time when the database %s, and then writes nothing",
  async (_, answer, asksMax) => {
    const { perform, modelName, run } = await waitingRun("progress TRAINING\nwait", { heartbeatSeconds: 3 });
    const stop = new AbortController();
    const ended = perform(stop);
    await training(modelName);
    const renewal = vi.spyOn(ledger, "renew").mockImplementation(answer);
    const sinceMs = performance.now();
    expect(await ended).toMatchObject({ status: "TRAINING", training: { finishedAt: null } });
    expect(stop.signal.reason).toBe("lost");
    expect(performance.now() - sinceMs).toBeGreaterThan(500);
    expect(renewal.mock.calls.length).toBeLessThanOrEqual(asksMax);
    renewal.mockRestore();
    expect(await ledger.renew({ runId: run.runId, attempt: 1 })).toBe("owned");
  },
  15_000,
);

test("a run of a model that is being deleted does not begin", async () => {
  const { run, perform, modelName, logs } = await waitingRun("publish v1");
  await registry.apply("acme", modelName, { kind: "destroying" });
  expect(await perform()).toMatchObject({ status: "DESTROYING", version: null });
  expect(logs).toEqual([]);
  expect(await ledger.claim(run.runId)).toBe(undefined);
});

test("after publishing, the edge is told which events all versions of the customer have learnt", async () => {
  const { perform, store, modelName } = await waitingRun("publish v2", { listens: true });
  const { manifest } = smallVersion(liveVersion(modelName, "v1"));
  for (const [version, mark] of Object.entries({ v1: 7, v2: 9 })) {
    const events = { meanings: {}, learnt: { "0-0": mark } };
    const bytes = new TextEncoder().encode(JSON.stringify({ ...manifest, events }));
    await store.putIfAbsent(manifestKey("acme", modelName, version), bytes, "application/json");
  }
  await perform();
  expect(storedJson((await store.get(learntMarksKey("acme")))!.bytes)).toEqual({ "0-0": 7 });
});

test.each([
  [false, ["models/acme/shop/"]],
  [true, ["models/acme/shop/", "customers/acme/events/files/"]],
])("a run may read event files only if its model listens to events: %s", async (listens, prefixes) => {
  const granted: Grant[] = [];
  const grants = {
    ...NO_GRANTS,
    options(grant: Grant) {
      granted.push(grant);
      return NO_GRANTS.options(grant);
    },
  };
  const state = await freshFolder();
  const spec = listens ? listeningSpec("shop", "wait") : specOf("shop", "wait");
  const parts = { settings: readSettings(environmentOf(state)), folders: modelFolders(state), store: memoryStore() };
  await prepareRun(aModel({ spec }), { runId: "run-1", erasure: { salt: null, dueMs: null } }, { ...parts, grants });
  expect(granted[0]!.prefixes).toEqual(prefixes);
});

test("a run whose lease another trainer owns is not performed", async () => {
  const { run, perform, logs } = await waitingRun("publish v1");
  await runLedger(database, "theirs", 30).claim(run.runId);
  expect(await perform()).toMatchObject({ status: "SCHEDULING", training: { attempt: 0 } });
  expect(logs).toEqual([]);
});

test("a run's job has its folders and its customer's settings, and survives JSON", async () => {
  const state = await freshFolder();
  const settings = readSettings({
    ...environmentOf(state),
    SHORTLIST_FILE_ROOTS: '{"acme": ["/data/acme"]}',
    SHORTLIST_OVERLAP_HOURS: "1",
    SHORTLIST_SECRET_ACME__PASSWORD: "planted-in-environment",
  });
  const spec = specOf("shop", "wait", { connector_configs: [{ type: "Postgres", password: "planted-in-spec" }] });
  const erasure = { salt: "0".repeat(32), dueMs: null };
  const prepared = await prepareRun(
    aModel({ spec }),
    { runId: "run-1", erasure },
    {
      settings,
      folders: modelFolders(state),
      store: memoryStore(),
      grants: NO_GRANTS,
    },
  );
  const { job } = prepared;
  expect(JSON.parse(JSON.stringify(job))).toEqual(job);
  expect(job).toMatchObject({
    runId: "run-1",
    customer: "acme",
    spec,
    settings: {
      workDirectory: join(state, "runs", "run-1"),
      modelDirectory: join(state, "models", "acme", "shop"),
      incremental: { overlapSeconds: 3600, fullReadSeconds: 7 * 86_400 },
    },
    connectorSettings: { fileRoots: ["/data/acme"], tempDirectory: join(state, "runs", "run-1", "temp") },
  });
  expect([job.settings.modelDirectory, job.connectorSettings.tempDirectory].map(existsSync)).toEqual([true, true]);
  expect(prepared.secrets).toEqual(
    expect.arrayContaining(["planted-in-spec", "planted-in-environment", "temporary-secret", "session-token"]),
  );
  expect(JSON.stringify(job)).not.toContain("planted-in-environment");
  expect(prepared.environment).not.toHaveProperty("FORWARD_SECRET");
});
