import { unreadableOf } from "../dataset/stage-query.ts";
import type { TimeUnit } from "../rules/dialect.ts";
import { countRejected, type Rejected } from "../rules/reject-reasons.ts";
import { timeUnitOf } from "../rules/row-rules.ts";
import { openRelation, type PushedSource, readSmallRelation, type SmallRow, smallRows } from "./read-relation.ts";
import { DISTINCT } from "./relation.ts";

/** Counts of the accepted rows, made by the store. */
export type Totals = {
  readonly users: number;
  readonly interactions: number;
  readonly positives: number;
  /** Epoch seconds. */
  readonly firstSecond: number;
  readonly lastSecond: number;
  /** The number of interactions when only the newest of each user are kept. */
  readonly newest: number;
};

/** The unit of a time column's numbers. */
export const readUnit = ({ table, ...source }: PushedSource): Promise<TimeUnit> =>
  timeUnitOf(table.dialect, table.rules.time, async () => {
    const [row] = await readSmallRelation({ table, ...source }, { kind: "units" });
    return row!;
  });

/**
 * The number of rows, and the rejected ones by reason, including rows that the store could not read. No row numbers are
 * given, since a store's rows have no order.
 */
export async function readRejected(
  source: PushedSource,
): Promise<{ readonly rows: number; readonly rejected: Rejected }> {
  const answer = await openRelation(source, { kind: "reasons" });
  const reasons = await smallRows(answer);
  const unreadable = unreadableOf(answer);
  const given = reasons.reduce((sum, row) => sum + numberOf(row, "row_count"), 0);
  const refused = reasons.flatMap((row) =>
    row.reason === null ? [] : [[row.reason!, { count: numberOf(row, "row_count"), firstRows: [] }] as const],
  );
  return { rows: given + countRejected(unreadable), rejected: { ...Object.fromEntries(refused), ...unreadable } };
}

/** @param perUser The number of newest interactions of a user that are kept. */
export async function readTotals(source: PushedSource, perUser: number): Promise<Totals> {
  const [row] = await readSmallRelation(source, { kind: "totals", of: DISTINCT, perUser });
  return {
    users: numberOf(row!, "users"),
    interactions: numberOf(row!, "interactions"),
    positives: numberOf(row!, "positives"),
    firstSecond: numberOf(row!, "first_second"),
    lastSecond: numberOf(row!, "last_second"),
    newest: numberOf(row!, "newest"),
  };
}

/** A number; 0 for NULL, the sum of no rows. */
const numberOf = (row: SmallRow, name: string) => Number(row[name] ?? 0);
