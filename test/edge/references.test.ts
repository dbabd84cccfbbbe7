/** References to the caller's values in filters, boosts and scenarios, in a real workerd. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AttributeColumn } from "../../shared/attributes.ts";
import { SHOP_ITEMS, shopDataset } from "../fixtures/edge-shop.ts";
import { CACHING } from "../fixtures/edge-world.ts";
import { startWholeService, type WholeService } from "../fixtures/whole-service.ts";

/** Item i is owned by the i-th user, and sold by the number i. */
const OWNERS = ["ann", "bob", "7", "zoe"];
const owner: AttributeColumn = {
  name: "owner",
  type: "Category",
  dictionary: OWNERS,
  start: Uint32Array.from({ length: SHOP_ITEMS + 1 }, (_, item) => Math.min(item, OWNERS.length)),
  codes: Uint32Array.from(OWNERS.keys()),
};
const seller: AttributeColumn = {
  name: "seller",
  type: "Numerical",
  values: Float64Array.from({ length: SHOP_ITEMS }, (_, item) => item),
};

let service: WholeService;
beforeAll(async () => {
  service = await startWholeService({ edge: { vars: CACHING } });
  const dataset = shopDataset();
  const { version } = await service.edge.publish({
    dataset: { ...dataset, itemAttributes: [...dataset.itemAttributes, owner, seller] },
  });
  await service.trainer.create("shop", `publish ${version}`);
  await service.trainer.until("shop", (record) => record.version === version);
});
afterAll(() => service.stop());

const RANK = "/v0/models/shop/rank";
const SIMILAR = "/v0/models/shop/similar_items";
const HOME = "/v0/models/shop/scenarios/home";
const call = async (path: string, body: object, method = "POST") => {
  const answer = await service.edge.call(path, { method, body });
  const json = (await answer.json()) as string[];
  return { status: answer.status, missing: answer.headers.get("x-missing-references"), body: json };
};
const hidesOwn = { owner: { $ne: { $user: "id" } } };
const all = ["i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"];
const without = (...ids: string[]) => all.filter((id) => !ids.includes(id));
const everything = { limit: 8, exclude_seen: false };

test.each<[string, object, string[], string | null]>([
  ["a user's own items are hidden", { user_id: "zoe", retrieval: hidesOwn }, without("i3"), null],
  ["without a user nothing passes", { retrieval: hidesOwn }, [], "$user.id"],
  ["the id is a number in a column of numbers", { user_id: "7", retrieval: { seller: { $user: "id" } } }, ["i7"], null],
  [
    "an id that is no number is none of them",
    { user_id: "zoe", retrieval: { seller: { $ne: { $user: "id" } } } },
    all,
    null,
  ],
  [
    "an attribute of the user",
    { user: { kind: "hats" }, retrieval: { category: { $user: "kind" } } },
    without("i0", "i2", "i4", "i6"),
    null,
  ],
  [
    "a list",
    { user: { gone: ["ann", "bob"] }, retrieval: { owner: { $nin: { $user: "gone" } } } },
    without("i0", "i1"),
    null,
  ],
  ["an empty list", { user: { gone: [] }, retrieval: { owner: { $nin: { $user: "gone" } } } }, all, null],
  [
    "the context",
    { context: { most: 20 }, retrieval: { price: { $lte: { $context: "most" } } } },
    ["i0", "i1", "i2"],
    null,
  ],
  ["a default", { context: {}, retrieval: { price: { $lt: { $context: "most", default: 15 } } } }, ["i0", "i1"], null],
  [
    "a value before the default",
    { context: { most: 5 }, retrieval: { price: { $lt: { $context: "most", default: 15 } } } },
    ["i0"],
    null,
  ],
  [
    "null is no value",
    { context: { most: null }, retrieval: { price: { $lt: { $context: "most" } } } },
    [],
    "$context.most",
  ],
  [
    "a name of every object",
    { user: {}, retrieval: { owner: { $ne: { $user: "constructor" } } } },
    [],
    "$user.constructor",
  ],
  ["an item where none is asked for", { retrieval: { price: { $gt: { $item: "price" } } } }, [], "$item.price"],
  [
    "names as in addresses, each once",
    { retrieval: { $or: [{ owner: { $user: "Größe, a" } }, { owner: { $user: "Größe, a" } }, { price: 0 }] } },
    ["i0"],
    "$user.Gr%C3%B6%C3%9Fe%2C%20a",
  ],
  [
    "a boost",
    { user: { kind: "hats" }, boosts: [{ retrieval: { category: { $user: "kind" } }, by: 5 }], limit: 4 },
    ["i1", "i3", "i5", "i7"],
    null,
  ],
  [
    "a boost whose value is missing",
    { boosts: [{ retrieval: { category: { $ne: { $user: "kind" } } }, by: 5 }], limit: 2 },
    ["i0", "i1"],
    "$user.kind",
  ],
])("%s", async (_, body, expected, missing) => {
  const answer = await call(RANK, { ...everything, ...body });
  expect([answer.status, answer.missing]).toEqual([200, missing]);
  expect([...answer.body].sort()).toEqual(expected);
});

