import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { blobKey, livePointerKey, prefixOf } from "../../../../shared/manifest.ts";
import type { ModelRecord } from "../../../../shared/model-record.ts";
import type { ModelSpec } from "../../../../shared/model-spec.ts";
import { type ActionContext, createModel } from "../../../../trainer/manage/models/model-actions.ts";
import type { Model } from "../../../../trainer/manage/records/model-transitions.ts";
import { readLivePointer, setStatus } from "../../../../trainer/store/live-pointer-swap.ts";
import { publish } from "../../../../trainer/store/publish.ts";
import type { BuiltVersion } from "../../../../trainer/store/version-files.ts";
import { TINY_MODEL, tinyVersion } from "../../../fixtures/tiny-version.ts";
import { startHarness } from "../../../fixtures/trainer-harness.ts";
import { listeningSpec } from "../../../fixtures/trainer-spec.ts";
import { freshFolder } from "../../../fixtures/trainer-state.ts";

let harness: Awaited<ReturnType<typeof startHarness>>;
beforeAll(async () => {
  harness = await startHarness({ environment: { SHORTLIST_SCHEDULE_MINUTES: "1" } });
});
afterAll(() => harness.stop());

const isActive = ({ status }: ModelRecord) => status === "ACTIVE";
const statusOf = async (modelName: string) =>
  (await readLivePointer(harness.store, { customer: "acme", modelName }))?.pointer.status;
async function objectsOf(modelName: string): Promise<string[]> {
  const keys = [];
  for await (const { key } of harness.store.list(prefixOf("acme", modelName))) keys.push(key);
  return keys;
}
const gone = (name: string) =>
  expect.poll(async () => (await harness.call("GET", `/v0/models/${name}`)).status).toBe(404);

describe("train now", () => {
  test("starts a run, and refuses a second one while the first works", async () => {
    await harness.create("trained", "publish v1");
    const before = await harness.until("trained", isActive);
    const script = { schema: { interaction: { source: { query: "progress TRAINING\nwait" } } } };
    await harness.call("PATCH", "/v0/models/trained", { body: script });
    const busy = await harness.until("trained", ({ training }) => training.state === "TRAINING");
    expect(busy).toMatchObject({ status: "ACTIVE", version: "v1" });
    expect(busy.training.run_id).not.toBe(before.training.run_id);
    const answer = await harness.call("POST", "/v0/models/trained/train");
    expect(answer).toMatchObject({ status: 409, body: { code: "model_busy", training: { state: "TRAINING" } } });
    expect(answer.headers.get("retry-after")).toBe("30");
    await harness.call("DELETE", "/v0/models/trained"); // its run uses one of the two workers
    await gone("trained");
  });

  test("trains a failed model again", async () => {
    const marker = join(await freshFolder(), "first");
    await harness.create("again", `first ${marker} fail no_positives\npublish v1`);
    const failed = await harness.until("again", ({ status }) => status === "ERROR");
    expect(failed).toMatchObject({ failure: { code: "no_positives" }, training: { state: "FAILED" } });
    const answer = await harness.call("POST", "/v0/models/again/train");
    expect(answer).toMatchObject({ status: 202, body: { status: "SCHEDULING", failure: null } });
    await harness.until("again", isActive);
  });
});

describe("train now during the wait for a retry", () => {
  test("begins the retry", async () => {
    const slow = await startHarness({ environment: { SHORTLIST_RETRY_SECONDS: "3600" } });
    const marker = join(await freshFolder(), "first");
    await slow.create("waiting", `first ${marker} fail source_down retryable\npublish v1`);
    const waiting = await slow.until("waiting", ({ failure }) => failure !== null);
    expect(waiting).toMatchObject({ training: { state: "SCHEDULED" }, failure: { code: "source_down" } });
    const answer = await slow.call("POST", "/v0/models/waiting/train");
    expect(answer).toMatchObject({ status: 202, body: { training: { run_id: waiting.training.run_id } } });
    const { training } = await slow.until("waiting", isActive);
    expect(training.run_id).toBe(waiting.training.run_id);
    await slow.stop();
  });
});

