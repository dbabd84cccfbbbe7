/** The calls on scenarios and evaluations on the real runtimes, with the examples of the OpenAPI document. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ScenarioAnswer } from "../../shared/evaluation-report.ts";
import type { ModelRecord } from "../../shared/model-record.ts";
import { answerChecker, type OpenApi } from "../fixtures/openapi-calls.ts";
import { twoTastes } from "../fixtures/two-tastes.ts";
import { startWholeService, type WholeService } from "../fixtures/whole-service.ts";

const TIMEOUT = 240_000;
const ITEMS = 40;
const MODEL = "/v0/models/{model_name}";
const EVALUATION = `${MODEL}/evaluation`;
const SCENARIO = `${MODEL}/scenarios/{scenario_name}`;

let folder: string;
let service: WholeService;
let api: OpenApi;
let key: string;
const writeItems = (columns: string, valuesOf: (item: number) => string) =>
  writeFile(
    join(folder, "items.csv"),
    [`item_id,${columns}`, ...Array.from({ length: ITEMS }, (_, item) => `i${item},${valuesOf(item)}`)].join("\n"),
  );
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "scenario-evaluation-"));
  const data = twoTastes({ users: 200, items: ITEMS, perUser: 8 });
  const rows = ["user_id,item_id,at,label"];
  for (let user = 0; user < data.userCount; user++)
    for (let row = data.userStart[user]!; row < data.userStart[user + 1]!; row++)
      rows.push(`u${user},i${data.items[row]!},${data.times[row]},1`);
  await writeFile(join(folder, "clicks.csv"), rows.join("\n"));
  await writeItems("category,brand,stock,sale", (item) =>
    [["lamps", "rugs"][item % 2], `brand${item % 5}`, item % 3 > 0, item % 7 === 0].join(","),
  );
  service = await startWholeService({
    realRuns: true,
    environment: {
      SHORTLIST_FILE_ROOTS: JSON.stringify({ acme: [folder] }),
      SHORTLIST_FIT_SECONDS: "3", // a busy machine may not even rank by popularity within 1
      SHORTLIST_RETRY_SECONDS: "1",
      SHORTLIST_IGNORE_GATE: "true",
    },
  });
  key = (await service.edge.issueKey({ customer: "acme" })).key;
  api = (await (await service.edge.call("/v0/openapi.json", { key: null })).json()) as OpenApi;
  expect((await create("shop")).status).toBe(201);
  await trained("shop", null);
}, TIMEOUT);
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

const create = (model_name: string) =>
  service.edge.call("/v0/models", {
    key,
    body: {
      model_name,
      connector_configs: [{ type: "File", location: join(folder, "*.csv") }],
      schema: {
        user: { id: "user_id" },
        item: { id: "item_id", source: { query: "SELECT * FROM items" } },
        interaction: {
          created_at: "at",
          label: { type: "Binary", name: "label" },
          source: { query: "SELECT * FROM clicks" },
        },
      },
    },
  });
const trained = (name: string, before: string | null): Promise<ModelRecord> =>
  service.trainer.until(
    name,
    ({ version, failure, scenario_problems, training }) => {
      if (training.state === "FAILED") throw new Error(failure!.message);
      return version !== before && scenario_problems !== null;
    },
    {},
    TIMEOUT,
  );

/** Sends a described call, and requires an answer that is described too. */
async function call(method: string, template: string, body?: unknown, names = { model: "shop", scenario: "home" }) {
  const path = template.replace("{model_name}", names.model).replace("{scenario_name}", names.scenario);
  const answer = await service.edge.call(path, { method, key, ...(body === undefined ? {} : { body }) });
  const text = await answer.text();
  const fault = answerChecker(api)({ template, method }, { status: answer.status, headers: answer.headers, text });
  expect(fault, `${method} ${path} ${JSON.stringify(body)}`).toBeUndefined();
  return { status: answer.status, body: JSON.parse(text) as Record<string, unknown> };
}
const bodySchema = (template: string, method: string) =>
  api.paths[template]![method]!.requestBody!.content["application/json"]!.schema as { readonly examples: unknown[] };

