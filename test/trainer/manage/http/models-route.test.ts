import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EvaluationAnswer } from "../../../../shared/evaluation-report.ts";
import { listsKey, reportKey } from "../../../../shared/manifest.ts";
import { ModelRecord } from "../../../../shared/model-record.ts";
import { encodeDetail } from "../../../../trainer/choose/report/evaluation-detail.ts";
import { readErasedUsers } from "../../../../trainer/store/erased-list.ts";
import { SMALL_DETAIL } from "../../../fixtures/small-detail.ts";
import { startHarness } from "../../../fixtures/trainer-harness.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";

const PLANTED = "planted-in-the-environment";
let harness: Awaited<ReturnType<typeof startHarness>>;
beforeAll(async () => {
  harness = await startHarness({ environment: { SHORTLIST_SECRET_SECRETIVE__DB: PLANTED } });
});
afterAll(() => harness.stop());

const post = (body: unknown, options = {}) => harness.call("POST", "/v0/models", { body, ...options });
const base = () => structuredClone(specOf("refused", "publish v1")) as unknown as Record<string, unknown>;

describe("create", () => {
  test.each([
    ["nothing", () => "", 400, "invalid_json", ""],
    ["no JSON", () => "{", 400, "invalid_json", ""],
    ["no object", () => [], 400, "invalid_parameter", ""],
    ["no name", () => ({ ...base(), model_name: undefined }), 400, "missing_field", "/model_name"],
    ["a name with a slash", () => ({ ...base(), model_name: "a/b" }), 400, "invalid_parameter", "/model_name"],
    ["a number for a name", () => ({ ...base(), model_name: 7 }), 400, "invalid_parameter", "/model_name"],
    ["no connectors", () => ({ ...base(), connector_configs: [] }), 400, "invalid_parameter", "/connector_configs"],
    ["a misspelt field", () => ({ ...base(), modelname: "x" }), 400, "unknown_field", "/modelname"],
    ["a bad schedule", () => ({ ...base(), train_schedule: "@monthly" }), 400, "invalid_parameter", "/train_schedule"],
    [
      "an objective that is no metric",
      () => ({ ...base(), objective: { metric: "auc" } }),
      400,
      "invalid_parameter",
      "/objective/metric",
    ],
    [
      "a schedule drawn by lot",
      () => ({ ...base(), train_schedule: "H H * * *" }),
      400,
      "invalid_parameter",
      "/train_schedule",
    ],
    [
      "a cron line that never comes",
      () => ({ ...base(), train_schedule: "0 0 31 2 *" }),
      400,
      "invalid_parameter",
      "/train_schedule",
    ],
  ])("%s is refused", async (_what, body, status, code, pointer) => {
    const answer = await post(body());
    expect(answer).toMatchObject({ status, body: { code } });
    if (pointer) expect(answer.body.errors).toContainEqual(expect.objectContaining({ pointer }));
  });

  test("the error for a misspelt field suggests the right name", async () => {
    const { body } = await post({ ...base(), train_shedule: "@daily" });
    expect(body.detail).toContain('did you mean "train_schedule"');
  });

  test.each([
    ["an unknown type", { type: "PostgreSQL", location: "postgres://reader@db/shop" }, "/type", 'mean "Postgres"?'],
    [
      "a password",
      { type: "Postgres", location: "postgres://r@db/shop", password: "hunter2" },
      "/password",
      "_ACME__DB",
    ],
    ["a password in an address", { type: "Postgres", location: "postgres://r:hunter2@db/shop" }, "/location", "secret"],
    [
      "a key",
      { type: "BigQuery", project_id: "acme-shop", location: "EU", private_key: "hunter2" },
      "/private_key",
      "grant",
    ],
    ["no project", { type: "BigQuery", location: "EU" }, "/project_id", "project"],
    ["a field of another", { type: "File", location: "a.csv", projectid: "x" }, "/projectid", "location"],
  ])(
    "%s in a connector is refused when it is sent, dry or not, now or later, and stored nowhere",
    async (_, config, field, words) => {
      const connector_configs = [config];
      const calls = [
        post({ ...base(), connector_configs }),
        harness.call("POST", "/v0/models?dry_run=true", { body: { ...base(), connector_configs } }),
      ];
      await harness.create("reconnected", "publish v1");
      calls.push(harness.call("PATCH", "/v0/models/reconnected", { body: { connector_configs } }));
      for (const { status, body } of await Promise.all(calls)) {
        expect(status).toBe(400);
        expect(body.errors).toMatchObject([{ pointer: `/connector_configs/0${field}` }]);
        expect(body.detail).toContain(words);
        expect(JSON.stringify(body)).not.toContain("hunter2");
      }
      expect((await harness.call("GET", "/v0/models/refused")).status).toBe(404);
      expect((await harness.call("GET", "/v0/models/reconnected")).body.connectors).toEqual(base().connector_configs);
      expect(JSON.stringify(harness.logs)).not.toContain("hunter2");
    },
  );

  test("a name can be used once per customer", async () => {
    expect((await harness.create("twice", "publish v1")).status).toBe(201);
    expect(await harness.create("twice", "publish v1")).toMatchObject({ status: 409, body: { code: "model_exists" } });
    expect((await harness.create("twice", "publish v1", { customer: "other" })).status).toBe(201);
  });

  test("a repeated request with an Idempotency-Key gets the model of the first one", async () => {
    const headers = { "idempotency-key": "create-once" };
    const first = await harness.create("idempotent", "publish v1", { headers });
    const again = await harness.create("idempotent", "publish v1", { headers });
    expect([first.status, again.status, again.body.created_at]).toEqual([201, 201, first.body.created_at]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(again.headers.get("location")).toBe("/v0/models/idempotent");
    const other = await harness.create("idempotent", "publish v2", { headers });
    expect(other).toMatchObject({ status: 409, body: { code: "idempotency_conflict" } });
  });

  test("the Idempotency-Key of a deleted model creates it again", async () => {
    const headers = { "idempotency-key": "made-twice" };
    const first = await harness.create("made-twice", "publish v1", { headers });
    await harness.call("DELETE", "/v0/models/made-twice");
    const isGone = async () => (await harness.call("GET", "/v0/models/made-twice")).status === 404;
    await expect.poll(isGone).toBe(true);
    const again = await harness.create("made-twice", "publish v1", { headers });
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([201, null]);
    expect(again.body.created_at).not.toBe(first.body.created_at);
    expect((await harness.call("GET", "/v0/models/made-twice")).status).toBe(200);
  });

  test("simultaneous requests with one Idempotency-Key create one model", async () => {
    const headers = { "idempotency-key": "at-once" };
    const make = () => harness.create("at-once", "publish v1", { headers });
    const answers = await Promise.all([make(), make(), make()]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.created_at)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get("idempotent-replayed") === "true")).toHaveLength(2);
  });

  test("a dry run creates nothing, and refuses what a creation refuses", async () => {
    const dry = await harness.call("POST", "/v0/models?dry_run=true", { body: specOf("dry", "publish v1") });
    expect(dry).toMatchObject({ status: 200, body: { problems: [], model_name: "dry" } });
    expect((await harness.call("GET", "/v0/models/dry")).status).toBe(404);
    const bad = await harness.call("POST", "/v0/models?dry_run=true", { body: { ...base(), train_schedule: "no" } });
    expect(bad).toMatchObject({ status: 400 });
    const odd = await harness.call("POST", "/v0/models?dry_run=maybe", { body: base() });
    expect(odd).toMatchObject({ status: 400, body: { code: "invalid_parameter" } });
  });

  test("a dry run ends when its caller hangs up, and a customer has one at a time", async () => {
    const dry = (script: string, signal?: AbortSignal) =>
      harness.call("POST", "/v0/models?dry_run=true", { body: specOf("dry", script), signal });
    const isRunning = async () =>
      (await readdir(join(harness.stateDirectory, "runs"))).some((name) => name.startsWith("dry-"));
    const caller = new AbortController();
    dry("wait", caller.signal).catch(() => undefined);
    await expect.poll(isRunning).toBe(true);
    expect(await dry("report")).toMatchObject({ status: 429, body: { code: "rate_limited" } });
    caller.abort();
    await expect.poll(async () => (await dry("report")).status).toBe(200);
  });

  test("the record has the schedule and its next time", async () => {
    const { body } = await harness.create("daily", "publish v1", { schedule: "@daily" });
    const record = ModelRecord.parse(body);
    expect(Date.parse(record.training.next_run_at!) - Date.parse(record.created_at)).toBe(86_400_000);
  });
});