describe("change", () => {
  test("of the schema stops the present run and starts another", async () => {
    await harness.create("changed", "progress TRAINING\nwait");
    const before = await harness.until("changed", ({ training }) => training.state === "TRAINING");
    const body = { schema: { interaction: { source: { query: "publish v2" } } } };
    const answer = await harness.call("PATCH", "/v0/models/changed", { body });
    expect(answer).toMatchObject({
      status: 200,
      body: { input_schema: { interaction: { source: { query: "publish v2" } } } },
    });
    const after = await harness.until("changed", isActive);
    expect([after.version, after.failure]).toEqual(["v2", null]);
    expect(after.training.run_id).not.toBe(before.training.run_id);
  });

  test("of the objective starts a run, and null brings the default back", async () => {
    await harness.create("aimed", "publish v1");
    const before = await harness.until("aimed", isActive);
    const answer = await harness.call("PATCH", "/v0/models/aimed", { body: { objective: { metric: "mrr@5" } } });
    const record = answer.body as unknown as ModelRecord;
    expect(record.objective).toEqual({ metric: "mrr@5" });
    expect(record.training.run_id).not.toBe(before.training.run_id);
    const reset = await harness.call("PATCH", "/v0/models/aimed", { body: { objective: null } });
    expect(reset.body.objective).toBeUndefined();
  });

  test("of the events after which a model trains starts no run", async () => {
    await harness.call("POST", "/v0/models", { body: listeningSpec("eager", "publish v1") });
    const before = await harness.until("eager", isActive);
    const { body } = await harness.call("PATCH", "/v0/models/eager", { body: { train_after_events: 500 } });
    expect(body).toMatchObject({ train_after_events: 500, training: { run_id: before.training.run_id } });
    const reset = await harness.call("PATCH", "/v0/models/eager", { body: { train_after_events: null } });
    expect(reset.body.train_after_events).toBeUndefined();
  });

  test("of the schedule alone starts no run", async () => {
    await harness.create("rescheduled", "publish v1");
    const before = await harness.until("rescheduled", isActive);
    const answer = await harness.call("PATCH", "/v0/models/rescheduled", { body: { train_schedule: "@weekly" } });
    const record = answer.body as unknown as ModelRecord;
    expect(Date.parse(record.training.next_run_at!) - Date.parse(before.created_at)).toBe(7 * 86_400_000);
    expect(record.training.run_id).toBe(before.training.run_id);
    const once = await harness.call("PATCH", "/v0/models/rescheduled", { body: { train_schedule: null } });
    expect(once.body).toMatchObject({ train_schedule: "@once", training: { next_run_at: null } });
  });

  test("made by two callers at once keeps both", async () => {
    await harness.create("both", "publish v1");
    await harness.until("both", isActive);
    await Promise.all([
      harness.call("PATCH", "/v0/models/both", { body: { train_schedule: "@daily" } }),
      harness.call("PATCH", "/v0/models/both", {
        body: { schema: { item: { source: { query: "items" }, features: [{ name: "brand", type: "Category" }] } } },
      }),
    ]);
    expect((await harness.call("GET", "/v0/models/both")).body).toMatchObject({
      train_schedule: "@daily",
      input_schema: { item: { features: [{ name: "brand" }] } },
    });
  });

  test("that repeats the shown connector changes nothing", async () => {
    const password = { env: "SHORTLIST_SECRET_ACME__DB" };
    const connector_configs = [{ id: "db", type: "Postgres", location: "postgres://reader@db.example/shop", password }];
    const { specOf } = await import("../../../fixtures/trainer-spec.ts");
    await harness.call("POST", "/v0/models", { body: { ...specOf("kept", "publish v1"), connector_configs } });
    const record = await harness.until("kept", isActive);
    const body = { connector_configs: record.connectors };
    const answer = (await harness.call("PATCH", "/v0/models/kept", { body })).body as unknown as ModelRecord;
    expect(answer.training.run_id).toBe(record.training.run_id); // nothing changed, so there is no new run
  });
});

