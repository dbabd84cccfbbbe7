/**
 * The fields that say which list, and that know the caller, as a customer meets them: right, wrong and hostile, in calls and in stored
 * scenarios. What each field means is tested beside its code and in references, places, which-list and together.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AttributeColumn } from "../../shared/attributes.ts";
import { SHOP_ITEMS, shopDataset } from "../fixtures/edge-shop.ts";
import { CACHING } from "../fixtures/edge-world.ts";
import { startWholeService, type WholeService } from "../fixtures/whole-service.ts";

/** Item i is i degrees east of Greenwich on the equator, about 111 km each. */
const PLACES: AttributeColumn = {
  name: "place",
  type: "Location",
  lat: new Float64Array(SHOP_ITEMS),
  lon: Float64Array.from({ length: SHOP_ITEMS }, (_, item) => item),
};
/** Item i is on offer since i days. */
const LAUNCHED: AttributeColumn = {
  name: "launched",
  type: "Timestamp",
  values: Float64Array.from({ length: SHOP_ITEMS }, (_, item) => Date.now() / 1000 - 86_400 * item),
};

let service: WholeService;
beforeAll(async () => {
  service = await startWholeService({ edge: { vars: CACHING } });
  const dataset = shopDataset();
  const { version } = await service.edge.publish({
    dataset: { ...dataset, itemAttributes: [...dataset.itemAttributes, PLACES, LAUNCHED] },
    itemCreatedAt: "launched",
  });
  await service.trainer.create("shop", `publish ${version}`);
  await service.trainer.until("shop", (record) => record.version === version);
});
afterAll(() => service.stop());

const RANK = "/v0/models/shop/rank";
const SIMILAR = "/v0/models/shop/similar_items";
const SCENARIO = "/v0/models/shop/scenarios/home";
const everything = { limit: 8, seen: "include" };
async function call(path: string, body: object | string, method = "POST") {
  const answer = await service.edge.call(path, { method, body });
  const { headers, status } = answer;
  const [strategy, missing] = [headers.get("x-rank-strategy"), headers.get("x-missing-references")];
  return { status, strategy, missing, body: (await answer.json()) as string[] };
}
const near = (more: object) => ({ place: { $near: { lat: 0, lon: 3, km: 120, ...more } } });
const boost = (more: object) => ({ boosts: [{ by: 10, ...more }] });

test.each<[string, string, object, string[], object?]>([
  ["a value of the user", RANK, { user: { most: 15 }, retrieval: { price: { $lt: { $user: "most" } } } }, ["i0", "i1"]],
  [
    "a value of the call",
    RANK,
    { context: { kinds: ["hats"] }, retrieval: { category: { $in: { $context: "kinds" } }, price: { $lt: 15 } } },
    ["i1"],
  ],
  [
    "a name that every object has",
    RANK,
    { user: {}, retrieval: { category: { $user: "__proto__" } } },
    [],
    { missing: "$user.__proto__" },
  ],
  [
    "a name that every object has, as a value",
    RANK,
    JSON.parse('{"context": {"__proto__": 5}, "retrieval": {"price": {"$lt": {"$context": "__proto__"}}}}'),
    [],
    { missing: "$context.__proto__" },
  ],
  [
    "an item in a call that has none",
    RANK,
    { retrieval: { price: { $lt: { $item: "price" } } } },
    [],
    { missing: "$item.price" },
  ],
  [
    "the last item of a basket",
    SIMILAR,
    { item_ids: ["i6", "i2"], retrieval: { price: { $lt: { $item: "price" } } } },
    ["i0", "i1"],
  ],
  ["the highest price", RANK, { limit: 1, ...boost({ attribute: "price" }) }, ["i7"]],
  ["the youngest", RANK, { limit: 1, ...boost({ attribute: "launched", half_life_days: 1 }) }, ["i0"]],
  ["the nearest", RANK, { limit: 1, ...boost({ attribute: "place", near: { lat: 0, lon: 5 }, half_km: 50 }) }, ["i5"]],
  ["a place behind the other side of the world", RANK, { retrieval: near({ lon: -179.9 }) }, []],
  [
    "a circle around everything",
    RANK,
    { retrieval: near({ km: 20_038 }), limit: 2, item_ids: ["i7", "i1"] },
    ["i1", "i7"],
  ],
  ["popular items", RANK, { strategy: "popular", item_ids: ["i1"] }, ["i1"], { strategy: "popular" }],
  [
    "popular items where nothing is a trend",
    RANK,
    { strategy: "trending", item_ids: ["i1"] },
    ["i1"],
    { strategy: "popular" },
  ],
  ["the newest item", RANK, { strategy: "newest", limit: 1 }, ["i0"], { strategy: "newest" }],
  ["what nobody has chosen", RANK, { user_id: "nobody", seen: "only" }, []],
  ["what ann has chosen", RANK, { user_id: "ann", seen: "only" }, ["i0", "i1"]],
  ["a page beyond the end", RANK, { offset: 2000 }, []],
  ["a page beyond the end of what ann has chosen", RANK, { user_id: "ann", seen: "only", offset: 2 }, []],
  ["a page beyond the end of similar items", SIMILAR, { item_ids: ["i1", "i2"], offset: 2000 }, []],
  [
    "a basket that has an item twice, and unknown ones",
    SIMILAR,
    { item_ids: ["i1", "i1", "zz"], limit: 2 },
    ["i0", "i2"],
  ],
])("%s", async (_, path, body, expected, more = {}) => {
  const answer = await call(path, path === RANK ? { ...everything, ...body } : body);
  expect({ ...answer, body: [...answer.body].sort() }).toMatchObject({
    status: 200,
    missing: null,
    ...more,
    body: expected,
  });
});