describe("list", () => {
  beforeAll(async () => {
    for (const name of ["b", "a", "c"]) await harness.create(name, "publish v1", { customer: "lister" });
    for (const name of ["a", "b", "c"])
      await harness.until(name, ({ status }) => status === "ACTIVE", { customer: "lister" });
  });
  const list = (query: string) => harness.call("GET", `/v0/models${query}`, { customer: "lister" });
  const names = (answer: { body: Record<string, unknown> }) =>
    (answer.body.models as ModelRecord[]).map(({ model_name }) => model_name);

  test("shows the customer's own models, page by page", async () => {
    expect(names(await list(""))).toEqual(["a", "b", "c"]);
    const first = await list("?limit=2");
    expect(names(first)).toEqual(["a", "b"]);
    const second = await list(`?limit=2&cursor=${first.body.next_cursor}`);
    expect([names(second), second.body.next_cursor]).toEqual([["c"], undefined]);
  });

  test("filters by status", async () => {
    expect(names(await list("?status=ACTIVE"))).toEqual(["a", "b", "c"]);
    expect(names(await list("?status=ERROR"))).toEqual([]);
  });

  test("finds a part of a name, in any case and literally", async () => {
    await harness.create("Spring-Shop", "publish v1", { customer: "lister" });
    expect(names(await list("?name_contains=shop"))).toEqual(["Spring-Shop"]);
    expect(names(await list("?name_contains=shop&status=ERROR"))).toEqual([]);
    expect(names(await list("?name_contains=%25"))).toEqual([]);
  });

  test.each(["?limit=0", "?limit=1e9", "?limit=x", "?status=BORED", "?cursor=no", "?cursor=WzJd", "?lmit=3"])(
    "%s is refused",
    async (query) => expect((await list(query)).status).toBe(400),
  );
});

