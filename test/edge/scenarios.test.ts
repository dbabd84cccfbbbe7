/** Scenarios through a real edge and a real trainer. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { openApiDocument } from "../../edge/openapi.ts";
import type { ModelRecord } from "../../shared/model-record.ts";
import { SCENARIOS_MAX, scenarioKey } from "../../shared/scenario.ts";
import { shopDataset } from "../fixtures/edge-shop.ts";
import { startWholeService, type WholeService } from "../fixtures/whole-service.ts";

let service: WholeService;
beforeAll(async () => {
  service = await startWholeService();
  const { version } = await service.edge.publish();
  await service.trainer.create("shop", `publish ${version}`);
  await service.trainer.until("shop", (record) => record.version === version);
});
afterAll(() => service.stop());

const HOME = "/v0/models/shop/scenarios/home";
const RANK = "/v0/models/shop/rank";
type Body = { readonly items: unknown };
type Fields = { readonly properties: Readonly<Record<string, { readonly examples?: readonly unknown[] }>> };
const call = async (method: string, path: string, body?: unknown, headers = {}) => {
  const answer = await service.edge.call(path, { method, body, headers });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Body };
};
const put = (scenario: object, headers = {}) => call("PUT", HOME, scenario, headers);
const rank = async (fields: object) => (await call("POST", RANK, { scenario: "home", ...fields })).body;

const problemsInRecord = async () =>
  ((await call("GET", "/v0/models/shop")).body as unknown as ModelRecord).scenario_problems;

test("a stored scenario is shown, listed, and gone after its deletion", async () => {
  const scenario = { limit: 3, retrieval: { category: "shoes" }, pinned: ["i4"] };
  const stored = await put(scenario);
  expect(stored).toMatchObject({ status: 200, body: scenario });
  const shown = await call("GET", HOME);
  expect([shown.body, shown.headers.get("etag")]).toEqual([scenario, stored.headers.get("etag")]);
  expect((await call("GET", "/v0/models/shop/scenarios")).body).toEqual({ scenarios: [{ name: "home" }] });
  expect(await rank({})).toEqual(["i4", "i0", "i2"]);
  expect(await call("DELETE", HOME)).toMatchObject({ status: 200, body: { name: "home" } });
  for (const [method, path] of [
    ["GET", HOME],
    ["DELETE", HOME],
    ["GET", `${RANK}?scenario=home`],
  ] as const)
    expect(await call(method, path)).toMatchObject({ status: 404, body: { code: "scenario_not_found" } });
});

test("its fields are defaults: those of the call win, and both filters must hold", async () => {
  await put({
    limit: 2,
    retrieval: { category: "shoes" },
    return: ["metadata"],
    max_per_value: { category: 1 },
    exclude_seen: false,
  });
  expect(await rank({})).toMatchObject({
    scenario: "home",
    items: [{ item_id: "i0", metadata: { category: "shoes" } }],
  });
  const fields = { limit: 9, return: [], max_per_value: {}, retrieval: { price: { $gt: 30 } } };
  expect((await rank(fields)).items).toEqual([{ item_id: "i4" }, { item_id: "i6" }]);
  const query = await call("GET", `${RANK}?scenario=home&limit=1&user_id=ann`);
  expect(query.body).toMatchObject({ items: [{ item_id: "i0" }], strategy: "personalized" });
  const similar = await call("GET", "/v0/models/shop/similar_items?item_id=i3&scenario=home");
  expect(similar.body).toMatchObject({ scenario: "home", items: [{ metadata: { category: "shoes" } }] });
});

test("it may preset which list is made, and the call's own fields about seen items win", async () => {
  const popular = ["i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"];
  await put({ strategy: "popular", exclude_seen: true });
  const own = (await rank({ user_id: "ann" })) as unknown as string[];
  expect(own).toEqual(popular.filter((item) => own.includes(item)));
  expect(own.length).toBeLessThan(popular.length);
  expect(await rank({ user_id: "ann", seen: "include" })).toEqual(popular);
  const chosen = (await rank({ user_id: "ann", seen: "only" })) as unknown as string[];
  expect(await rank({ user_id: "ann", strategy: "auto", return: [] })).toMatchObject({ strategy: "personalized" });

  await put({ seen: "only", strategy: "popular" });
  expect(await rank({ user_id: "ann" })).toEqual(chosen);
  expect((await call("GET", `${RANK}?scenario=home&user_id=ann`)).body).toEqual(chosen);
  expect(await rank({ user_id: "ann", exclude_seen: false })).toEqual(popular);
  expect(await rank({ user_id: "ann", seen: "exclude" })).toEqual(own);
  const similar = "/v0/models/shop/similar_items?item_id=i3&user_id=ann";
  await put({ seen: "include", strategy: "popular" });
  const all = (await call("GET", `${similar}&scenario=home`)).body as unknown as string[];
  expect(all).toEqual(expect.arrayContaining(chosen.filter((item) => item !== "i3")));
  await put({ seen: "exclude", strategy: "popular" });
  expect((await call("GET", `${similar}&scenario=home`)).body).toEqual((await call("GET", similar)).body);
  expect((await call("GET", similar)).body).not.toEqual(all);
});

test("every example of the published fields can be stored", async () => {
  const { paths } = openApiDocument() as { paths: Record<string, { put: { requestBody: unknown } }> };
  const { put: operation } = paths[HOME.replace("shop", "{model_name}").replace("home", "{scenario_name}")]!;
  const { content } = operation.requestBody as { content: Record<string, { schema: Fields }> };
  for (const [field, { examples = [] }] of Object.entries(content["application/json"]!.schema.properties))
    for (const example of examples) expect(await put({ [field]: example })).toMatchObject({ status: 200 });
  expect(await rank({ limit: 1 })).toHaveLength(1);
});

test.each<[unknown, number, string, string]>([
  [{ limit: 0 }, 400, "limit_out_of_range", "/limit"],
  [{ user_id: "ann" }, 400, "unknown_field", "/user_id"],
  [{ retrieval: { colour: "red" } }, 400, "unknown_attribute", "/retrieval/colour"],
  [{ boosts: [{ retrieval: { price: "cheap" }, by: 1 }] }, 400, "filter_type_mismatch", "/boosts/0/retrieval/price"],
  [{ max_per_value: { brand: 1 } }, 400, "unknown_attribute", "/max_per_value/brand"],
  [{ strategy: "newest" }, 400, "invalid_parameter", "/strategy"],
  [{ strategy: "best" }, 400, "invalid_parameter", "/strategy"],
  [{ seen: "only", exclude_seen: true }, 400, "invalid_parameter", "/seen"],
  [{ pinned: Array(21).fill("i1") }, 400, "invalid_parameter", "/pinned"],
])("%j is refused when it is stored", async (scenario, status, code, pointer) => {
  const answer = await put(scenario as object);
  expect(answer).toMatchObject({ status, body: { code, errors: [{ pointer }] } });
});

test("If-Match protects from a change by somebody else", async () => {
  const first = (await put({ limit: 1 })).headers.get("etag")!;
  expect(await put({ limit: 2 }, { "if-match": '"other"' })).toMatchObject({
    status: 412,
    body: { code: "precondition_failed" },
  });
  const second = await put({ limit: 2 }, { "if-match": first });
  expect(second.status).toBe(200);
  expect(await put({ limit: 3 }, { "if-match": first })).toMatchObject({ status: 412 });
  expect(await rank({})).toEqual(["i0", "i1"]);
});

test("a version that lacks an attribute answers without that part; a header and the model's record say so", async () => {
  const boosts = [
    { retrieval: { category: "hats" }, by: 9 },
    { retrieval: { price: { $gt: 65 } }, by: 5 },
  ];
  await put({ limit: 2, boosts, max_per_value: { category: 1 }, diversity: 0.1 });
  const [category] = shopDataset().itemAttributes;
  const { version } = await service.edge.publish({
    dataset: { ...shopDataset(), itemAttributes: [{ ...category!, name: "kind" }] },
  });
  await expect.poll(() => rank({})).toEqual(["i0", "i1"]); // the older version serves while this one loads
  const answer = await call("POST", RANK, { scenario: "home" });
  const problem = answer.headers.get("x-scenario-problem")!;
  const places = ["/boosts/0/retrieval/category", "/boosts/1/retrieval/price", "/max_per_value/category"];
  for (const place of places) expect(problem).toContain(place);

  expect(await problemsInRecord()).toEqual([]); // of the version that the trainer knows
  await call("PUT", "/v0/models/shop/scenarios/fits", { limit: 3 });
  const activated = await call("POST", `/v0/models/shop/versions/${version}/activate`, {});
  const problems = places.map((place) => expect.stringContaining(place));
  expect(activated).toMatchObject({ status: 200, body: { scenario_problems: [{ scenario: "home", problems }] } });
  const logged = service.trainer.logs.filter(({ event }) => event === "scenario_problem");
  expect(logged[0]).toMatchObject({ level: "warning", model_name: "shop", version, scenario: "home" });
  await put({ limit: 2, max_per_value: { kind: 1 } });
  expect(await problemsInRecord()).toEqual([]);
});

test("a model has a limited number of scenarios, and a name that none can have is unknown", async () => {
  const one = new TextEncoder().encode("{}");
  for (let i = 0; i < SCENARIOS_MAX; i++)
    await service.edge.store.putIfAbsent(scenarioKey("acme", "shop", `s${i}`), one, "application/json");
  const answer = await call("PUT", "/v0/models/shop/scenarios/more", {});
  expect(answer).toMatchObject({ status: 409, body: { code: "too_many_scenarios" } });
  expect(await call("PUT", "/v0/models/shop/scenarios/a%20b", {})).toMatchObject({ status: 404 });
});
