/** Places from a source through a training to the answers of the real Worker. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { setStatus } from "../../trainer/store/live-pointer-swap.ts";
import { CACHING, type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { interactionsCsv, trainOnFiles } from "../fixtures/train-on-files.ts";

const ITEMS = 12;
const model = { customer: "acme", modelName: "shop" };

/** How a source may write a place: SQL of columns with latitude and longitude. */
const FORMS = {
  as_struct: "{'lat': lat, 'lon': lon}",
  as_text: "lat || ',' || lon",
  as_json: `'{"latitude": ' || lat || ', "longitude": ' || lon || '}'`,
  as_wkt: "'POINT(' || lon || ' ' || lat || ')'",
  as_geojson: `'{"type": "Point", "coordinates": [' || lon || ', ' || lat || ']}'`,
};

let folder: string;
let edge: EdgeWorld;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "trained-places-"));
  const choices = Array.from({ length: 600 }, (_, row) => {
    const user = Math.floor(row / 3);
    return `u${user},i${(user + 5 * (row % 3)) % ITEMS},${1_700_000_000 + row},1`;
  });
  await writeFile(join(folder, "interactions.csv"), ["user_id,item_id,at,label", ...choices].join("\n"));
  // Item i is i degrees east of Greenwich near the equator, about 111 km each. The last has no place.
  const places = Array.from({ length: ITEMS }, (_, item) =>
    item === ITEMS - 1 ? `i${item},,` : `i${item},0.0125,${item}.0125`,
  );
  await writeFile(join(folder, "items.csv"), ["item_id,lat,lon", ...places].join("\n"));
  edge = await startEdge({ vars: CACHING });
  const { location, schema } = interactionsCsv();
  const columns = Object.entries(FORMS).map(([name, form]) => `CASE WHEN lat IS NOT NULL THEN ${form} END AS ${name}`);
  const source = { query: `SELECT item_id, ${columns.join(", ")}, lat || ' ' || lon AS declared FROM items` };
  const features = [
    ...Object.keys(FORMS).map((name) => ({ name, type: "Location" })),
    { name: "declared", type: "Category" },
  ];
  for (const [modelName, item] of [
    ["shop", { ...schema.item, source }],
    ["declared", { ...schema.item, source, features }],
  ] as const) {
    await setStatus(edge.store, { ...model, modelName }, { status: "SCHEDULING", nowMs: Date.now() });
    const training = { model: { ...model, modelName }, folder, location, store: edge.store, nowMs: Date.now() };
    const { outcome } = await trainOnFiles({
      ...training,
      schema: { ...schema, item },
      settings: { fitSecondsMax: 1 },
    });
    expect(outcome.kind).toBe("published");
  }
}, 120_000);
afterAll(async () => {
  await edge?.stop();
  await rm(folder, { recursive: true, force: true });
});

const rank = async (body: object, modelName = "shop") => {
  const answer = await edge.call(`/v0/models/${modelName}/rank`, { body: { limit: ITEMS, ...body } });
  return { status: answer.status, body: (await answer.json()) as never };
};
const near = { $near: { lat: 0, lon: { $context: "lon", default: 3 }, km: 120 } };

test.each(Object.keys(FORMS))("items near a place, which the source has %s", async (name) => {
  for (const modelName of ["shop", "declared"]) {
    const ids = async (body: object) => ((await rank(body, modelName)).body as string[]).sort();
    expect(await ids({ retrieval: { [name]: near } })).toEqual(["i2", "i3", "i4"]);
    expect(await ids({ retrieval: { [name]: near }, context: { lon: 9 } })).toEqual(["i10", "i8", "i9"]);
    expect(await ids({ retrieval: { [name]: null } })).toEqual(["i11"]);
  }
});

test("answers show places as text, and the nearest comes first by a boost", async () => {
  const boosts = [{ attribute: "as_wkt", near: { lat: 0, lon: 7 }, half_km: 100, by: 10 }];
  const { body } = await rank({ boosts, limit: 1, return: ["metadata"] });
  const { items } = body as { items: { item_id: string; metadata: Record<string, unknown> }[] };
  expect(items[0]).toMatchObject({
    item_id: "i7",
    metadata: { as_struct: "0.0125,7.0125", as_geojson: "0.0125,7.0125" },
  });
});

test("a text that is no place is none", async () =>
  expect(await rank({ retrieval: { declared: near } })).toMatchObject({
    status: 400,
    body: { code: "filter_type_mismatch" },
  }));
