/** What rank calls answer beyond item ids, in a real workerd. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openApiDocument } from "../../edge/openapi.ts";
import { shopDataset } from "../fixtures/edge-shop.ts";
import { CACHING, type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: CACHING });
  await edge.publish();
  await edge.publish({ modelName: "numbers", dataset: shopDataset("integer") });
  await edge.publish({ modelName: "bare", dataset: { ...shopDataset(), itemAttributes: [] } });
});
afterAll(() => edge.stop());

type Ranked = {
  items: { item_id: unknown; score: number; metadata: unknown; reasons: { item_id: unknown; share: number }[] }[];
  [field: string]: unknown;
};
const RANK = "/v0/models/shop/rank";
const SIMILAR = "/v0/models/shop/similar_items";
const ask = async <Answer = string[]>(path: string, body?: object): Promise<Answer> => {
  const answer = await edge.call(path, body && { body });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"]);
  return (await answer.json()) as Answer;
};
const SESSION = [{ item_id: "i0" }, { item_id: "i5" }];
/** The fixture's model: how much an item of the history adds to an item's score. */
const added = (from: number, to: number) => 1 / (1 + Math.abs(from - to));

test("scores, metadata and reasons of a session", async () => {
  const body = { interactions: [...SESSION, { item_id: "x" }], limit: 3, return: ["scores", "metadata", "reasons"] };
  const { items, rank_id, version, ...rest } = await ask<Ranked>(RANK, body);
  expect([rank_id, version].every((name) => typeof name === "string")).toBe(true);
  expect(rest).toEqual({ strategy: "session", scenario: null, arm: null, ignored_interactions: 1, unknown_items: 0 });
  const all = [...Array(8).keys()].map((item) => added(0, item) + added(5, item));
  const mean = all.reduce((sum, score) => sum + score, 0) / 8;
  const deviation = Math.sqrt(all.reduce((sum, score) => sum + (score - mean) ** 2, 0) / 8);
  const best = [1, 4, 6];
  expect(items.map(({ item_id }) => item_id)).toEqual(best.map((item) => `i${item}`));
  for (const [at, item] of best.entries()) {
    expect(items[at]!.score).toBeCloseTo((all[item]! - mean) / deviation, 3);
    expect(items[at]!.metadata).toEqual({ category: item % 2 === 0 ? "shoes" : "hats", price: 10 * item });
    const shares = [0, 5].map((from) => ({
      item_id: `i${from}`,
      share: expect.closeTo(added(from, item) / all[item]!, 3),
    }));
    expect(items[at]!.reasons).toEqual(added(0, item) > added(5, item) ? shares : shares.reverse());
  }
});

test("a user's stored history gives reasons too, and ids keep their type", async () => {
  const path = "/v0/models/numbers/rank?user_id=ann&limit=1&return=reasons";
  const [first] = (await ask<Ranked>(path)).items;
  expect(first).toEqual({
    item_id: 102,
    reasons: [expect.objectContaining({ item_id: 101 }), expect.objectContaining({ item_id: 100 })],
  });
});

test("the history is what the list was computed from, newest first", async () => {
  const historyOf = async (path: string, body?: object) => (await ask<Ranked>(path, body)).history;
  expect(await historyOf("/v0/models/numbers/rank?user_id=ann&return=history")).toEqual([
    { item_id: 101, age_days: expect.any(Number) },
    { item_id: 100, age_days: expect.any(Number) },
  ]);
  const body = { user_id: "ann", interactions: [{ item_id: "i5" }], return: ["history", "metadata"] };
  const history = (await historyOf(RANK, body)) as { item_id: string; age_days: number }[];
  expect(history[0]).toEqual({ item_id: "i5", age_days: 0, metadata: { category: "hats", price: 50 } });
  expect(history.slice(1).map(({ item_id }) => item_id)).toEqual(["i1", "i0"]);
  expect(history[2]!.age_days).toBeGreaterThan(history[1]!.age_days);
  expect(await historyOf(`${RANK}?return=history`)).toEqual([]);
  expect(await historyOf(`${RANK}?user_id=ann&return=metadata`)).toBeUndefined();
});