describe("evaluation and versions", () => {
  test("a model without a version has no report", async () => {
    await harness.create("early", "wait");
    const answer = await harness.call("GET", "/v0/models/early/evaluation");
    expect(answer).toMatchObject({ status: 409, body: { code: "model_not_active" } });
    expect(answer.headers.get("retry-after")).toBe("30");
    const question = await harness.call("POST", "/v0/models/early/evaluation", { body: { user_ids: ["ann"] } });
    expect(question).toMatchObject({ status: 409, body: { code: "model_not_active" } });
    expect((await harness.call("GET", "/v0/models/early/versions")).body).toEqual({ versions: [] });
  });

  test("the answer is the stored report of the live version", async () => {
    await harness.create("evaluated", "publish v1");
    await harness.until("evaluated", ({ status }) => status === "ACTIVE");
    const path = "/v0/models/evaluated/evaluation";
    expect(await harness.call("GET", path)).toMatchObject({ status: 503, body: { code: "artifact_unavailable" } });
    const report = new TextEncoder().encode('{"format":1}');
    await harness.store.putIfAbsent(reportKey("acme", "evaluated", "v1"), report, "application/json");
    expect(await harness.call("GET", path)).toMatchObject({ status: 200, body: { format: 1 } });
  });

  test("questions about users, items and attributes are answered from the lists behind the report", async () => {
    await harness.create("questioned", "publish v1");
    await harness.until("questioned", ({ status }) => status === "ACTIVE");
    const ask = (body: unknown) => harness.call("POST", "/v0/models/questioned/evaluation", { body });
    const known = { user_ids: ["ann", 7] };
    expect(await ask(known)).toMatchObject({ status: 503, body: { code: "artifact_unavailable" } });
    await harness.store.putIfAbsent(listsKey("acme", "questioned", "v1"), encodeDetail(SMALL_DETAIL), "x");
    const answer = await ask(known);
    expect([answer.status, EvaluationAnswer.parse(answer.body).users]).toEqual([200, 2]);
    expect(await ask({ user: "ann" })).toMatchObject({ status: 400, body: { code: "unknown_field" } });
    expect(await ask({ item_attribute: "genre" })).toMatchObject({ status: 400, body: { code: "unknown_attribute" } });
  });
});