describe("delete", () => {
  const deleted = (name: string) => ({
    status: 200,
    body: { message: `Model with name '${name}' was successfully deleted`, model_name: name },
  });
  const remove = (name: string) => harness.call("DELETE", `/v0/models/${name}`);

  test("of an idle model removes everything before it answers", async () => {
    await harness.create("idle", "publish v1");
    await harness.until("idle", isActive);
    const folder = join(harness.stateDirectory, "models", "acme", "idle");
    await writeFile(join(folder, "kept.parquet"), "x");
    await harness.store.putIfAbsent(`${prefixOf("acme", "idle")}blobs/x`, new Uint8Array(1), "text/plain");
    expect(await remove("idle")).toMatchObject(deleted("idle"));
    expect([await objectsOf("idle"), existsSync(folder)]).toEqual([[], false]);
    expect(await remove("idle")).toMatchObject({ status: 404, body: { code: "model_not_found" } });
    expect((await harness.create("idle", "publish v1")).status).toBe(201);
    await harness.until("idle", isActive);
  });

  test("leaves no version for a new model of that name", async () => {
    const model = { customer: "acme", modelName: "reborn" };
    const { version, ...rest } = await tinyVersion("old", Date.UTC(2026, 0, 1), { model });
    const context = { store: harness.store, nowMs: Date.now, signal: new AbortController().signal, progress: () => {} };
    await setStatus(harness.store, model, { status: "SCHEDULING", nowMs: Date.now() });
    await publish({ version, ...rest }, new TextEncoder().encode("{}"), context);
    await harness.create("reborn", `publish ${version}`);
    await harness.until("reborn", (record) => record.version === version && record.training.state === "IDLE");
    const runs = async () => (await harness.call("GET", "/v0/models/reborn/runs")).body.runs;
    expect(await runs()).toMatchObject([{ outcome: "published", version }]);
    const versions = async () => (await harness.call("GET", "/v0/models/reborn/versions")).body.versions;
    expect(await versions()).toMatchObject([{ version, live: true }]);
    expect(await remove("reborn")).toMatchObject(deleted("reborn"));

    await harness.create("reborn", "progress TRAINING\nwait");
    const record = await harness.until("reborn", ({ training }) => training.state === "TRAINING");
    expect([record.version, record.metrics, record.data, await versions()]).toEqual([null, null, null, []]);
    expect(await runs()).toEqual([]);
    const answer = await harness.call("POST", `/v0/models/reborn/versions/${version}/activate`);
    expect(answer).toMatchObject({ status: 404, body: { code: "version_not_found" } });
    expect(await objectsOf("reborn")).toEqual([livePointerKey("acme", "reborn")]);
    await remove("reborn");
    await gone("reborn");
  });

  test("during an activation, followed by a new model of that name, does not put the old version live", async () => {
    const model = { customer: "acme", modelName: "replaced" };
    const built = await tinyVersion("old", Date.UTC(2026, 0, 1), { model });
    const context = { store: harness.store, nowMs: Date.now, signal: new AbortController().signal, progress: () => {} };
    await setStatus(harness.store, model, { status: "SCHEDULING", nowMs: Date.now() });
    await publish(built, new TextEncoder().encode("{}"), context);
    await harness.create("replaced", `publish ${built.version}`);
    await harness.until("replaced", (record) => record.version === built.version && record.training.state === "IDLE");
    const { head } = harness.store;
    harness.store.head = async (key) => {
      const size = await head(key);
      if (!key.endsWith(built.files.at(-1)!.descriptor.digest.slice(7))) return size;
      harness.store.head = head;
      await remove("replaced");
      await harness.create("replaced", "progress TRAINING\nwait");
      return size;
    };
    const answer = await harness.call("POST", `/v0/models/replaced/versions/${built.version}/activate`);
    expect(answer).toMatchObject({ status: 404, body: { code: "model_not_found" } });
    expect((await harness.call("GET", "/v0/models/replaced")).body).toMatchObject({ version: null });
    await remove("replaced");
    await gone("replaced");
  });

  test("while a run works stops ranking at once and the run soon", async () => {
    await harness.create("working", "progress TRAINING\nwait");
    await harness.until("working", ({ training }) => training.state === "TRAINING");
    const answer = await remove("working");
    expect(answer).toMatchObject({ status: 202, body: { model_name: "working", status: "DESTROYING" } });
    expect(["DESTROYING", undefined]).toContain(await statusOf("working"));
    await gone("working");
    expect(await objectsOf("working")).toEqual([]);
    expect(existsSync(join(harness.stateDirectory, "models", "acme", "working"))).toBe(false);
  });

  test("of a waiting and of a failed model removes them before it answers", async () => {
    await harness.create("failed", "fail no_positives");
    await harness.until("failed", ({ status }) => status === "ERROR");
    expect(await remove("failed")).toMatchObject(deleted("failed"));
    const busy = ["busy1", "busy2"];
    for (const name of busy) await harness.create(name, "progress TRAINING\nwait");
    for (const name of busy) await harness.until(name, ({ training }) => training.state === "TRAINING");
    await harness.create("queued", "publish v1"); // both workers are busy
    expect(await remove("queued")).toMatchObject(deleted("queued"));
    for (const name of busy) await remove(name);
    for (const name of busy) await gone(name);
  });

  test("and all other calls are 404 for another customer", async () => {
    await harness.create("private", "publish v1");
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["POST", "/train"],
      ["GET", "/versions"],
    ])
      expect(await harness.call(method!, `/v0/models/private${path}`, { customer: "other" })).toMatchObject({
        status: 404,
        body: { code: "model_not_found" },
      });
    expect((await harness.call("GET", "/v0/models/private")).status).toBe(200);
  });
});

