import pg from "pg";
import { dateText, partedBy, type Since, type SinceSql, timeText } from "../since.ts";

const OIDS = pg.types.builtins;

/** The parting in Postgres's SQL, by the column's type; undefined for types whose order is not certainly that of time. */
export function postgresSince(column: string, oid: number, since: Since): SinceSql | undefined {
  // Rounded, since servers before 14 give doubles; infinity is no number.
  const number = `CASE WHEN isfinite(${column}) THEN round(extract(epoch FROM ${column}) * 1000000)::bigint END`;
  switch (oid) {
    case OIDS.INT2:
    case OIDS.INT4:
    case OIDS.INT8:
      return { ...partedBy(column, String(since.number)), number: column };
    case OIDS.TIMESTAMP:
      return { ...timesPartedBy(column, `TIMESTAMP '${timeText(since)}'`), number };
    case OIDS.TIMESTAMPTZ:
      return { ...timesPartedBy(column, `TIMESTAMPTZ '${timeText(since)}+00'`), number };
    case OIDS.DATE:
      return { ...timesPartedBy(column, `DATE '${dateText(since)}'`), number };
    default:
      return undefined;
  }
}

/** What has no year from 1 on arrives as no value (columns.ts), and so is not before either. */
const timesPartedBy = (column: string, literal: string): Pick<SinceSql, "isBefore" | "isSince"> => ({
  isBefore: `(${column} < ${literal} AND ${column} >= '0001-01-01')`,
  isSince: `(${column} >= ${literal} OR ${column} < '0001-01-01' OR ${column} IS NULL)`,
});

/** A type's name for people, of those that are likely for times. */
export const typeName = (oid: number): string =>
  Object.entries(OIDS)
    .find(([, value]) => value === oid)?.[0]
    ?.toLowerCase() ?? `number ${oid}`;