describe("change", () => {
  test.each([
    [{ model_name: "x" }, "unknown_field", "/model_name"],
    [{ schema: { interaction: { source: null } } }, "missing_field", "/schema/interaction/source"],
    [{ schema: { interaction: { soruce: {} } } }, "unknown_field", "/schema/interaction/soruce"],
    [{ schema: { constructor: {} } }, "unknown_field", "/schema/constructor"],
    [{ schema: { itm: null } }, "unknown_field", "/schema/itm"],
    [{ schema: { item: { fetures: null } } }, "unknown_field", "/schema/item/fetures"],
    ['{"schema": {"__proto__": {"user": {"id": "x"}}}}', "unknown_field", "/schema/__proto__"],
    [{ schema: [] }, "invalid_parameter", "/schema"],
    [{ schema: { item: { features: [{ name: "a", type: "Text" }] } } }, "invalid_parameter", "/schema/item/features"],
    [{ train_schedule: "never" }, "invalid_parameter", "/train_schedule"],
    [{ objective: { coverage_min: 2 } }, "invalid_parameter", "/objective/coverage_min"],
    [{ connector_configs: [] }, "invalid_parameter", "/connector_configs"],
    [
      { connector_configs: [{ type: "Postgres", location: "postgres://r:***@h/d" }] },
      "invalid_parameter",
      "/connector_configs/0/location",
    ],
  ])("%j is refused", async (body, code, pointer) => {
    await harness.create("patched", "publish v1");
    const answer = await harness.call("PATCH", "/v0/models/patched", { body });
    expect(answer).toMatchObject({ status: 400, body: { code, errors: [{ pointer }] } });
  });
  test("every fault of the result is reported, unknown fields included", async () => {
    await harness.create("twofold", "publish v1");
    const body = { schema: { itm: {}, interaction: { source: null } } };
    const { body: problem } = await harness.call("PATCH", "/v0/models/twofold", { body });
    const codes = (problem as { errors: { code: string }[] }).errors.map(({ code }) => code);
    expect(codes.sort()).toEqual(["missing_field", "unknown_field"]);
  });
  test("a Rating label can be changed to Binary and back", async () => {
    const name = "relabelled";
    await harness.create(name, "publish v1");
    const relabel = async (label: object) => {
      const { status, body } = await harness.call("PATCH", `/v0/models/${name}`, {
        body: { schema: { interaction: { label } } },
      });
      return [status, body.label ?? body.detail];
    };
    const rating = { type: "Rating", positive_from: 4 };
    expect(await relabel(rating)).toEqual([200, { ...rating, name: "label" }]);
    const binary = { type: "Binary", positive_from: null };
    expect(await relabel(binary)).toEqual([200, { type: "Binary", name: "label" }]);
  });
  test("a field that is absent may be removed", async () => {
    await harness.create("bare", "publish v1");
    const answer = await harness.call("PATCH", "/v0/models/bare", { body: { schema: { user: { features: null } } } });
    expect(answer.status).toBe(200);
  });
});

