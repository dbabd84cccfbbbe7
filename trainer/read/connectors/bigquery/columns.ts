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
  LIST,
  TIMESTAMP,
  VARCHAR,
} from "@duckdb/node-api";
import { arePlaceNames } from "../../rules/place-names.ts";
import { sourceError } from "../source-error.ts";

/** A field of a result's schema, in the API's form (TableFieldSchema). */
export type BigQueryField = {
  readonly name?: string;
  readonly type?: string;
  readonly mode?: string;
  readonly fields?: readonly BigQueryField[];
};

/**
 * How a column is fetched. The query casts it to one of a few types, so that REST and Arrow give the same types; `read` reads a
 * value in REST's text form.
 */
export type BigQueryColumn = {
  readonly name: string;
  readonly type: DuckDBType;
  /** The SQL expression that selects and casts the column. */
  readonly sql: string;
  readonly read: (value: unknown) => DuckDBValue;
};

type Kind = Pick<BigQueryColumn, "type" | "read"> & { readonly cast?: (column: string) => string };

const text = (cast?: Kind["cast"]): Kind => ({ type: VARCHAR, read: String, ...(cast && { cast }) });
const asText = text((column) => `CAST(${column} AS STRING)`);
const stamp: Kind = { type: TIMESTAMP, read: (micros) => new DuckDBTimestampValue(BigInt(micros as string)) };

/** By the API's legacy type names; ALIASES has the standard ones. */
const KINDS: Readonly<Record<string, Kind>> = {
  INTEGER: { type: BIGINT, read: (value) => BigInt(value as string) },
  FLOAT: { type: DOUBLE, read: Number },
  BOOLEAN: { type: BOOLEAN, read: (value) => value === true || value === "true" },
  STRING: text(),
  TIMESTAMP: stamp,
  DATETIME: { ...stamp, cast: (column) => `CAST(${column} AS TIMESTAMP)` }, // in UTC
  DATE: { type: DATE, read: (value) => new DuckDBDateValue(Date.parse(`${value as string}T00:00:00Z`) / 86_400_000) },
  NUMERIC: asText, // nothing is rounded; numbers among texts are recognised later
  BIGNUMERIC: asText,
  TIME: asText,
  INTERVAL: asText,
  BYTES: text((column) => `TO_BASE64(${column})`),
  JSON: text((column) => `TO_JSON_STRING(${column})`),
  GEOGRAPHY: text((column) => `ST_ASTEXT(${column})`),
};
const ALIASES: Readonly<Record<string, string>> = { INT64: "INTEGER", FLOAT64: "FLOAT", BOOL: "BOOLEAN" };
const SCALARS_IN_LISTS = new Set("INTEGER FLOAT BOOLEAN STRING NUMERIC BIGNUMERIC DATE DATETIME TIMESTAMP".split(" "));

/** How a field is fetched. Throws StageError `unsupported_column_type` for structs, ranges and arrays of them. */
export function columnOf(field: BigQueryField): BigQueryColumn {
  const name = field.name ?? "";
  const column = quoted(name);
  const type = isPlace(field) ? "JSON" : (ALIASES[field.type ?? ""] ?? field.type ?? "");
  const kind = KINDS[type];
  if (!kind || (field.mode === "REPEATED" && !SCALARS_IN_LISTS.has(type))) throw unsupported(name, field);
  if (field.mode !== "REPEATED")
    return { name, type: kind.type, sql: kind.cast?.(column) ?? column, read: nullable(kind.read) };
  const sql = type === "STRING" ? column : `ARRAY(SELECT CAST(element AS STRING) FROM UNNEST(${column}) AS element)`;
  return { name, type: LIST(VARCHAR), sql, read: nullable(readList) };
}

/** Whether a field is a struct of a latitude and a longitude, which becomes its JSON text. */
const isPlace = ({ type, mode, fields = [] }: BigQueryField): boolean =>
  (type === "RECORD" || type === "STRUCT") && mode !== "REPEATED" && arePlaceNames(fields.map(({ name = "" }) => name));

/** A BigQuery identifier, quoted (GoogleSQL lexical structure). */
export const quoted = (name: string): string => `\`${name.replace(/[\\`]/g, "\\$&")}\``;

const nullable =
  (read: Kind["read"]): Kind["read"] =>
  (value) =>
    value === null || value === undefined ? null : read(value);

/** REST gives `[{"v": …}]`, Arrow an iterable of texts. */
function readList(value: unknown): DuckDBValue {
  const elements = [...(value as Iterable<unknown>)].map((element) =>
    typeof element === "object" && element !== null && "v" in element ? element.v : element,
  );
  return new DuckDBListValue(elements.filter((element) => element !== null).map(String));
}

function unsupported(name: string, { type, mode }: BigQueryField) {
  const what = mode === "REPEATED" ? `ARRAY<${type}>` : type;
  return sourceError({
    code: "unsupported_column_type",
    message: `The column ${JSON.stringify(name)} is ${what}, which cannot be an id, a time, a label or an attribute; select the fields of it that are needed`,
  });
}

/** The list of a SELECT of these columns, each under its field's name. */
export const selectList = (columns: readonly BigQueryColumn[]): string =>
  columns.map(({ name, sql }) => (sql === quoted(name) ? sql : `${sql} AS ${quoted(name)}`)).join(", ");