test("popular answers have scores, and no reasons", async () => {
  const { items, strategy } = await ask<Ranked>(`${RANK}?return=scores,reasons&limit=2`);
  expect([strategy, items.map(({ reasons }) => reasons)]).toEqual(["popular", [[], []]]);
  expect(items[0]!.score).toBeGreaterThan(items[1]!.score);
});

test("an empty `return` gives an object with ids only; without it the answer is an array", async () => {
  expect((await ask<Ranked>(`${RANK}?return=&limit=1`)).items).toEqual([{ item_id: "i0" }]);
  const answer = await edge.call(`${RANK}?limit=1`);
  expect([await answer.text(), answer.headers.get("x-unknown-items")]).toEqual(['["i0"]', null]);
});

test("a version without attributes has empty metadata", async () =>
  expect((await ask<Ranked>("/v0/models/bare/rank?limit=1&return=metadata")).items).toEqual([
    { item_id: "i0", metadata: {} },
  ]));

test("given candidates are ranked, seen ones too, and unknown ones are counted", async () => {
  const answer = await edge.call(RANK, { body: { user_id: "ann", item_ids: ["i7", "i1", "x", "i3"] } });
  expect([await answer.json(), answer.headers.get("x-unknown-items")]).toEqual([["i1", "i3", "i7"], "1"]);
  expect(await ask(RANK, { user_id: "ann", item_ids: ["i7", "i1"], exclude_seen: true })).toEqual(["i7"]);
  expect(await ask(`${RANK}?user_id=ann&item_ids=i7,i1`)).toEqual(["i1", "i7"]);
});

describe("shaping", () => {
  const session = { interactions: [{ item_id: "i7" }] };
  test.each<[object, string[]]>([
    [{ limit: 3 }, ["i6", "i5", "i4"]],
    [{ limit: 3, max_per_value: { category: 1 } }, ["i6", "i5"]],
    [{ limit: 3, pinned: ["i0", "i7", "x"] }, ["i0", "i6", "i5"]],
    [{ limit: 3, boosts: [{ retrieval: { category: "hats" }, by: 5 }] }, ["i5", "i3", "i1"]],
    [{ limit: 3, boosts: [{ retrieval: { price: { $gt: 50 } }, by: -9 }] }, ["i5", "i4", "i3"]],
    [{ limit: 3, boosts: [{ attribute: "price", by: -9 }] }, ["i0", "i1", "i2"]],
    [{ limit: 2, diversity: 0.9 }, ["i6", "i5"]],
    [{ limit: 2, exploration: 1, seed: 3, retrieval: { price: { $lt: 50 } } }, ["i4", "i3"]],
  ])("%j", async (shaping, expected) => expect(await ask(RANK, { ...session, ...shaping })).toEqual(expected));

  test("caps and pins hold for popular answers", async () =>
    expect(await ask(RANK, { max_per_value: { category: 1 }, pinned: ["i3"] })).toEqual(["i3", "i0"]));

  test.each<[object, string]>([
    [{ max_per_value: { brand: 1 } }, "/max_per_value/brand"],
    [{ boosts: [{ retrieval: { brand: "a" }, by: 1 }] }, "/boosts/0/retrieval/brand"],
    [
      {
        boosts: [
          { retrieval: {}, by: 1 },
          { attribute: "brand", by: 1 },
        ],
      },
      "/boosts/1/attribute",
    ],
  ])("%j names an unknown attribute, which is refused before the user's record is read", async (body, pointer) => {
    await edge.reads();
    const answer = await edge.call(RANK, { body: { user_id: "bob", ...body } });
    const { code, errors } = (await answer.json()) as { code: string; errors: { pointer: string; message: string }[] };
    expect([answer.status, code, errors[0]!.pointer]).toEqual([400, "unknown_attribute", pointer]);
    expect(errors[0]!.message).toContain("category, price");
  });

  test.each<[object, string, string]>([
    [{ attribute: "category", by: 1 }, "filter_type_mismatch", "/boosts/0/attribute"],
    [{ attribute: "price", half_life_days: 7, by: 1 }, "filter_type_mismatch", "/boosts/0/attribute"],
    [{ attribute: "price", by: 11 }, "invalid_parameter", "/boosts/0/by"],
    [{ attribute: "price" }, "missing_field", "/boosts/0/by"],
    [{ attribute: "price", half_life_days: 0, by: 1 }, "invalid_parameter", "/boosts/0/half_life_days"],
    [{ retrieval: {}, attribute: "price", by: 1 }, "invalid_parameter", "/boosts/0/attribute"],
    [{ retrieval: {}, half_life_days: 7, by: 1 }, "invalid_parameter", "/boosts/0/half_life_days"],
    [{ by: 1 }, "missing_field", "/boosts/0/retrieval"],
    [{ attribute: 5, by: 1 }, "invalid_parameter", "/boosts/0/attribute"],
    [{ attribute: "price", half_life: 7, by: 1 }, "unknown_field", "/boosts/0/half_life"],
  ])("the boost %j is refused", async (boost, code, pointer) => {
    const answer = await edge.call(RANK, { body: { boosts: [boost] } });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code, errors: [{ pointer }] });
  });

  test("diversity needs attributes", async () => {
    const answer = await edge.call("/v0/models/bare/rank", { body: { diversity: 0.5 } });
    expect(await answer.json()).toMatchObject({ code: "unknown_attribute", errors: [{ pointer: "/diversity" }] });
  });
});