test("calls that need no body refuse one", async () => {
  await harness.create("bodiless", "publish v1");
  await harness.until("bodiless", ({ status }) => status === "ACTIVE");
  const answer = await harness.call("POST", "/v0/models/bodiless/train", { body: { force: true } });
  expect(answer).toMatchObject({ status: 400, body: { code: "unknown_field" } });
  expect((await harness.call("POST", "/v0/models/bodiless/train", { body: {} })).status).toBe(202);
});

describe("unknown query parameters", () => {
  beforeAll(async () => {
    await harness.create("queried", "publish v1");
    await harness.until("queried", ({ status }) => status === "ACTIVE");
  });

  test.each([
    ["GET", "/v0/models/queried"],
    ["PATCH", "/v0/models/queried", { train_schedule: "@daily" }],
    ["DELETE", "/v0/models/queried"],
    ["POST", "/v0/models/queried/train"],
    ["GET", "/v0/models/queried/versions"],
    ["GET", "/v0/models/queried/runs"],
    ["POST", "/v0/models/queried/versions/v1/activate"],
    ["GET", "/v0/models/queried/evaluation"],
    ["POST", "/v0/models/queried/evaluation", { user_ids: ["ann"] }],
    ["DELETE", "/v0/users/zed"],
  ])("make %s %s fail without effect", async (method, path, body?: object) => {
    const before = (await harness.call("GET", "/v0/models/queried")).body;
    const answer = await harness.call(method, `${path}?dry_run=true`, { body });
    const errors = [expect.objectContaining({ pointer: "/dry_run", code: "unknown_field" })];
    expect(answer).toMatchObject({ status: 400, body: { code: "unknown_field", errors } });
    expect((await harness.call("GET", "/v0/models/queried")).body).toEqual(before);
    expect((await readErasedUsers(harness.store, "acme"))?.low ?? []).toHaveLength(0);
  });

  test.each([
    ["dry_run=false&dry_run=true", "invalid_parameter"],
    ["dry_run=true&dry_run=false", "invalid_parameter"],
    ["dryrun=true", "unknown_field"],
  ])("make a creation with ?%s fail", async (query, code) => {
    const answer = await harness.call("POST", `/v0/models?${query}`, { body: base() });
    expect(answer).toMatchObject({ status: 400, body: { code } });
    expect((await harness.call("GET", "/v0/models/refused")).status).toBe(404);
  });
});

test("a secret is in no answer, no record and no log line", async () => {
  const script = `progress TRAINING\nsay uses ${PLANTED}\nfail-saying ${PLANTED}`;
  const password = { env: "SHORTLIST_SECRET_SECRETIVE__DB" };
  const connector_configs = [{ type: "Postgres", location: "postgres://reader@db.example/shop", password }];
  const body = specOf("secretive", script, { connector_configs });
  const options = { body: { ...body, connector_configs }, customer: "secretive" };
  const answers = [await harness.call("POST", "/v0/models", options)];
  const until = await harness.until("secretive", ({ status }) => status === "ERROR", { customer: "secretive" });
  answers.push(await harness.call("GET", "/v0/models", { customer: "secretive" }));
  answers.push(await harness.call("POST", "/v0/models", { ...options, body: { ...options.body, extra: 1 } }));
  const record = await harness.call("GET", "/v0/models/secretive", { customer: "secretive" });
  const patch = { connector_configs: [{ ...connector_configs[0], password: PLANTED }] };
  answers.push(record, await harness.call("PATCH", "/v0/models/secretive", { body: patch, customer: "secretive" }));
  expect(until.failure).toMatchObject({ code: "said", message: "It failed with ***." });
  // The query, which has this test's script, is shown as the customer wrote it.
  const shown = JSON.stringify([answers.map(({ body }) => body), until, harness.logs]).replaceAll(
    JSON.stringify(script),
    "",
  );
  expect(shown).not.toMatch(/planted/);
  expect(shown).toContain("uses ***");
});
