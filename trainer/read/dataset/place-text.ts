/** How places are read from the texts and structs of sources. WKT, GeoJSON and WKB have the longitude first. */
import { DuckDBStructType, type DuckDBType } from "@duckdb/node-api";
import { isPlace, type Place, placeInPair } from "../../../shared/place.ts";
import { arePlaceNames, LATITUDES, LONGITUDES } from "../rules/place-names.ts";

const NUMBER = "[+-]?[0-9]+(?:[.][0-9]*)?(?:[eE][+-]?[0-9]+)?";
/** WGS 84 is 4326; PostGIS writes no number or 0 where none was set. */
const SRIDS = [0, 4326];

const POINT = `(?:SRID=(\\d+);)?\\s*POINT\\s*(?:ZM|Z|M)?\\s*\\(\\s*(${NUMBER})\\s+(${NUMBER})(?:\\s+${NUMBER}){0,2}\\s*\\)`;
const WKT = new RegExp(`^\\s*${POINT}\\s*$`, "i");
const HEX = /^(?:[0-9a-f]{2}){21,50}$/i;

/** The place in a text: "lat,lon", WKT, WKB in hexadecimal, JSON of lat and lon, or GeoJSON. Undefined if it is none. */
export function placeIn(text: string): Place | undefined {
  const place = placeInPair(text) ?? pointIn(text) ?? wkbIn(text) ?? jsonIn(text);
  return place && isPlace(place) ? place : undefined;
}

function pointIn(text: string): Place | undefined {
  const [, srid = "0", lon, lat] = WKT.exec(text) ?? [];
  return lon !== undefined && SRIDS.includes(Number(srid)) ? { lat: Number(lat), lon: Number(lon) } : undefined;
}

/** The bit of the type that says, in PostGIS's form (EWKB), that the number of a coordinate system follows. */
const HAS_SRID = 0x20000000;
/** The kind of geometry, without flags of PostGIS; ISO adds 1000 for each further dimension. */
const kindOf = (type: number): number => (type & 0x0fffffff) % 1000;
const POINT_KIND = 1;

function wkbIn(text: string): Place | undefined {
  if (!HEX.test(text)) return undefined;
  const bytes = new DataView(Uint8Array.from(Buffer.from(text, "hex")).buffer);
  const isLittle = bytes.getUint8(0) === 1;
  const type = bytes.getUint32(1, isLittle);
  const start = type & HAS_SRID ? 9 : 5;
  if (kindOf(type) !== POINT_KIND || bytes.byteLength < start + 16) return undefined;
  if (type & HAS_SRID && !SRIDS.includes(bytes.getUint32(5, isLittle))) return undefined;
  return { lon: bytes.getFloat64(start, isLittle), lat: bytes.getFloat64(start + 8, isLittle) };
}

function jsonIn(text: string): Place | undefined {
  if (!text.startsWith("{")) return undefined;
  let sent: unknown;
  try {
    sent = JSON.parse(text);
  } catch {
    return undefined;
  }
  const fields = new Map(Object.entries(sent as object).map(([name, value]) => [name.toLowerCase(), value as unknown]));
  const coordinates = fields.get("coordinates");
  if (fields.get("type") === "Point" && Array.isArray(coordinates))
    return { lon: numberOf(coordinates[0]), lat: numberOf(coordinates[1]) };
  const named = (names: readonly string[]) =>
    numberOf(names.map((name) => fields.get(name)).find((one) => one !== undefined));
  return { lat: named(LATITUDES), lon: named(LONGITUDES) };
}

/** NaN, which is no place, for anything but a number or its text. */
const numberOf = (value: unknown): number =>
  typeof value === "number" || (typeof value === "string" && value.trim() !== "") ? Number(value) : Number.NaN;

/** Whether a struct's fields are those of a place. */
export function isPlaceStruct(type: DuckDBType): boolean {
  if (!(type instanceof DuckDBStructType)) return false;
  const names = type.entryNames.map((name) => name.toLowerCase());
  return arePlaceNames(names) || (names.includes("type") && names.includes("coordinates"));
}

const NAMED = `"(?:${[...LATITUDES, ...LONGITUDES].join("|")})"\\s*:\\s*"?${NUMBER}"?\\s*`;
/** Numbers alone are a place only if both have at least three decimals: `1,5` may be anything. */
const PRECISE = "[+-]?[0-9]{1,2}[.][0-9]{3,},\\s*[+-]?[0-9]{1,3}[.][0-9]{3,}";
const POINT_HEX = "01010000(?:00|20e6100000)[0-9a-f]{32}";
const SUGGESTED = [
  POINT,
  `\\{[^{}]*"type"\\s*:\\s*"Point"[^{}]*\\}`,
  `\\{(?:[^{}]*,)?\\s*${NAMED},(?:[^{}]*,)?\\s*${NAMED}(?:,[^{}]*)?\\}`,
  PRECISE,
  POINT_HEX,
];

/** SQL: whether a text looks so much like a place that nothing else can be meant. */
export const looksLikePlace = (text: string): string => `regexp_full_match(${text}, '(?i)${SUGGESTED.join("|")}')`;