describe("similar items", () => {
  test("by query and by body, without the item itself", async () => {
    const answer = await edge.call(`${SIMILAR}?item_id=i3&limit=4`);
    expect(answer.headers.get("x-rank-strategy")).toBe("similar");
    const list = (await answer.json()) as string[];
    expect(list.slice(0, 2).sort()).toEqual(["i2", "i4"]);
    expect(list).not.toContain("i3");
    expect(await ask(SIMILAR, { item_id: "i3", limit: 4 })).toEqual(list);
  });
  test("a user's seen items are left out", async () =>
    expect(await ask(`${SIMILAR}?item_id=i5&user_id=7`)).toEqual(["i3"]));
  test("filters, caps and details work as for rank", async () => {
    const body = { item_id: "i3", retrieval: { category: "shoes" }, limit: 2, return: ["scores", "reasons"] };
    const { items, strategy } = await ask<Ranked>(SIMILAR, body);
    expect([strategy, items.map(({ item_id }) => item_id).sort()]).toEqual(["similar", ["i2", "i4"]]);
    expect(items[0]!.reasons).toEqual([{ item_id: "i3", share: 1 }]);
  });
});

type WithExamples = { readonly examples?: readonly unknown[] };
type Schema = { readonly properties: Readonly<Record<string, WithExamples>> };
type Operations = {
  readonly get: { readonly parameters: readonly { readonly name: string; readonly schema: WithExamples }[] };
  readonly post: { readonly requestBody: { readonly content: { "application/json": { readonly schema: Schema } } } };
};
test("every example of the published bodies and parameters is answered", async () => {
  const { paths } = openApiDocument() as { paths: Record<string, Operations> };
  let count = 0;
  /** A basket stands in place of an item. */
  const besides = (base: object, field: string) => (field === "item_ids" ? {} : base);
  for (const [path, base] of [
    [RANK, {}],
    [SIMILAR, { item_id: "i3" }],
  ] as const) {
    const { get, post } = paths[path.replace("shop", "{model_name}")]!;
    for (const { name, schema } of get.parameters)
      for (const example of schema.examples ?? []) {
        await ask(`${path}?${new URLSearchParams({ ...besides(base, name), [name]: String(example) })}`);
        count++;
      }
    const { properties } = post.requestBody.content["application/json"].schema;
    for (const [field, { examples = [] }] of Object.entries(properties))
      for (const example of field === "item_id" ? [] : examples) {
        await ask(path, { ...besides(base, field), [field]: example });
        count++;
      }
  }
  expect(count).toBeGreaterThan(10);
});