test("the record has the next time of a cron line", async () => {
  await harness.create("due", "publish v1", { schedule: "* * * * *" });
  const first = await harness.until("due", isActive);
  const next = Date.parse(first.training.next_run_at!);
  expect(next - Date.now()).toBeLessThanOrEqual(60_000);
  expect(next % 60_000).toBe(0);
});

describe("versions", () => {
  const versions: BuiltVersion[] = [];
  beforeAll(async () => {
    for (const [i, name] of ["one", "two"].entries()) versions.push(await tinyVersion(name, Date.UTC(2026, 0, i + 1)));
    const context = { store: harness.store, nowMs: Date.now, signal: new AbortController().signal, progress: () => {} };
    const report = new TextEncoder().encode("{}");
    await setStatus(harness.store, TINY_MODEL, { status: "SCHEDULING", nowMs: Date.now() });
    await publish(versions[0]!, report, context);
    await harness.create("movies", `publish ${versions[0]!.version}`);
    await harness.until("movies", isActive);
    await publish(versions[1]!, report, context);
    const query = `publish ${versions[1]!.version}`;
    await harness.call("PATCH", "/v0/models/movies", { body: { schema: { interaction: { source: { query } } } } });
    await harness.until("movies", ({ version }) => version === versions[1]!.version);
  });
  const activate = (version: string) => harness.call("POST", `/v0/models/movies/versions/${version}/activate`);

  test("are listed newest first, the live one marked", async () => {
    const { body } = await harness.call("GET", "/v0/models/movies/versions");
    expect(body.versions).toMatchObject([
      { version: versions[1]!.version, live: true },
      { version: versions[0]!.version, live: false },
    ]);
  });

  test("can be activated, back and forth", async () => {
    for (const { version } of [versions[0]!, versions[1]!]) {
      // The runs reported integer ids; the manifest says string.
      const item_id_type = "string";
      expect(await activate(version)).toMatchObject({ status: 200, body: { version, status: "ACTIVE", item_id_type } });
      const pointer = (await readLivePointer(harness.store, TINY_MODEL))!.pointer;
      expect(pointer).toMatchObject({ status: "ACTIVE", live: { version } });
    }
  });

  test("can be activated only with all their files", async () => {
    for (const version of ["absent", "%2e%2e%2flive", "x".repeat(100)])
      expect(await activate(version)).toMatchObject({ status: 404, body: { code: "version_not_found" } });
    await harness.store.delete(blobKey("acme", "movies", versions[0]!.files[0]!.descriptor.digest));
    expect(await activate(versions[0]!.version)).toMatchObject({ status: 404, body: { code: "version_not_found" } });
    expect((await harness.call("GET", "/v0/models/movies")).body).toMatchObject({ version: versions[1]!.version });
  });
});

test.each([
  ["DESTROYING", 30, "still being deleted"],
  ["ACTIVE", undefined, "delete it, or choose another name"],
] as const)(
  "the name of a model in status %s is refused, to be retried after %s seconds: %s",
  async (status, retryAfterSeconds, words) => {
    const model = { modelName: "taken", status } as Model;
    const context = {
      nowMs: Date.now,
      database: { transaction: (work: (queries: unknown) => Promise<unknown>) => work({}) },
      registry: { insert: async () => undefined, find: async () => model },
    } as unknown as ActionContext;
    const spec = { model_name: "taken", train_schedule: "@daily" } as ModelSpec;
    const creating = createModel(context, { customer: "acme", spec });
    await expect(creating).rejects.toMatchObject({ code: "model_exists", message: expect.stringContaining(words) });
    await expect(creating).rejects.toHaveProperty("retryAfterSeconds", retryAfterSeconds);
  },
);
