/** Places on the earth (WGS 84), and great-circle distances between them. */
import { filterProblem } from "./filter/filter-problem.ts";
import { pointerStep, shown } from "./parse-request.ts";

/** In degrees; lat −90 … 90, lon −180 … 180. */
export type Place = { readonly lat: number; readonly lon: number };

/** Half of the longest great circle, in km, rounded up. */
export const KM_MAX = 20_040;
/** The mean radius of the earth (IUGG). */
const EARTH_KM = 6371.0088;
const RADIANS = Math.PI / 180;

/** Places by item, in units of 1e-7 degrees, about a centimetre. */
export type Places = {
  readonly lat: Int32Array; // NO_PLACE: missing
  readonly lon: Int32Array;
};
export const UNITS_PER_DEGREE = 1e7;
export const NO_PLACE = -(2 ** 31);
export const unitsOf = (degrees: number): number => Math.round(degrees * UNITS_PER_DEGREE);

export const placeAt = ({ lat, lon }: Places, item: number): Place => ({
  lat: lat[item]! / UNITS_PER_DEGREE,
  lon: lon[item]! / UNITS_PER_DEGREE,
});

export const isPlace = ({ lat, lon }: Place): boolean => Math.abs(lat) <= 90 && Math.abs(lon) <= 180;

/**
 * The haversine of the angle between a place and an item's, by item. It rises with the distance along the great circle, and is exact for
 * short distances too.
 */
function haversines({ lat, lon }: Places, from: Place): (item: number) => number {
  const toRadians = RADIANS / UNITS_PER_DEGREE;
  const [latFrom, lonFrom] = [from.lat * RADIANS, from.lon * RADIANS];
  const cosFrom = Math.cos(latFrom);
  return (item) => {
    const latItem = lat[item]! * toRadians;
    const ofLat = Math.sin((latItem - latFrom) / 2);
    const ofLon = Math.sin((lon[item]! * toRadians - lonFrom) / 2);
    return ofLat * ofLat + cosFrom * Math.cos(latItem) * ofLon * ofLon;
  };
}

export type Circle = Place & { readonly km: number };

/** A box of latitudes and longitudes around a place, in units. */
type Box = { readonly latMax: number; readonly lonMax: number };
/** Stored places and bounds are rounded. */
const SLACK = 2;
const toUnits = (radians: number) => (radians / RADIANS) * UNITS_PER_DEGREE;

/** The smallest box that holds a circle. */
function outerBox(latRadians: number, radius: number): Box {
  const hasPole = Math.abs(latRadians) + radius >= Math.PI / 2;
  const lonMax = hasPole ? Number.POSITIVE_INFINITY : Math.asin(Math.sin(radius) / Math.cos(latRadians));
  return { latMax: toUnits(radius) + SLACK, lonMax: toUnits(lonMax) + SLACK };
}

/** A box that a circle holds. It spares most items inside the circle the haversine. */
function innerBox(latRadians: number, radius: number): Box {
  const latMax = radius / Math.SQRT2;
  // Inside the box, the haversine is at most sin²(latMax / 2) + cos(centre) · cosMost · sin²(lonMax / 2).
  const nearest = Math.max(0, Math.abs(latRadians) - latMax); // to the equator
  const left = Math.sin(radius / 2) ** 2 - Math.sin(latMax / 2) ** 2;
  const share = left / (Math.cos(latRadians) * Math.cos(nearest));
  const lonMax = 2 * Math.asin(Math.sqrt(Math.min(1, share)));
  return { latMax: toUnits(latMax) - SLACK, lonMax: toUnits(lonMax) - SLACK };
}

function boxTester({ lat, lon }: Places, centre: Place, { latMax, lonMax }: Box): (item: number) => boolean {
  const [latMid, lonMid] = [unitsOf(centre.lat), unitsOf(centre.lon)];
  const lonRound = 360 * UNITS_PER_DEGREE - lonMax; // from here on, the shorter way goes across the date line
  return (item) => {
    if (Math.abs(lat[item]! - latMid) > latMax) return false;
    const difference = Math.abs(lon[item]! - lonMid);
    return difference <= lonMax || difference >= lonRound;
  };
}