test("similar items know the item that they are similar to", async () => {
  const cheaper = { price: { $lt: { $item: "price" } } };
  expect((await call(SIMILAR, { item_id: "i3", retrieval: cheaper })).body).toEqual(["i2", "i1", "i0"]);
  const sameOwner = { owner: { $item: "owner" } };
  expect(await call(SIMILAR, { item_id: "i6", retrieval: sameOwner })).toMatchObject({
    body: [],
    missing: "$item.owner",
  });
  expect(await call(SIMILAR, { item_id: "none", retrieval: cheaper })).toMatchObject({ status: 404 });
});

test.each<[string, object, string, string]>([
  [
    RANK,
    { user: { most: "x" }, retrieval: { price: { $lt: { $user: "most" } } } },
    "filter_type_mismatch",
    "/retrieval/price/$lt",
  ],
  [
    RANK,
    { boosts: [{ retrieval: { prize: { $user: "u" } }, by: 1 }] },
    "unknown_attribute",
    "/boosts/0/retrieval/prize",
  ],
  [RANK, { retrieval: { price: { $item: "prize" } } }, "unknown_attribute", "/retrieval/price/$item"],
  [SIMILAR, { item_id: "i1", retrieval: { price: { $item: "category" } } }, "filter_type_mismatch", "/retrieval/price"],
  [RANK, { user: { id: "zoe" } }, "invalid_parameter", "/user/id"],
  [RANK, { user: { a: {} } }, "invalid_parameter", "/user/a"],
  [RANK, { user: "zoe" }, "invalid_parameter", "/user"],
  [RANK, { context: { a: [[]] } }, "invalid_parameter", "/context/a/0"],
  [RANK, { context: { a: Array(101).fill(1) } }, "invalid_parameter", "/context/a"],
  [
    RANK,
    { context: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, i])) },
    "invalid_parameter",
    "/context",
  ],
  [RANK, { context: { a: "\ud800" } }, "invalid_parameter", "/context/a"],
])("%s %j is refused", async (path, body, code, pointer) => {
  expect(await call(path, body)).toMatchObject({ status: 400, body: { code, errors: [{ pointer }] } });
});

test("a scenario takes its values from the call", async () => {
  const scenario = {
    limit: 8,
    exclude_seen: false,
    retrieval: { ...hidesOwn, category: { $context: "kind", default: "hats" } },
  };
  expect(await call(HOME, scenario, "PUT")).toMatchObject({ status: 200, body: scenario });
  const rank = async (body: object) => (await call(RANK, { scenario: "home", ...body })).body.sort();
  expect(await rank({ user_id: "bob" })).toEqual(["i3", "i5", "i7"]);
  expect(await rank({ user_id: "ann", context: { kind: "shoes" } })).toEqual(["i2", "i4", "i6"]);
  expect(await call(RANK, { scenario: "home" })).toMatchObject({ status: 200, body: [], missing: "$user.id" });
  const wrong = await call(RANK, { scenario: "home", user_id: "ann", context: { kind: 5 } });
  expect(wrong).toMatchObject({
    status: 400,
    body: { code: "filter_type_mismatch", errors: [{ pointer: "/scenario/retrieval/category" }] },
  });
});

test.each<[object, string, string]>([
  [{ retrieval: { price: { $user: "u", default: "x" } } }, "filter_type_mismatch", "/retrieval/price"], // absent
  [{ retrieval: { price: { $item: "category" } } }, "filter_type_mismatch", "/retrieval/price"], // present
  [{ retrieval: { category: { $gt: { $item: "price" } } } }, "filter_type_mismatch", "/retrieval/category/$gt"], // present
  [{ boosts: [{ retrieval: { prize: { $user: "u" } }, by: 1 }] }, "unknown_attribute", "/boosts/0/retrieval/prize"],
  [{ user: { a: 1 } }, "unknown_field", "/user"],
  [{ context: { a: 1 } }, "unknown_field", "/context"],
])("the scenario %j is refused when it is stored", async (scenario, code, pointer) => {
  expect(await call(HOME, scenario, "PUT")).toMatchObject({ status: 400, body: { code, errors: [{ pointer }] } });
});
