/** The first rows of a staged query in the form in which a report shows them. */
import {
  DuckDBBlobValue,
  DuckDBListValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBValue,
} from "@duckdb/node-api";
import { clipped } from "../../../shared/clipped.ts";
import type { StagedInteractions } from "../../read/dataset/check-interactions.ts";
import type { StagedTable, Staging } from "../../read/dataset/staging.ts";

/** A value of a sample: JSON, with times as RFC 3339 and large integers as text. */
export type SampleValue = string | number | boolean | null | readonly SampleValue[];
export type SampleRow = Readonly<Record<string, SampleValue>>;

const ROWS = 5;
const USERS = 20;
const TEXT_MAX = 200;
const LIST_MAX = 20;

/** At most five rows, by the query's column names. Long texts and lists are cut. */
export async function sampleRows({ connection }: Staging, table: StagedTable): Promise<SampleRow[]> {
  const list = table.columns.map(({ sql }) => sql).join(", ");
  const reader = await connection.runAndReadAll(`SELECT ${list} FROM ${table.name} ORDER BY rowid LIMIT ${ROWS}`);
  return reader
    .getRows()
    .map((row) => Object.fromEntries(row.map((value, i) => [table.columns[i]!.name, shown(value)])));
}

export type ExampleUser = { readonly user_id: string; readonly rows: number };

/** Users of the sample, evenly spread from the one with the most rows to the one with the fewest. Their ids must be numbered. */
export async function exampleUsers(
  { connection }: Staging,
  { acceptedSql }: StagedInteractions,
): Promise<ExampleUser[]> {
  const reader = await connection.runAndReadAll(`
    SELECT text, rows FROM (
      SELECT text, count(*) AS rows, count(*) OVER () AS users, row_number() OVER (ORDER BY count(*) DESC, text) - 1 AS place
      FROM ${acceptedSql} AS accepted JOIN users ON users.key = accepted.user_id GROUP BY text
    ) WHERE place % ceil(users / ${USERS}) = 0 ORDER BY place`);
  return reader.getRows().map(([text, rows]) => ({ user_id: String(text), rows: Number(rows) }));
}

/** Bytes that BigQuery counts for a row of the sample (its documentation: "Data type sizes"); 0 without rows. */
export async function meanRowBytes({ connection }: Staging, table: StagedTable): Promise<number> {
  const size = ({ sql, type }: StagedTable["columns"][number]) =>
    /VARCHAR/.test(String(type))
      ? `2 + strlen(coalesce(CAST(${sql} AS VARCHAR), ''))`
      : String(type) === "BOOLEAN"
        ? "1"
        : "8";
  const sum = table.columns.map(size).join(" + ");
  const reader = await connection.runAndReadAll(`SELECT coalesce(avg(${sum}), 0) FROM ${table.name}`);
  return Number(reader.value(0, 0));
}

function shown(value: DuckDBValue): SampleValue {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof DuckDBListValue) return value.items.slice(0, LIST_MAX).map(shown);
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue) return rfc3339(value);
  // As an id of bytes looks.
  const text = value instanceof DuckDBBlobValue ? Buffer.from(value.bytes).toString("base64") : String(value);
  return text.length > TEXT_MAX ? `${clipped(text, TEXT_MAX)}…` : text;
}

/** A time without a zone is shown without a zone. */
const rfc3339 = (value: DuckDBTimestampTZValue | DuckDBTimestampValue): string =>
  String(value)
    .replace(/^(\d+-\d\d-\d\d) /, "$1T")
    .replace(/\+00$/, "Z");
