/** Random requests made from /v0/openapi.json alone, to a real edge with a real trainer: every answer is documented there. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FuzzWorld, startFuzzWorld } from "../fixtures/fuzz-world.ts";
import { answerChecker, describedRequests, type OpenApi } from "../fixtures/openapi-calls.ts";
import { specOf } from "../fixtures/trainer-spec.ts";

const SEED = 7;
const REQUESTS = 300;
const AT_ONCE = 12;
const DRAWN = ["drawn-1", "drawn-2", "drawn-3"];

/** Calls that need data which random requests do not have: a version, a report, an item. */
const WITHOUT_DATA = [
  ...["activateVersion", "viewEvaluation", "evaluateGiven", "similarByQuery", "similarByBody"],
  ...["putExperiment", "viewExperiment", "endExperiment"], // in experiment.test.ts
  ...["createBatch", "viewBatch", "stopBatch"], // in clients.test.ts
];

let world: FuzzWorld;
let api: OpenApi;
beforeAll(async () => {
  world = await startFuzzWorld(SEED);
  const { edge } = world.service;
  api = (await (await edge.call("/v0/openapi.json", { key: null })).json()) as OpenApi;
  // A model that management knows and that has a version.
  expect((await edge.call("/v0/models", { key: world.key, body: specOf("managed", "publish v1") })).status).toBe(201);
});
afterAll(() => world?.stop());