const TO_REFERENCE = { $user: { $user: "u" } };
/** Fields that are refused in calls and, where they are fields of scenarios, when a scenario is stored. */
test.each<[object, string, string]>([
  [{ retrieval: { price: { $lt: TO_REFERENCE } } }, "invalid_filter", "/retrieval/price/$lt/$user"],
  [{ retrieval: { price: { $user: "u", $item: "price" } } }, "invalid_filter", "/retrieval/price/$item"],
  [{ retrieval: { price: { $user: "u", default: {} } } }, "invalid_filter", "/retrieval/price/default"],
  [{ retrieval: { $user: "u" } }, "invalid_filter", "/retrieval/$user"],
  [{ retrieval: { price: { $item: "__proto__" } } }, "unknown_attribute", "/retrieval/price/$item"],
  [{ pinned: [{ $user: "u" }] }, "invalid_parameter", "/pinned/0"],
  [{ limit: { $context: "n" } }, "limit_out_of_range", "/limit"],
  [{ diversity: { $context: "n" } }, "invalid_parameter", "/diversity"],
  [boost({ attribute: "__proto__" }), "unknown_attribute", "/boosts/0/attribute"],
  [boost({ attribute: { $user: "u" } }), "invalid_parameter", "/boosts/0/attribute"],
  [{ boosts: Array(11).fill({ attribute: "price", by: 1 }) }, "invalid_parameter", "/boosts"],
  [boost({ attribute: "launched", half_life_days: -1 }), "invalid_parameter", "/boosts/0/half_life_days"],
  [
    boost({ attribute: "launched", near: { lat: 0, lon: 0 }, half_km: 5 }),
    "filter_type_mismatch",
    "/boosts/0/attribute",
  ],
  [
    {
      retrieval: {
        place: {
          $near: {
            type: "Polygon",
            coordinates: [
              [
                [0, 0],
                [9, 0],
                [9, 9],
                [0, 0],
              ],
            ],
          },
        },
      },
    },
    "invalid_filter",
    "/retrieval/place/$near/type",
  ],
  [
    { retrieval: { place: { $near: { type: "Point", coordinates: [0, 0] } } } },
    "invalid_filter",
    "/retrieval/place/$near/type",
  ],
  [{ retrieval: near({ lat: -90.1 }) }, "invalid_filter", "/retrieval/place/$near/lat"],
  [{ retrieval: near({ lon: null }) }, "invalid_filter", "/retrieval/place/$near/lon"],
  [{ retrieval: near({ km: 1e9 }) }, "invalid_filter", "/retrieval/place/$near/km"],
  [{ retrieval: { place: { $within: { lat: 0 } } } }, "invalid_filter", "/retrieval/place/$within"],
  [{ retrieval: { place: { $elemMatch: near({}) } } }, "invalid_filter", "/retrieval/place/$elemMatch"],
  [{ strategy: ["popular"] }, "invalid_parameter", "/strategy"],
  [{ strategy: "constructor" }, "invalid_parameter", "/strategy"],
  [{ seen: true }, "invalid_parameter", "/seen"],
  [{ seen: "only", exclude_seen: true }, "invalid_parameter", "/seen"],
])("%j is refused, in calls and as a scenario", async (body, code, pointer) => {
  const refused = { status: 400, body: { code, errors: [{ pointer }] } };
  expect(await call(RANK, body)).toMatchObject(refused);
  expect(await call(SCENARIO, body, "PUT")).toMatchObject(refused);
});

