/**
 * Places in the file of attributes. They are apart from the other columns, so that a reader that does not know them ignores them.
 *
 *     metadata    locations: the names of the columns; absent if there are none
 *     arrays      location.0.lat, location.0.lon   i32 [itemCount], in 1e-7 degrees; a lat of −2^31 is missing
 */
import * as z from "zod";
import { assert, FormatError } from "./assert.ts";
import { arrayOf, type Container, type TypedArray } from "./container.ts";
import { NO_PLACE, type Places, UNITS_PER_DEGREE, unitsOf } from "./place.ts";

const NAME_CHARACTERS_MAX = 1000;
const LOCATIONS_MAX = 500;
export const Locations = z.array(z.string().max(NAME_CHARACTERS_MAX)).max(LOCATIONS_MAX).optional();

/** Places of items or users, in degrees; a NaN in `lat` is missing. */
export type LocationColumn = {
  readonly name: string;
  readonly type: "Location";
  readonly lat: Float64Array; // [count]
  readonly lon: Float64Array;
};

export function packLocations(columns: readonly { readonly name: string; readonly type: string }[], itemCount: number) {
  const places = columns.filter((column): column is LocationColumn => column.type === "Location");
  if (places.length === 0) return { metadata: {}, arrays: {} };
  const arrays: Record<string, TypedArray> = {};
  for (const [i, { name, lat, lon }] of places.entries()) {
    assert(lat.length === itemCount && lon.length === itemCount, `${JSON.stringify(name)} has a place for each item`);
    arrays[`location.${i}.lat`] = Int32Array.from(lat, (degrees) =>
      Number.isNaN(degrees) ? NO_PLACE : unitsOf(degrees),
    );
    arrays[`location.${i}.lon`] = Int32Array.from(lon, unitsOf);
  }
  return { metadata: { locations: places.map(({ name }) => name) }, arrays };
}

/** Throws FormatError. */
export function openLocations(
  container: Container<{ readonly locations?: readonly string[] | undefined }>,
  itemCount: number,
): [string, { readonly type: "Location" } & Places][] {
  return (container.metadata.locations ?? []).map((name, i) => {
    const expected = { dtypes: ["i32"], length: itemCount } as const;
    const [lat, lon] = [
      arrayOf(container, `location.${i}.lat`, expected),
      arrayOf(container, `location.${i}.lon`, expected),
    ];
    for (let item = 0; item < itemCount; item++)
      if (
        lat[item] !== NO_PLACE &&
        !(Math.abs(lat[item]!) <= 90 * UNITS_PER_DEGREE && Math.abs(lon[item]!) <= 180 * UNITS_PER_DEGREE)
      )
        throw new FormatError(`attributes: ${JSON.stringify(name)} has a place that is not on the earth`);
    return [name, { type: "Location", lat, lon }];
  });
}
