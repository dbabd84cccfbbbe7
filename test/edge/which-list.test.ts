/** Which part of which list a call gets (`offset`, `seen`, `strategy`), on the real Worker: right, wrong and hostile. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AttributeColumn } from "../../shared/attributes.ts";
import { shopDataset } from "../fixtures/edge-shop.ts";
import { CACHING, type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: CACHING });
  await edge.publish();
});
afterAll(() => edge.stop());

const RANK = "/v0/models/shop/rank";
const SIMILAR = "/v0/models/shop/similar_items";
const listOf = async (body: object, path = RANK) => (await (await edge.call(path, { body })).json()) as string[];
const ofQuery = async (query: string, path = RANK) => (await (await edge.call(`${path}?${query}`)).json()) as string[];

test.each([
  [RANK, { user_id: "ann" }],
  [RANK, {}],
  [RANK, { interactions: [{ item_id: "i7" }], max_per_value: { category: 3 }, pinned: ["i2", "i4"] }],
  [RANK, { item_ids: ["i7", "i1", "i3", "i4", "i5"] }],
  [SIMILAR, { item_id: "i3" }],
])("%s: the pages of %j are its list", async (path, fields) => {
  const whole = await listOf({ ...fields, limit: 500 }, path);
  expect(whole.length).toBeGreaterThan(3);
  for (const limit of [1, 2, 3]) {
    const pages: string[] = [];
    for (let offset = 0; offset < whole.length; offset += limit)
      pages.push(...(await listOf({ ...fields, limit, offset }, path)));
    expect(pages).toEqual(whole);
  }
});

test("diversity and exploration: no item is on two pages, and all are on one", async () => {
  const fields = { diversity: 0.5, exploration: 0.3, limit: 3 };
  const pages = await Promise.all([0, 3, 6].map((offset) => listOf({ ...fields, offset })));
  expect(pages[0]).toEqual(await listOf(fields));
  expect(pages.flat().sort()).toEqual((await listOf({ limit: 500 })).sort());
});

test("an offset beyond the end is an empty list, also by GET and with details", async () => {
  expect(await listOf({ offset: 8 })).toEqual([]);
  expect(await ofQuery("offset=2000&limit=500")).toEqual([]);
  expect(await ofQuery("item_id=i3&offset=2000", SIMILAR)).toEqual([]);
  expect(await listOf({ user_id: "ann", offset: 2000, return: ["scores", "reasons", "metadata"] })).toMatchObject({
    items: [],
  });
  expect(await ofQuery("user_id=ann&limit=2&offset=2")).toEqual(["i4", "i5"]);
});

test("scores and reasons are those of the page's items", async () => {
  const fields = { user_id: "ann", return: ["scores", "reasons"] };
  const itemsOf = async (page: object) =>
    ((await listOf({ ...fields, ...page })) as unknown as { items: object[] }).items;
  expect(await itemsOf({ limit: 2, offset: 3 })).toEqual((await itemsOf({ limit: 5 })).slice(3));
});

test.each([-1, 2001, 1.5, 1e9, "3", null, true, [3], {}])("an offset of %j is refused", async (offset) => {
  for (const [path, more] of [
    [RANK, {}],
    [SIMILAR, { item_id: "i3" }],
  ] as const) {
    const answer = await edge.call(path, { body: { ...more, offset } });
    const problem = await answer.json();
    expect([answer.status, problem]).toEqual([
      400,
      expect.objectContaining({ code: "invalid_parameter", errors: [expect.objectContaining({ pointer: "/offset" })] }),
    ]);
  }
});
test.each(["-1", "2001", "1e2", "", "0x10", "03", "NaN"])("offset=%s is refused, never coerced", async (offset) => {
  const answer = await edge.call(`${RANK}?offset=${offset}`);
  expect([answer.status, await answer.json()]).toMatchObject([400, { errors: [{ pointer: "/offset" }] }]);
});

test.each([{ diversity: 0.5 }, { exploration: 0.1 }])(
  "with %j an offset between two pages is refused",
  async (shaping) => {
    const answer = await edge.call(RANK, { body: { ...shaping, limit: 3, offset: 4 } });
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      {
        code: "invalid_parameter",
        errors: [{ pointer: "/offset", message: expect.stringContaining("multiple of limit, 3") }],
      },
    ]);
  },
);

const EVENTS = { meanings: { buy: { label: true, seen: true } }, learnt: {} };
const buy = (user_id: string, ...items: string[]) =>
  edge.call("/v0/events", { body: { events: items.map((item_id) => ({ user_id, item_id, type: "buy" })) } });

test("seen: only what the user has chosen, of the version and since, the most often and latest first", async () => {
  await edge.publish({ modelName: "live", events: EVENTS });
  const path = "/v0/models/live/rank";
  expect(await listOf({ user_id: "new", seen: "only" }, path)).toEqual([]);
  await buy("new", "i5", "i2");
  await buy("new", "i5");
  expect(await listOf({ user_id: "new", seen: "only" }, path)).toEqual(["i5", "i2"]);
  expect(await ofQuery("user_id=new&seen=only&limit=1&offset=1", path)).toEqual(["i2"]);
  expect(await listOf({ user_id: "new", seen: "only", retrieval: { item_id: { $ne: "i5" } } }, path)).toEqual(["i2"]);
  expect(await listOf({ user_id: "new", seen: "only", item_ids: ["i1", "i2"] }, path)).toEqual(["i2"]);
  expect(await listOf({ user_id: "new", seen: "only", pinned: ["i2"] }, path)).toEqual(["i2", "i5"]);
  expect(await listOf({ user_id: "new" }, path)).not.toContain("i5");
  expect(await listOf({ user_id: "new", seen: "include" }, path)).toContain("i5");
  await edge.call("/v0/models/live/items", { method: "PATCH", body: { items: [{ item_id: "i5", hidden: true }] } });
  expect(await listOf({ user_id: "new", seen: "only" }, path)).toEqual(["i2"]);
});

test("seen: only has nothing that was never chosen, and has what the call says", async () => {
  expect(await listOf({ user_id: "ann", seen: "only", pinned: ["i3", "i7"] })).not.toContain("i3");
  const interactions = [{ item_id: "i4" }, { item_id: "i6" }, { item_id: "i4" }];
  expect(await listOf({ seen: "only", interactions })).toEqual(["i4", "i6"]);
  expect(await listOf({ seen: "only", interactions, pinned: ["i1", "i6"] })).toEqual(["i6", "i4"]);
  expect(await listOf({ seen: "only", interactions, pinned: ["i6"], item_ids: ["i4", "i5"] })).toEqual(["i6", "i4"]);
  expect(await listOf({ seen: "only", interactions, exploration: 1, diversity: 1, limit: 5 })).toHaveLength(2);
});

test("popular items, whoever asks, without what the user has seen", async () => {
  const answer = await edge.call(RANK, { body: { user_id: "ann", strategy: "popular", seen: "include" } });
  expect(answer.headers.get("x-rank-strategy")).toBe("popular");
  expect(await answer.json()).toEqual(await listOf({}));
  const own = await listOf({ user_id: "ann", strategy: "popular" });
  expect(own).toEqual((await listOf({})).filter((item) => own.includes(item)));
  expect(own.length).toBeLessThan((await listOf({})).length);
});

test.each([
  [{ seen: "all" }, "/seen"],
  [{ seen: "only", exclude_seen: true }, "/seen"],
  [{ seen: "exclude", exclude_seen: false }, "/seen"],
  [{ strategy: "best" }, "/strategy"],
])("%j is refused", async (fields, pointer) => {
  const answer = await edge.call(RANK, { body: fields });
  const { errors } = (await answer.json()) as { errors: { pointer: string }[] };
  expect([answer.status, errors[0]!.pointer]).toEqual([400, pointer]);
});
test("similar items have neither", async () => {
  for (const fields of [{ seen: "only" }, { strategy: "popular" }])
    expect((await edge.call(SIMILAR, { body: { item_id: "i1", ...fields } })).status).toBe(400);
});

test("the newest items first, with changed times, and items without a time last", async () => {
  const shop = shopDataset();
  const launched: AttributeColumn = {
    name: "launched",
    type: "Timestamp",
    values: Float64Array.of(5, 3, Number.NaN, 9, 1, 7, 2, 4).map((day) => 1_700_000_000 + 86_400 * day),
  };
  const dataset = { ...shop, itemAttributes: [...shop.itemAttributes, launched] };
  await edge.publish({ modelName: "dated", dataset, itemCreatedAt: "launched" });
  const path = "/v0/models/dated/rank";
  const answer = await edge.call(path, { body: { strategy: "newest" } });
  expect(answer.headers.get("x-rank-strategy")).toBe("newest");
  expect(await answer.json()).toEqual(["i3", "i5", "i0", "i7", "i1", "i6", "i4", "i2"]);
  const own = await listOf({ user_id: "ann", strategy: "newest" }, path);
  expect(own.slice(0, 2)).toEqual(["i3", "i5"]);
  expect(own).not.toContain("i0"); // ann has chosen it
  expect(await ofQuery("strategy=newest&limit=2&offset=1", path)).toEqual(["i5", "i0"]);
  const at = new Date(1e3 * (1_700_000_000 + 86_400 * 20)).toISOString();
  const items = [{ item_id: "i2", attributes: { launched: at } }];
  expect((await edge.call("/v0/models/dated/items", { method: "PATCH", body: { items } })).status).toBe(200);
  expect((await listOf({ strategy: "newest" }, path))[0]).toBe("i2");
});

test("a version without times of items has no newest ones", async () => {
  const answer = await edge.call(RANK, { body: { strategy: "newest" } });
  const { code, errors } = (await answer.json()) as { code: string; errors: { pointer: string; message: string }[] };
  expect([answer.status, code, errors[0]!.pointer]).toEqual([400, "invalid_parameter", "/strategy"]);
  expect(errors[0]!.message).toContain("schema.item.created_at");
});
