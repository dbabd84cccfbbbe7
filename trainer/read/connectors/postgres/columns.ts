import {
  BIGINT,
  BOOLEAN,
  DATE,
  DOUBLE,
  DuckDBDateValue,
  DuckDBListValue,
  DuckDBTimestampValue,
  type DuckDBType,
  type DuckDBValue,
  INTEGER,
  LIST,
  TIMESTAMP,
  VARCHAR,
} from "@duckdb/node-api";
import pg from "pg";
import { parse as parseArray } from "postgres-array";

/** A column's DuckDB type, and how a value is read from Postgres's text. */
export type ColumnReader = { readonly type: DuckDBType; readonly read: (text: string) => DuckDBValue };

const OIDS = pg.types.builtins;
const TEXT: ColumnReader = { type: VARCHAR, read: (text) => text };
const REAL: ColumnReader = { type: DOUBLE, read: Number };
const WHOLE: ColumnReader = { type: INTEGER, read: Number };
/** Lists become lists of texts. Each element has the text that BigQuery gives for the same value. */
const listOf = (plain: (element: string) => string = (element) => element): ColumnReader => ({
  type: LIST(VARCHAR),
  read: (text) => readArray(text, plain),
});
const TEXTS = listOf();
/** A numeric without zeros at the end of its fraction, so that the id 28 is the same whatever the scale of its column. */
const withoutZeros = (numeric: string) => (numeric.includes(".") ? numeric.replace(/\.?0+$/, "") : numeric);
/** A char(n), whose blanks at the end Postgres adds and ignores. */
const withoutPadding = (padded: string) => padded.replace(/ +$/, "");

const READERS: ReadonlyMap<number, ColumnReader> = new Map<number, ColumnReader>([
  [OIDS.BOOL, { type: BOOLEAN, read: (text) => text === "t" }],
  [OIDS.INT2, WHOLE],
  [OIDS.INT4, WHOLE],
  [OIDS.INT8, { type: BIGINT, read: BigInt }],
  [OIDS.FLOAT4, REAL],
  [OIDS.FLOAT8, REAL],
  [OIDS.DATE, { type: DATE, read: readDate }],
  [OIDS.TIMESTAMP, { type: TIMESTAMP, read: readTimestamp }],
  [OIDS.TIMESTAMPTZ, { type: TIMESTAMP, read: readTimestamp }],
  // Arrays of int2, int4, int8, float4, float8, text, varchar, uuid, date, timestamp, timestamptz.
  ...[1005, 1007, 1016, 1021, 1022, 1009, 1015, 2951, 1182, 1115, 1185].map((oid) => [oid, TEXTS] as const),
  [1000, listOf((bool) => (bool === "t" ? "true" : "false"))],
  [OIDS.NUMERIC, { type: VARCHAR, read: withoutZeros }],
  [1231, listOf(withoutZeros)],
  [OIDS.BPCHAR, { type: VARCHAR, read: withoutPadding }],
  [1014, listOf(withoutPadding)],
]);

/** The first object id of types that the database itself defines (FirstNormalObjectId). */
const CUSTOM_TYPES_FROM = 16384;

/**
 * The readers of columns. All other types (uuid, enums, json, …) keep Postgres's text, so nothing is rounded; numbers
 * among them are recognised later.
 *
 * @param arraysAmong Finds which of the types are arrays. Called only for types that the database itself defines.
 */
export async function readersOf(
  oids: readonly number[],
  arraysAmong: (oids: readonly number[]) => Promise<readonly number[]>,
): Promise<ColumnReader[]> {
  const custom = oids.filter((oid) => oid >= CUSTOM_TYPES_FROM);
  const arrays = custom.length === 0 ? [] : await arraysAmong(custom);
  return oids.map((oid) => (arrays.includes(oid) ? TEXTS : (READERS.get(oid) ?? TEXT)));
}

const STAMP = /^(\d{4,6})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?([+-]\d\d(?::\d\d){0,2})?)?( BC)?$/;

/** Microseconds since 1970 of a time in ISO form. Null for infinity, years before 1 and years after 275,760 (the limit of Date). */
function microsOf(text: string): bigint | null {
  const parts = STAMP.exec(text);
  if (!parts || parts[9]) return null;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part ?? 0));
  const micros = Number((parts[7] ?? "").padEnd(6, "0"));
  const date = new Date(0);
  date.setUTCFullYear(year!, month! - 1, day!);
  if (Number.isNaN(date.getTime())) return null;
  const seconds = date.getTime() / 1000 + hour! * 3600 + minute! * 60 + second! - offsetSeconds(parts[8]);
  return BigInt(seconds) * 1_000_000n + BigInt(micros);
}

/** Seconds of an offset such as `+02`, `-03:30` or `+00:53:28`. */
function offsetSeconds(offset: string | undefined): number {
  if (!offset) return 0;
  const [hours, minutes = 0, seconds = 0] = offset.slice(1).split(":").map(Number);
  return (offset.startsWith("-") ? -1 : 1) * (hours! * 3600 + minutes * 60 + seconds);
}

function readTimestamp(text: string): DuckDBValue {
  const micros = microsOf(text);
  return micros === null ? null : new DuckDBTimestampValue(micros);
}

function readDate(text: string): DuckDBValue {
  const micros = microsOf(text);
  return micros === null ? null : new DuckDBDateValue(Number(micros / 86_400_000_000n));
}

/** Reads a one-dimensional array such as `{a,"b \"c\"",NULL}`. Elements that are arrays themselves become null. */
function readArray(text: string, plain: (element: string) => string): DuckDBValue {
  const parsed = parseArray<unknown>(text, plain);
  // Elements of a list of lists are shown as lists, so that nothing is lost in silence.
  const shown = (element: unknown) => (Array.isArray(element) ? JSON.stringify(element) : null);
  return new DuckDBListValue(parsed.map((element) => (typeof element === "string" ? element : shown(element))));
}