test.each<[string, object, number, string, string]>([
  [SCENARIO, { offset: 5 }, 400, "unknown_field", "/offset"],
  [SCENARIO, { item_ids: ["i1"] }, 400, "unknown_field", "/item_ids"],
  [SCENARIO, { relation: "together" }, 400, "unknown_field", "/relation"],
  [RANK, { item_ids: ["i1"], relation: "together" }, 400, "unknown_field", "/relation"],
  [RANK, { offset: 2001 }, 400, "invalid_parameter", "/offset"],
  [SIMILAR, { item_id: "i1", seen: "only" }, 400, "unknown_field", "/seen"],
  [SIMILAR, { item_ids: ["i1"], relation: "instead" }, 400, "invalid_parameter", "/relation"],
  [SIMILAR, { item_ids: [] }, 400, "invalid_parameter", "/item_ids"],
  [SIMILAR, { item_ids: Array(21).fill("i1") }, 400, "invalid_parameter", "/item_ids"],
  [SIMILAR, { item_ids: [["i1"]] }, 400, "invalid_parameter", "/item_ids/0"],
  [SIMILAR, { item_id: "i1", item_ids: ["i2"] }, 400, "invalid_parameter", "/item_ids"],
])("%s: %j is refused", async (path, body, status, code, pointer) =>
  expect(await call(path, body, path === SCENARIO ? "PUT" : "POST")).toMatchObject({
    status,
    body: { code, errors: [{ pointer }] },
  }),
);

test("a basket of unknown ids is not found, and a number that JSON cannot hold is refused", async () => {
  for (const relation of ["similar", "together"])
    expect(await call(SIMILAR, { item_ids: ["zz", "__proto__"], relation })).toMatchObject({
      status: 404,
      body: { code: "item_not_found" },
    });
  for (const field of [
    '"boosts": [{"attribute": "price", "by": 1e999}]',
    '"context": {"most": 1e999}',
    '"offset": 1e999',
  ])
    expect((await call(RANK, `{${field}}`)).status).toBe(400);
});

test("a stored scenario with references is a rule for every caller, and never shows one caller's values to another", async () => {
  const scenario = {
    ...everything,
    retrieval: { price: { $lte: { $user: "most", default: 10 } }, ...near({ lon: { $context: "lon" } }) },
  };
  expect((await call(SCENARIO, scenario, "PUT")).status).toBe(200);
  const ofCaller = (body: object) => call(RANK, { scenario: "home", ...body });
  expect((await ofCaller({ user: { most: 70 }, context: { lon: 6 } })).body.sort()).toEqual(["i5", "i6", "i7"]);
  expect((await ofCaller({ context: { lon: 0 } })).body.sort()).toEqual(["i0", "i1"]); // the default
  expect(await ofCaller({ user: { most: 70 } })).toMatchObject({ status: 200, body: [], missing: "$context.lon" });
  expect(await ofCaller({ context: { lon: [6] } })).toMatchObject({ status: 400, body: { code: "invalid_filter" } });
  expect((await ofCaller({ strategy: "newest", context: { lon: 0 } })).body).toEqual(["i0", "i1"]);
});