test(`${REQUESTS} random requests: no undocumented status, type, body or header`, { timeout: 180_000 }, async () => {
  const { edge, trainer } = world.service;
  const requests = describedRequests(api, {
    seed: SEED,
    known: {
      model_name: ["texts", "numbers", "managed", ...DRAWN, world.othersModel],
      item_id: ["it1", "2"],
      version: ["v1", "20260101T000000000Z-00000000"],
      user_id: ["ann", "7", "Zoë 😀"],
    },
    keys: [world.key, world.rankOnlyKey, undefined, "junk"],
    bodies: {
      createModel: DRAWN.map((name) => specOf(name, "refuse")),
      trainModel: [{}],
      changeModel: [{ train_schedule: "@hourly" }, { schema: { item: { id: "sku" } } }],
      rankByBody: [
        { user_id: "ann", limit: 3 },
        { interactions: [{ item_id: "it1" }], retrieval: { price: { $gte: 0 } } },
      ],
      changeItems: [{ items: [{ item_id: "it1", attributes: { price: 3 }, hidden: false }] }],
      postEvents: [{ events: [{ user_id: "ann", item_id: "it1", type: "view", value: 2 }] }],
    },
  });
  const faultOf = answerChecker(api);
  const faults: string[] = [];
  const seen = new Map<string, Set<number>>();
  let begun = 0;
  const lane = async () => {
    while (begun++ < REQUESTS) {
      const { value: one } = requests.next();
      if (one === undefined) return;
      const { operationId, method, path, headers, body } = one;
      const answer = await fetch(`${edge.workerUrl}${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
      });
      const fault = faultOf(one, { status: answer.status, headers: answer.headers, text: await answer.text() });
      if (fault !== undefined) faults.push(`${method} ${path} ${(body ?? "").slice(0, 300)}: ${fault}`);
      seen.set(operationId, (seen.get(operationId) ?? new Set()).add(answer.status));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  // A model in training refuses another training. If every random call met one, a further call is repeated until it is accepted.
  expect((await edge.call("/v0/models", { key: world.key, body: specOf("late", "publish v1") })).status).toBe(201);
  seen.get("createModel")!.add(201);
  for (const deadlineMs = performance.now() + 60_000; !seen.get("trainModel")?.has(202); ) {
    expect(performance.now()).toBeLessThan(deadlineMs);
    const answer = await edge.call("/v0/models/late/train", { method: "POST", key: world.key });
    const view = { template: "/v0/models/{model_name}/train", method: "POST" };
    const fault = faultOf(view, { status: answer.status, headers: answer.headers, text: await answer.text() });
    if (fault !== undefined) faults.push(`POST /v0/models/late/train: ${fault}`);
    seen.get("trainModel")!.add(answer.status);
    await new Promise((done) => setTimeout(done, 100));
  }
  // Random calls may all meet models that other lanes have deleted, so one more of each is sent to an existing model.
  const succeeds = async (operationId: string, method: string, path: string, body?: object) => {
    const answer = await edge.call(path, { method, key: world.key, ...(body && { body }) });
    expect([operationId, [200, 202].includes(answer.status)]).toEqual([operationId, true]); // 202: a model still trains
    const template = path
      .replace(/models\/\w+/, "models/{model_name}")
      .replace(/users\/[^/]+/, "users/{user_id}")
      .replace(/items\/\w+/, "items/{item_id}")
      .replace("/home", "/{scenario_name}");
    const view = { template: template.split("?", 1)[0]!, method };
    const fault = faultOf(view, { status: answer.status, headers: answer.headers, text: await answer.text() });
    if (fault !== undefined) faults.push(`${method} ${path}: ${fault}`);
    seen.get(operationId)!.add(answer.status);
  };
  await succeeds("changeModel", "PATCH", "/v0/models/late", { train_schedule: "@hourly" });
  await succeeds("listModels", "GET", "/v0/models");
  await succeeds("listRuns", "GET", "/v0/models/late/runs");
  await succeeds("viewModel", "GET", "/v0/models/late");
  await succeeds("listVersions", "GET", "/v0/models/late/versions");
  const scenarios = "/v0/models/late/scenarios";
  await succeeds("storeScenario", "PUT", `${scenarios}/home`, { limit: 3, max_per_value: { category: 1 } });
  await succeeds("viewScenario", "GET", `${scenarios}/home`);
  await succeeds("listScenarios", "GET", scenarios);
  await succeeds("deleteScenario", "DELETE", `${scenarios}/home`);
  await succeeds("postEvents", "POST", "/v0/events", { events: [{ user_id: "ann", item_id: "it1", type: "view" }] });
  await succeeds("viewUserEvents", "GET", "/v0/users/Zo%C3%AB/events");
  const change = { items: [{ item_id: "it1", attributes: { price: 3 }, hidden: true }] };
  await succeeds("changeItems", "PATCH", "/v0/models/texts/items", change);
  await succeeds("listItems", "GET", "/v0/models/texts/items?changed=true&limit=3");
  await succeeds("viewItem", "GET", "/v0/models/texts/items/it1");
  await succeeds("changeItems", "PATCH", "/v0/models/texts/items", { items: [{ item_id: "it1", hidden: false }] });
  await succeeds("viewLive", "GET", "/v0/live");
  await succeeds("viewHealth", "GET", "/v0/health");
  await succeeds("rankByQuery", "GET", "/v0/models/texts/rank?user_id=ann&limit=3");
  await succeeds("rankByBody", "POST", "/v0/models/texts/rank", { user_id: "ann", limit: 3 });
  await succeeds("similarByQuery", "GET", "/v0/models/texts/similar_items?item_id=it1&return=scores,metadata,reasons");
  await succeeds("similarByBody", "POST", "/v0/models/texts/similar_items", { item_id: "it1", diversity: 0.5 });
  await succeeds("deleteModel", "DELETE", "/v0/models/late");
  expect(faults.slice(0, 10)).toEqual([]);
  expect([...seen.keys()].sort()).toEqual(
    Object.values(api.paths)
      .flatMap((all) => Object.values(all).map(({ operationId }) => operationId))
      .sort(),
  );
  // The random requests are good enough: each call also succeeded, except those without data.
  const never = [...seen].filter(([, statuses]) => ![...statuses].some((status) => status < 300)).map(([id]) => id);
  expect(never.filter((id) => !WITHOUT_DATA.includes(id))).toEqual([]);
  const failed = trainer.logs.filter(({ event }) => event === "request_failed").map(({ error }) => String(error));
  // Runs here only claim to train, and concurrent dry runs beyond the limit are answered with 503.
  const isMeant = (error: string) => /version v1 is not there|dry runs are in progress/.test(error);
  expect(failed.filter((error) => !isMeant(error))).toEqual([]);
});

test("the checker finds undocumented answers", () => {
  const faultOf = answerChecker(api);
  const view = { template: "/v0/models/{model_name}/rank", method: "GET" };
  const names = [
    "x-request-id",
    "x-rank-id",
    "x-model-version",
    "x-rank-strategy",
    "x-ignored-interactions",
    "server-timing",
  ];
  const right = { "content-type": "application/json", ...Object.fromEntries(names.map((name) => [name, "x"])) };
  const judge = (status: number, text: string, headers: Record<string, string> = right) =>
    faultOf(view, { status, text, headers: new Headers(headers) });
  expect(judge(200, '["a",1]')).toBeUndefined();
  expect(judge(418, "{}")).toMatch("418 is not described");
  expect(judge(200, "[]", { ...right, "content-type": "text/html" })).toMatch("text/html");
  expect(judge(200, "[1.5]")).toMatch("not as described");
  expect(judge(200, "[]", { "content-type": "application/json" })).toMatch("is missing");
  expect(judge(404, '{"code":"made_up"}', { "content-type": "application/problem+json" })).toMatch("not as described");
  const busy = { "content-type": "application/problem+json", "retry-after": "soon" };
  const body = {
    type: "x",
    title: "x",
    status: 503,
    detail: "x",
    code: "overloaded",
    request_id: "r",
    errors: [],
    error: "x",
  };
  expect(judge(503, JSON.stringify(body), busy)).toMatch("retry-after is soon");
});
