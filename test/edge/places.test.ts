/** Filters, boosts and changes of places, in a real workerd. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AttributeColumn } from "../../shared/attributes.ts";
import { checkFits } from "../../shared/scenario.ts";
import { SHOP_ITEMS, shopDataset } from "../fixtures/edge-shop.ts";
import { CACHING, type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { changedItem, writeChanges } from "../fixtures/item-changes.ts";

/** Item i is i degrees east of Greenwich on the equator, about 111 km each; the last has no place. */
const place: AttributeColumn = {
  name: "place",
  type: "Location",
  lat: Float64Array.from({ length: SHOP_ITEMS }, (_, item) => (item === 7 ? Number.NaN : 0)),
  lon: Float64Array.from({ length: SHOP_ITEMS }, (_, item) => item),
};

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: CACHING });
  const dataset = shopDataset();
  await edge.publish({ dataset: { ...dataset, itemAttributes: [...dataset.itemAttributes, place] } });
});
afterAll(() => edge.stop());

const call = async (body: object, kind = "rank") => {
  const answer = await edge.call(`/v0/models/shop/${kind}`, { body });
  return {
    status: answer.status,
    missing: answer.headers.get("x-missing-references"),
    body: (await answer.json()) as string[],
  };
};
const list = async (body: object, kind?: string) => (await call({ limit: 8, ...body }, kind)).body;
const near = (more: object) => ({ place: { $near: { lat: 0, lon: 3, km: 120, ...more } } });
const NEAR_CALLER = near({ lat: { $context: "lat" }, lon: { $context: "lon", default: 1 } });

test("a filter by distance, of constants and of the caller's place", async () => {
  expect((await list({ retrieval: near({}) })).sort()).toEqual(["i2", "i3", "i4"]);
  expect((await list({ retrieval: { place: { $not: near({}).place } } })).sort()).toEqual([
    "i0",
    "i1",
    "i5",
    "i6",
    "i7",
  ]);
  expect((await list({ retrieval: NEAR_CALLER, context: { lat: 0, lon: 6 } })).sort()).toEqual(["i5", "i6"]);
  expect((await list({ retrieval: NEAR_CALLER, context: { lat: 0 } })).sort()).toEqual(["i0", "i1", "i2"]);
  expect(await call({ retrieval: NEAR_CALLER })).toMatchObject({ body: [], missing: "$context.lat" });
});

test("items near the one that similar items are asked for", async () => {
  const retrieval = near({ lat: { $item: "place" }, lon: { $item: "place" } });
  expect((await list({ item_id: "i5", retrieval }, "similar_items")).sort()).toEqual(["i4", "i6"]);
  expect(await call({ item_id: "i7", retrieval }, "similar_items")).toMatchObject({ body: [], missing: "$item.place" });
});

test("a boost by nearness", async () => {
  const boost = { attribute: "place", near: { lat: 0, lon: 6 }, half_km: 200, by: 10 };
  expect((await list({ boosts: [boost] })).slice(0, 2)).toEqual(["i6", "i5"]);
  const caller = { ...boost, near: { lat: 0, lon: { $context: "lon" } } };
  expect((await list({ boosts: [caller], context: { lon: 5 } }))[0]).toBe("i5");
  const missing = await call({ limit: 8, boosts: [caller] });
  expect(missing).toMatchObject({ missing: "$context.lon", body: await list({}) });
});

test.each<[object, string, string]>([
  [
    { boosts: [{ attribute: "place", near: { lat: 0, lon: 200 }, half_km: 5, by: 1 }] },
    "invalid_filter",
    "/boosts/0/near/lon",
  ],
  [{ boosts: [{ attribute: "place", near: { lat: 0 }, half_km: 5, by: 1 }] }, "invalid_filter", "/boosts/0/near/lon"],
  [{ boosts: [{ attribute: "place", near: 5, half_km: 5, by: 1 }] }, "invalid_filter", "/boosts/0/near"],
  [{ boosts: [{ attribute: "place", near: { lat: 0, lon: 0 }, by: 1 }] }, "invalid_parameter", "/boosts/0/half_km"],
  [{ boosts: [{ attribute: "place", half_km: 5, by: 1 }] }, "invalid_parameter", "/boosts/0/near"],
  [
    { boosts: [{ attribute: "place", near: { lat: 0, lon: 0 }, half_km: 0, by: 1 }] },
    "invalid_parameter",
    "/boosts/0/half_km",
  ],
  [
    { boosts: [{ attribute: "price", near: { lat: 0, lon: 0 }, half_km: 5, by: 1 }] },
    "filter_type_mismatch",
    "/boosts/0/attribute",
  ],
  [{ boosts: [{ attribute: "place", by: 1 }] }, "filter_type_mismatch", "/boosts/0/attribute"],
  [{ max_per_value: { place: 1 } }, "filter_type_mismatch", "/max_per_value/place"],
  [{ retrieval: NEAR_CALLER, context: { lat: "here" } }, "invalid_filter", "/retrieval/place/$near/lat"],
  [{ retrieval: NEAR_CALLER, context: { lat: 95 } }, "invalid_filter", "/retrieval/place/$near/lat"],
  [
    {
      boosts: [{ attribute: "place", near: { lat: { $user: "lat" }, lon: 0 }, half_km: 5, by: 1 }],
      user: { lat: "here" },
    },
    "invalid_filter",
    "/boosts/0/near/lat",
  ],
])("%j is refused", async (body, code, pointer) =>
  expect(await call(body)).toMatchObject({ status: 400, body: { code, errors: [{ pointer }] } }),
);

test("a changed place counts, and a place can be taken away", async () => {
  const head = [
    changedItem("i0", { place: "0,3.5" }),
    changedItem("i3", { place: null }),
    changedItem("i2", { place: "x" }),
  ];
  await writeChanges(edge.store, { customer: "acme", modelName: "shop" }, { head });
  await edge.idle(10_000);
  expect((await list({ retrieval: near({}) })).sort()).toEqual(["i0", "i2", "i4"]);
  expect((await list({ retrieval: { place: null } })).sort()).toEqual(["i3", "i7"]);
  const answer = await edge.call("/v0/models/shop/rank", { body: { item_ids: ["i0", "i4"], return: ["metadata"] } });
  expect(JSON.stringify(await answer.json())).toContain('"place":"0,3.5"');
});

test("a scenario with places is checked with values absent and present", () => {
  const columns = new Map([["place", { type: "Location", lat: new Int32Array(1), lon: new Int32Array(1) }]]);
  const version = { attributes: { itemCount: 1, columns }, compileFilter: () => () => true } as never;
  const boost = { attribute: "place", near: { lat: { $user: "lat" }, lon: { $item: "place" } }, half_km: 5, by: 1 };
  const scenario = { retrieval: NEAR_CALLER, boosts: [boost] };
  expect(() => checkFits(scenario, version)).not.toThrow();
  expect(() => checkFits({ boosts: [{ ...boost, near: { lat: { $item: "spot" }, lon: 0 } }] }, version)).toThrow(
    "not an attribute",
  );
  expect(() =>
    checkFits({ boosts: [{ ...boost, near: { lat: 0, lon: { $user: "a", default: 200 } } }] }, version),
  ).toThrow("lon");
});
