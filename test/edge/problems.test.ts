/** Provokes every problem that a real edge can answer with. The other problems are the trainer's. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { livePointerKey } from "../../shared/manifest.ts";
import { PROBLEMS, type ProblemCode } from "../../shared/problem.ts";
import { setStatus } from "../../trainer/store/live-pointer-swap.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

const OF_THE_TRAINER: readonly ProblemCode[] = [
  "version_not_found",
  "batch_not_found",
  "experiment_running",
  "experiment_too_large",
  "model_exists",
  "model_busy",
  "too_many_scenarios",
  "precondition_failed",
  "idempotency_conflict",
  "quota_exceeded",
];
const RANK = "/v0/models/shop/rank";

let edge: EdgeWorld;
let single: EdgeWorld; // one rank call at a time
beforeAll(async () => {
  [edge, single] = await Promise.all([
    startEdge({ vars: { READ_TIMEOUT_MS: 200, EVENTS_TIMEOUT_MS: 200, ITEMS_TIMEOUT_MS: 200 } }),
    startEdge({ vars: { CONCURRENT_RANKS_MAX: 1, READ_TIMEOUT_MS: 5000 }, rateLimit: { limit: 20, period: 60 } }),
  ]);
  await Promise.all([edge.publish(), single.publish()]);
});
afterAll(() => Promise.all([edge?.stop(), single?.stop()]));

const body = (value: unknown) => edge.call(RANK, { body: value });
const PROVOKED: Partial<Record<ProblemCode, () => Promise<Response>>> = {
  invalid_json: () => body("{"),
  invalid_parameter: () => body({ user_id: true }),
  missing_field: () => body({ interactions: [{}] }),
  unknown_field: () => body({ limt: 1 }),
  limit_out_of_range: () => body({ limit: 501 }),
  too_many_interactions: () => body({ interactions: Array(501).fill({ item_id: "i1" }) }),
  invalid_filter: () => body({ retrieval: [] }),
  unknown_attribute: () => body({ retrieval: { colour: "red" } }),
  filter_type_mismatch: () => body({ retrieval: { price: "cheap" } }),
  filter_too_large: () => body({ retrieval: { price: { $in: Array(1001).fill(1) } } }),
  missing_api_key: () => edge.call(RANK, { key: null }),
  invalid_api_key: () => edge.call(RANK, { key: "junk" }),
  insufficient_scope: async () => edge.call(RANK, { key: (await edge.issueKey({ scopes: ["manage"] })).key }),
  async origin_not_allowed() {
    const webPages = { origins: ["https://shop.example"], signsUsers: false };
    return edge.call(RANK, { key: (await edge.issueKey({ webPages })).key });
  },
  async invalid_user_signature() {
    const webPages = { origins: ["https://shop.example"], signsUsers: true };
    const { key } = await edge.issueKey({ webPages });
    return edge.call(`${RANK}?user_id=ann`, { key, headers: { origin: "https://shop.example" } });
  },
  model_not_found: () => edge.call("/v0/models/nothing/rank"),
  item_not_found: () => edge.call("/v0/models/shop/similar_items?item_id=nothing"),
  experiment_not_found: () => edge.call("/v0/models/shop/experiment"),
  scenario_not_found: () => edge.call(`${RANK}?scenario=home`),
  not_found: () => edge.call("/nothing"),
  method_not_allowed: () => edge.call(RANK, { method: "DELETE" }),
  async model_not_active() {
    const model = { customer: "acme", modelName: "young" };
    await setStatus(edge.store, model, { status: "TRAINING", nowMs: Date.now() });
    return edge.call("/v0/models/young/rank");
  },
  body_too_large: () => body(" ".repeat(70_000)),
  uri_too_long: () => edge.call(`${RANK}?user_id=${"x".repeat(9000)}`),
  unsupported_media_type: () => edge.call(RANK, { body: "{}", headers: { "content-type": "text/plain" } }),
  async rate_limited() {
    const { key } = await single.issueKey();
    const call = () => single.call("/v0/models/nothing/rank", { key });
    let answer = await call();
    for (let calls = 1; calls <= 40 && answer.status !== 429; calls++) answer = await call(); // a new minute may begin meanwhile
    return answer;
  },
  async internal() {
    const broken = await startEdge({ vars: { TRAINER_URL: "nowhere" } });
    const answer = await broken.call(RANK);
    const copy = new Response(await answer.text(), answer);
    await broken.stop();
    return copy;
  },
  async artifact_unavailable() {
    await edge.publish({ modelName: "torn" });
    const key = livePointerKey("acme", "torn");
    await edge.store.delete(key);
    await edge.store.putIfAbsent(key, new TextEncoder().encode("{"), "application/json");
    return edge.call("/v0/models/torn/rank");
  },
  async user_record_unavailable() {
    await edge.call(RANK);
    await edge.inject({ keys: "/blobs/", kind: "error" });
    const answer = await edge.call(`${RANK}?user_id=ann`);
    await edge.inject(undefined);
    return answer;
  },
  async events_unavailable() {
    await edge.inject({ keys: "shard:", kind: "error" });
    const answer = await edge.call("/v0/events", {
      body: { events: [{ user_id: "ann", item_id: "i1", type: "view" }] },
    });
    await edge.inject(undefined);
    return answer;
  },
  async items_unavailable() {
    await edge.inject({ keys: "items:", kind: "error" });
    const answer = await edge.call("/v0/models/shop/items", {
      method: "PATCH",
      body: { items: [{ item_id: "i1", hidden: true }] },
    });
    await edge.inject(undefined);
    return answer;
  },
  trainer_unavailable: () => edge.call("/v0/models"),
  async overloaded() {
    const { key } = await single.issueKey();
    await single.call(RANK, { key });
    await single.inject({ keys: "/live.json", kind: "slow" });
    const answers = await Promise.all([1, 2, 3].map(() => single.call(RANK, { key })));
    await single.inject(undefined);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 503, 503]);
    return answers.find(({ status }) => status === 503)!;
  },
};

test("every code is either provoked here or the trainer's", () => {
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  expect(codes.filter((code) => !(code in PROVOKED) && !OF_THE_TRAINER.includes(code))).toEqual([]);
});
test.each(Object.keys(PROVOKED) as ProblemCode[])("%s", async (code) => {
  const answer = await PROVOKED[code]!();
  const text = await answer.text();
  const { status, title } = PROBLEMS[code];
  expect(JSON.parse(text)).toMatchObject({
    code,
    status,
    title,
    request_id: expect.any(String),
    errors: expect.any(Array),
  });
  expect(answer.status).toBe(status);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("x-request-id")).toBe(JSON.parse(text).request_id);
  if (status === 503 || status === 429 || code === "model_not_active")
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(text).not.toMatch(/\bat \w+ \(|\.ts:|\.js:|node_modules|SELECT /); // no stack trace, no SQL
});
