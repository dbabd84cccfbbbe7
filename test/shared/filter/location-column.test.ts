import fc from "fast-check";
import { expect, test } from "vitest";
import { FormatError } from "../../../shared/assert.ts";
import { attributesOf } from "../../../shared/attribute-values.ts";
import { type AttributeColumn, decodeAttributes, encodeAttributes } from "../../../shared/attributes.ts";
import { decodeCatalog, encodeCatalog } from "../../../shared/catalog.ts";
import { encodeContainer } from "../../../shared/container.ts";
import { compileFilter } from "../../../shared/filter/compile-filter.ts";
import { parseFilter } from "../../../shared/filter/parse-filter.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import { packStrings } from "../../../shared/packed-strings.ts";
import type { Problem } from "../../../shared/problem.ts";
import { compileNumberBoost } from "../../../shared/rank/compile-boost.ts";
import type { KnownNames } from "../../../shared/snapshot.ts";

type Spot = { readonly lat: number; readonly lon: number };
const EARTH_KM = 6371.0088;

/** The distance by vectors, which is another way than the code's. */
function distance(a: Spot, b: Spot): number {
  const [x, y] = [a, b].map(({ lat, lon }) => {
    const [phi, lambda] = [(lat * Math.PI) / 180, (lon * Math.PI) / 180];
    return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)];
  }) as [number[], number[]];
  const cross = [0, 1, 2].map((i) => x[(i + 1) % 3]! * y[(i + 2) % 3]! - x[(i + 2) % 3]! * y[(i + 1) % 3]!);
  const dot = x.reduce((sum, value, i) => sum + value * y[i]!, 0);
  return EARTH_KM * Math.atan2(Math.hypot(...cross), dot);
}

function open(spots: readonly (Spot | null)[]) {
  const place: AttributeColumn = {
    name: "place",
    type: "Location",
    lat: Float64Array.from(spots, (spot) => spot?.lat ?? Number.NaN),
    lon: Float64Array.from(spots, (spot) => spot?.lon ?? 0),
  };
  const price: AttributeColumn = { name: "price", type: "Numerical", values: Float64Array.from(spots.keys()) };
  const itemIds = packStrings([...spots.keys()].map(String));
  return {
    table: decodeAttributes(encodeAttributes([place, price], spots.length)),
    catalog: decodeCatalog(encodeCatalog({ itemIds, itemIdType: "integer" })),
    itemIdColumn: "id",
  };
}

const passing = (query: unknown, source: ReturnType<typeof open>): number[] => {
  const isMatch = compileFilter(parseFilter(query), source);
  return [...Array(source.table.itemCount).keys()].filter((item) => isMatch(item as ItemIndex));
};

// Poles, the date line and their neighbours, a city, and anywhere.
const degrees = (most: number) => fc.integer({ min: -most * 1e6, max: most * 1e6 }).map((value) => value / 1e6);
const city = fc.record({ lat: degrees(1), lon: degrees(1) }).map(({ lat, lon }) => ({ lat: 52 + lat, lon: 13 + lon }));
const anywhere = fc.record({
  lat: fc.oneof(fc.constantFrom(-90, 90, 89.999, -89.9, 0), degrees(90)),
  lon: fc.oneof(fc.constantFrom(-180, 180, 179.9999, -179.5, 0), degrees(180)),
});
const spot = fc.oneof(city, anywhere);
const spots = fc.array(fc.option(spot, { freq: 5 }), { minLength: 1, maxLength: 25 });
const km = fc.oneof(fc.constantFrom(0, 1, 10, 100, 1000, 9000, 20_040), fc.integer({ min: 1, max: 20_000 }));

test("$near passes what plain loops pass, alone and in every kind of group", () => {
  let [inside, outside] = [0, 0];
  fc.assert(
    fc.property(spots, spot, spot, km, km, fc.nat(25), (items, a, b, kmA, kmB, below) => {
      const source = open(items);
      const within = (centre: Spot, most: number) =>
        items.map((item) => item !== null && distance(item, centre) <= most);
      // At the edge itself, rounding decides.
      const isClear = (centre: Spot, most: number) =>
        items.every((item) => item === null || Math.abs(distance(item, centre) - most) > 1e-4);
      fc.pre(isClear(a, kmA) && isClear(b, kmB));
      const [nearA, nearB] = [within(a, kmA), within(b, kmB)];
      const [A, B] = [{ place: { $near: { ...a, km: kmA } } }, { place: { $near: { ...b, km: kmB } } }];
      const expected = (test: (item: number) => boolean) => [...items.keys()].filter(test);
      inside += nearA.filter(Boolean).length;
      outside += nearA.filter((is) => !is).length;
      expect(passing(A, source)).toEqual(expected((i) => nearA[i]!));
      expect(passing({ place: { $not: A.place } }, source)).toEqual(expected((i) => !nearA[i]!));
      expect(passing({ $or: [A, B] }, source)).toEqual(expected((i) => nearA[i]! || nearB[i]!));
      expect(passing({ $nor: [A, B] }, source)).toEqual(expected((i) => !nearA[i]! && !nearB[i]!));
      expect(passing({ $and: [A, B] }, source)).toEqual(expected((i) => nearA[i]! && nearB[i]!));
      expect(passing({ ...A, price: { $lt: below } }, source)).toEqual(expected((i) => nearA[i]! && i < below));
      expect(passing({ place: { $exists: true, $not: A.place } }, source)).toEqual(
        expected((i) => items[i] !== null && !nearA[i]!),
      );
      const many = { $or: [A, B, ...Array.from({ length: 6 }, (_, i) => ({ price: 100 + i, place: B.place }))] };
      expect(passing(many, source)).toEqual(expected((i) => nearA[i]! || nearB[i]!));
    }),
    { numRuns: 400 },
  );
  expect(inside).toBeGreaterThan(500);
  expect(outside).toBeGreaterThan(500);
});