test("every example of a scenario and of an evaluation is accepted and measured", { timeout: TIMEOUT }, async () => {
  for (const scenario of bodySchema(SCENARIO, "put").examples) {
    expect(await call("PUT", SCENARIO, scenario)).toMatchObject({ status: 200, body: scenario as object });
    const { status, body } = await call("POST", EVALUATION, { scenario: "home" });
    const { left_out, limit, lists, without, difference } = body as unknown as ScenarioAnswer;
    expect([status, left_out, limit]).toEqual([200, [], (scenario as { limit?: number }).limit ?? 15]);
    expect(lists).toBeGreaterThan(100);
    for (const name of ["ndcg", "recall", "coverage", "gini", "popularity_percentile"])
      for (const figures of [without, difference])
        expect(figures[`${name}@10`]!.low!, name).toBeLessThanOrEqual(figures[`${name}@10`]!.high!);
  }
  const questions = bodySchema(EVALUATION, "post").examples;
  expect(questions.length).toBeGreaterThan(2);
  for (const question of questions) expect((await call("POST", EVALUATION, question)).status).toBe(200);
});

test.each<[unknown, number, string]>([
  [{}, 400, "invalid_parameter"],
  [{ scenario: "home", user_ids: ["u1"] }, 400, "invalid_parameter"],
  [{ scenario: 7 }, 400, "invalid_parameter"],
  [{ scenario: { limit: 3 } }, 400, "invalid_parameter"],
  [{ scenarios: "home" }, 400, "unknown_field"],
  [{ scenario: "nothing" }, 404, "scenario_not_found"],
  [{ scenario: "a b" }, 404, "scenario_not_found"],
])("the evaluation question %j is refused, as the document says", async (question, status, code) => {
  expect(await call("POST", EVALUATION, question)).toMatchObject({ status, body: { code } });
  const isDescribed = new Ajv2020({ strict: false, validateFormats: false }).compile(bodySchema(EVALUATION, "post"));
  expect(isDescribed(question)).toBe(status === 404);
});

test("a model without a version, and a version without stored lists, cannot be measured", async () => {
  expect((await create("young")).status).toBe(201);
  const names = { model: "young", scenario: "home" };
  expect(await call("POST", EVALUATION, { scenario: "home" }, names)).toMatchObject({
    status: 409,
    body: { code: "model_not_active" },
  });
  await call("DELETE", MODEL, undefined, names);
  await service.edge.publish({ customer: "acme", modelName: "bare" });
  expect((await create("bare")).status).toBe(201);
  await service.trainer.until("bare", ({ version }) => version !== null);
  const bare = { model: "bare", scenario: "home" };
  await call("PUT", SCENARIO, { limit: 3 }, bare);
  const answer = await call("POST", EVALUATION, { scenario: "home" }, bare);
  expect([answer.status, answer.body.code]).toEqual([503, "artifact_unavailable"]);
});

test("a training without the attribute warns, the record lists it, and the evaluation leaves it out", {
  timeout: TIMEOUT,
}, async () => {
  await call("PUT", SCENARIO, {
    limit: 5,
    max_per_value: { brand: 1 },
    boosts: [{ retrieval: { sale: true }, by: 1 }],
  });
  const { version, scenario_problems } = await trained("shop", null);
  expect(scenario_problems).toEqual([]);
  await writeItems("category,maker", (item) => `${["lamps", "rugs"][item % 2]},brand${item % 5}`);
  expect((await call("POST", `${MODEL}/train`, {})).status).toBe(202);
  const record = await trained("shop", version);
  const places = ["/boosts/0/retrieval/sale", "/max_per_value/brand"];
  expect(record.scenario_problems).toEqual([
    { scenario: "home", problems: places.map((place) => expect.stringContaining(place)) },
  ]);
  const warning = record.data!.warnings.find((text) => text.includes('The scenario "home"'));
  for (const place of places) expect(warning).toContain(place);
  expect((await call("GET", MODEL)).body).toMatchObject({ scenario_problems: [{ scenario: "home" }] });
  const { body } = await call("POST", EVALUATION, { scenario: "home" });
  const { left_out, with: own, without } = body as unknown as ScenarioAnswer;
  expect(left_out).toEqual(places.map((place) => expect.stringContaining(place)));
  expect(own).toEqual(without);
  expect((await call("DELETE", SCENARIO)).status).toBe(200);
  expect((await call("GET", MODEL)).body.scenario_problems).toEqual([]);
});
