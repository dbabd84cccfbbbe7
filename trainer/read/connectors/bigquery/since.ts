import { innerQuery } from "../inner-query.ts";
import { dateText, partedBy, type Since, type SinceSql, TALLY_MODULUS, type Tally, timeText } from "../since.ts";
import { type BigQueryColumn, type BigQueryField, quoted, selectList } from "./columns.ts";

const TALLY_COLUMN = "shortlist_before";

/** The parting in GoogleSQL, by the field's type; undefined for types whose order is not certainly that of time. */
export function bigquerySince({ name = "", type, mode }: BigQueryField, since: Since): SinceSql | undefined {
  if (mode === "REPEATED") return undefined;
  const column = quoted(name);
  switch (type) {
    case "INTEGER":
    case "INT64":
      return { ...partedBy(column, String(since.number)), number: column };
    case "TIMESTAMP":
      return { ...partedBy(column, `TIMESTAMP '${timeText(since)}+00'`), number: `UNIX_MICROS(${column})` };
    case "DATETIME":
      return {
        ...partedBy(column, `DATETIME '${timeText(since)}'`),
        number: `UNIX_MICROS(CAST(${column} AS TIMESTAMP))`,
      };
    case "DATE":
      return { ...partedBy(column, `DATE '${dateText(since)}'`), number: `UNIX_DATE(${column}) * 86400000000` };
    default:
      return undefined;
  }
}

/**
 * One statement that gives the rows and, in a last column of each, the tally of the others as `rows:times`: the tables
 * of a job are all of one moment, those of two jobs are not.
 */
export function selectingSince(query: string, columns: readonly BigQueryColumn[], sql: SinceSql): string {
  const times = `SUM(MOD(${sql.number}, ${TALLY_MODULUS}))`;
  const tally = `CONCAT(CAST(COUNT(*) AS STRING), ':', CAST(COALESCE(${times}, 0) AS STRING))`;
  return `WITH shortlist_source AS (\n${innerQuery(query)}\n)
SELECT ${selectList(columns)}, (SELECT ${tally} FROM shortlist_source WHERE ${sql.isBefore}) AS ${TALLY_COLUMN}
FROM shortlist_source WHERE ${sql.isSince}`;
}

/** Of the tally column's text. */
export function parseTally(text: unknown): Tally {
  const [, rows, times] = /^(\d+):(-?\d+)$/.exec(String(text)) ?? [];
  if (rows === undefined || times === undefined)
    throw new Error(`BigQuery gave ${JSON.stringify(text)} for ${TALLY_COLUMN}; expected rows:times`);
  return { rows: Number(rows), times: BigInt(times) };
}