type CircleTester = {
  readonly isInside: (item: number) => boolean;
  /** Whether a test of the item takes the haversine. */
  readonly isNearEdge: (item: number) => boolean;
};

/** Tests of items with a place. */
export function circleTester(places: Places, { km, ...centre }: Circle): CircleTester {
  const [latRadians, radius] = [centre.lat * RADIANS, Math.min(Math.PI, km / EARTH_KM)];
  const isInOuter = boxTester(places, centre, outerBox(latRadians, radius));
  const isInInner = boxTester(places, centre, innerBox(latRadians, radius));
  const haversineAt = haversines(places, centre);
  const limit = Math.sin(radius / 2) ** 2;
  return {
    isInside: (item) => isInOuter(item) && (isInInner(item) || haversineAt(item) <= limit),
    isNearEdge: (item) => isInOuter(item) && !isInInner(item),
  };
}

/** Items farther away than this many half distances get nothing: less than a millionth of a millionth. */
const HALVES_MAX = 40;

/** 2^(−distance / halfKm) for items with a place. */
export function closeness(places: Places, from: Place, halfKm: number): (item: number) => number {
  const radius = Math.min(Math.PI, (HALVES_MAX * halfKm) / EARTH_KM);
  const isNear = boxTester(places, from, outerBox(from.lat * RADIANS, radius));
  const haversineAt = haversines(places, from);
  const factor = (-2 * EARTH_KM * Math.LN2) / halfKm;
  return (item) => (isNear(item) ? Math.exp(factor * Math.asin(Math.sqrt(Math.min(1, haversineAt(item))))) : 0);
}

const NUMBER = "[+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?";
const PAIR = new RegExp(`^\\s*(${NUMBER})\\s*,\\s*(${NUMBER})\\s*$`);

/** The place in a text "lat,lon"; undefined for other text. */
export function placeInPair(text: string): Place | undefined {
  const [, lat, lon] = PAIR.exec(text) ?? [];
  const place = { lat: Number(lat), lon: Number(lon) };
  return lat !== undefined && isPlace(place) ? place : undefined;
}

/** A place as answers show it, and as it can be changed. */
export const pairOf = ({ lat, lon }: Place): string => `${lat},${lon}`;

/**
 * Numbers of an object at a place of a request, each within its bounds. NaN, which JSON does not have, stands for a number that is not
 * known yet. Throws Problem invalid_filter.
 */
export function checkedNumbers<Name extends string>(
  sent: unknown,
  pointer: string,
  bounds: Readonly<Record<Name, readonly [number, number]>>,
): Readonly<Record<Name, number>> {
  const names = Object.keys(bounds) as Name[];
  if (typeof sent !== "object" || sent === null || Array.isArray(sent))
    throw filterProblem("invalid_filter", pointer, `must be an object of ${names.join(", ")}, found ${shown(sent)}`);
  const other = Object.keys(sent).find((name) => !Object.hasOwn(bounds, name));
  if (other !== undefined)
    throw filterProblem("invalid_filter", pointer + pointerStep(other), `is unknown; known are ${names.join(", ")}`);
  for (const name of names) {
    const value = (sent as Record<Name, unknown>)[name];
    const [min, max] = bounds[name];
    if (typeof value !== "number" || value < min || value > max) {
      const found = value === undefined ? "" : `, found ${shown(value)}`;
      throw filterProblem("invalid_filter", `${pointer}/${name}`, `must be a number from ${min} to ${max}${found}`);
    }
  }
  return sent as Readonly<Record<Name, number>>;
}

export const PLACE_BOUNDS = { lat: [-90, 90], lon: [-180, 180] } as const;
export const CIRCLE_BOUNDS = { ...PLACE_BOUNDS, km: [0, KM_MAX] } as const;