/** The place at a distance and a bearing. */
function towards({ lat, lon }: Spot, km: number, bearing: number): Spot {
  const [phi, angle] = [(lat * Math.PI) / 180, km / EARTH_KM];
  const sine = Math.sin(phi) * Math.cos(angle) + Math.cos(phi) * Math.sin(angle) * Math.cos(bearing);
  const east = Math.sin(bearing) * Math.sin(angle) * Math.cos(phi);
  const turned = lon + (Math.atan2(east, Math.cos(angle) - Math.sin(phi) * sine) * 180) / Math.PI;
  return { lat: (Math.asin(sine) * 180) / Math.PI, lon: ((((turned + 180) % 360) + 360) % 360) - 180 };
}

test("items just inside and just outside a circle are told apart, all around it", () =>
  fc.assert(
    fc.property(anywhere, fc.integer({ min: 1, max: 19_000 }), fc.integer({ min: 0, max: 7 }), (centre, km, turn) => {
      const bearings = Array.from({ length: 16 }, (_, i) => ((i + turn / 8) * Math.PI) / 8);
      const inside = bearings.map((bearing) => towards(centre, km * 0.999, bearing));
      const outside = bearings.map((bearing) => towards(centre, km * 1.001, bearing));
      const found = passing({ place: { $near: { ...centre, km } } }, open([...inside, ...outside]));
      expect(found).toEqual([...bearings.keys()]);
    }),
    { numRuns: 500 },
  ));

test("a boost by nearness halves with each distance", () =>
  fc.assert(
    fc.property(spots, spot, fc.constantFrom(0.5, 5, 800), (items, near, halfKm) => {
      const version = { attributes: open(items).table } as unknown as KnownNames;
      const context = { nowSeconds: 0, version, valueFor: () => undefined, missing: new Set<string>() };
      const boost = { attribute: "place", near, halfKm, by: 2, pointer: "/boosts/0" };
      const compiled = compileNumberBoost(boost, context) as { valueAt: (item: ItemIndex) => number };
      for (const [item, spot] of items.entries()) {
        const expected = spot === null ? 0 : 0.5 ** (distance(spot, near) / halfKm);
        expect(compiled.valueAt(item as ItemIndex)).toBeCloseTo(expected, 5);
      }
    }),
  ));

test("places are kept to a centimetre, and shown as texts", () => {
  const { table } = open([{ lat: 52.5200066, lon: 13.404954 }, null, { lat: -90, lon: 180 }]);
  const shown = [0, 1, 2].map((item) => attributesOf(table, item as ItemIndex));
  expect(shown).toEqual([{ price: 0, place: "52.5200066,13.404954" }, { price: 1 }, { price: 2, place: "-90,180" }]);
});

test("null is a missing place", () => {
  const source = open([{ lat: 1, lon: 2 }, null]);
  expect(passing({ place: null }, source)).toEqual([1]);
  expect(passing({ place: { $ne: null } }, source)).toEqual([0]);
});

const circle = { lat: 1, lon: 2, km: 3 };
test.each<[unknown, string, string]>([
  [{ place: { $near: { ...circle, lat: 91 } } }, "invalid_filter", "/retrieval/place/$near/lat"],
  [{ place: { $near: { ...circle, lon: "2" } } }, "invalid_filter", "/retrieval/place/$near/lon"],
  [{ place: { $near: { ...circle, km: -1 } } }, "invalid_filter", "/retrieval/place/$near/km"],
  [{ place: { $near: { lat: 1, lon: 2 } } }, "invalid_filter", "/retrieval/place/$near/km"],
  [{ place: { $near: { ...circle, miles: 2 } } }, "invalid_filter", "/retrieval/place/$near/miles"],
  [{ place: { $near: [1, 2, 3] } }, "invalid_filter", "/retrieval/place/$near"],
  [{ place: { $near: { type: "Polygon", coordinates: [] } } }, "invalid_filter", "/retrieval/place/$near/type"],
  [{ price: { $near: circle } }, "filter_type_mismatch", "/retrieval/price/$near"],
  [{ id: { $near: circle } }, "filter_type_mismatch", "/retrieval/id/$near"],
  [{ spot: { $near: circle } }, "unknown_attribute", "/retrieval/spot"],
  [{ place: "1,2" }, "filter_type_mismatch", "/retrieval/place"],
  [{ place: { $in: [null, 5] } }, "filter_type_mismatch", "/retrieval/place/$in/1"],
  [{ place: { $gt: 5 } }, "filter_type_mismatch", "/retrieval/place/$gt"],
])("%j is refused", (query, code, pointer) => {
  let problem: Problem | undefined;
  try {
    passing(query, open([{ lat: 1, lon: 2 }]));
  } catch (error) {
    problem = error as Problem;
  }
  expect(problem).toMatchObject({ code, errors: [{ pointer }] });
});

test("a file with places that are not on the earth, or of other items, is refused", () => {
  const file = (lat: number[], lon: number[]) =>
    encodeContainer({
      kind: "attributes",
      metadata: { item_count: 1, columns: [], locations: ["place"] },
      arrays: { "location.0.lat": Int32Array.from(lat), "location.0.lon": Int32Array.from(lon) },
    });
  expect(decodeAttributes(file([900_000_000], [0])).columns.size).toBe(1);
  for (const [lat, lon] of [
    [[900_000_001], [0]],
    [[0], [-1_800_000_001]],
    [
      [0, 0],
      [0, 0],
    ],
    [[], []],
  ] as const)
    expect(() => decodeAttributes(file([...lat], [...lon]))).toThrow(FormatError);
});
