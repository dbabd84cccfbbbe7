/**
 * The rules for rows of interactions. The trainer's check of its own rows, the dry run, the evaluation of files, and a
 * store that prepares rows for the trainer all run the SQL that is made here.
 */
import type { Dialect, IdRule, LabelRule, TimeRule, TimeUnit } from "./dialect.ts";

/** SQL of the columns of an interaction query: c0 (user), c1 (item), c2 (time), c3 (label) and, if sessions are named, c4. */
export type RowRules = {
  readonly user: IdRule;
  readonly item: IdRule;
  readonly time: TimeRule;
  readonly label: LabelRule;
  /** A value that is no id names no session, and its row is still accepted. */
  readonly session?: IdRule | undefined;
};

export type CheckedRows = {
  /** SQL of the rows: a table's name, or a SELECT in parentheses. */
  readonly from: string;
  readonly unit: TimeUnit;
  /** The present, in epoch seconds. Times more than a day later are refused. */
  readonly nowSeconds: number;
  /** SQL of a row's position, if the rows have one. It becomes the column `row`. */
  readonly row?: string;
};

/** The largest epoch seconds that a dataset holds: 2106-02-07. */
const SECONDS_MAX = 2 ** 32 - 1;
const DAY_SECONDS = 86_400;

/**
 * A SELECT of the columns user_id, item_id, seconds, positive, rating (NULL for a Binary label), session_id (if sessions are named) and
 * reason. The reason is the first rule that the row breaks, or NULL for an acceptable row; reject-reasons.ts says what each means.
 */
export function checkedRowsSql({ user, item, time, label, session }: RowRules, rows: CheckedRows): string {
  const position = rows.row === undefined ? "" : "row, ";
  const sessionId = session && `CASE WHEN ${session.reason} IS NULL THEN ${session.key} END AS session_id, `;
  const columns = `${position}user_id, item_id, seconds, positive, rating${session ? ", session_id" : ""}`;
  return `SELECT ${columns}, COALESCE(${user.reason}, ${item.reason}, CASE
      WHEN time_missing = 1 THEN 'missing_time' WHEN seconds IS NULL THEN 'unparsable_time'
      WHEN seconds < 0 OR seconds > ${SECONDS_MAX} THEN 'time_out_of_range'
      WHEN seconds > ${rows.nowSeconds + DAY_SECONDS} THEN 'future_time'
      WHEN label_missing = 1 THEN 'missing_label' WHEN positive IS NULL THEN 'unparsable_label' END) AS reason
    FROM (SELECT ${rows.row === undefined ? "" : `${rows.row} AS row, `}c0, c1,
      ${user.key} AS user_id, ${item.key} AS item_id, ${sessionId ?? ""}
      ${time.seconds(rows.unit)} AS seconds, CASE WHEN ${time.isMissing} THEN 1 ELSE 0 END AS time_missing,
      ${label.positive} AS positive, ${label.rating ?? "NULL"} AS rating,
      CASE WHEN ${label.isMissing} THEN 1 ELSE 0 END AS label_missing
      FROM ${rows.from} AS given) AS read_rows`;
}

/** Units of times with the size below which a number is in that unit: seconds are below 10^11 until the year 5138. */
const UNIT_SIZES = [
  [1, "1e11"],
  [1_000, "1e14"],
  [1_000_000, "1e17"],
  [1_000_000_000, "1e20"], // NaN and infinity are larger
] as const satisfies readonly (readonly [TimeUnit, string])[];

/** True for the digits of a day from 1970 to 2106, such as 20241231. As seconds they would be days of August 1970. */
function isDay(size: string): string {
  const rest = (divisor: number) => `(${size} - ${divisor} * FLOOR(${size} / ${divisor}))`;
  const isNumber = `${size} >= 19700101 AND ${size} <= 21061231 AND ${size} = FLOOR(${size})`;
  return `${isNumber} AND ${rest(100)} BETWEEN 1 AND 31 AND ${rest(10_000)} BETWEEN 101 AND 1231`;
}

/** Aggregates that count a column's numbers by the unit that their size suggests: columns u1, u1000, …, and uday of those in u1. */
export function unitCountsSql({ magnitude }: Pick<Dialect, "magnitude">, number: string): string {
  const size = magnitude(number);
  const counts = UNIT_SIZES.map(([unit, max], i) => {
    const isAtLeast = i === 0 ? "" : `${size} >= ${UNIT_SIZES[i - 1]![1]} AND `;
    return `SUM(CASE WHEN ${isAtLeast}${size} < ${max} THEN 1 ELSE 0 END) AS u${unit}`;
  });
  return [...counts, `SUM(CASE WHEN ${isDay(size)} THEN 1 ELSE 0 END) AS uday`].join(", ");
}

/**
 * The unit that most numbers of a column of times are in; 1 when times are not numbers, `day` when all small numbers are days.
 *
 * @param readRow Runs aggregates over the column's table and gives the one row.
 */
export async function timeUnitOf(
  dialect: Pick<Dialect, "magnitude">,
  { number }: Pick<TimeRule, "number">,
  readRow: (aggregates: string) => Promise<Readonly<Record<string, unknown>>>,
): Promise<TimeUnit> {
  if (number === null) return 1;
  const counts = await readRow(unitCountsSql(dialect, number));
  const countOf = (unit: TimeUnit) => Number(counts[`u${unit}`] ?? 0);
  const best = UNIT_SIZES.map(([unit]): TimeUnit => unit).reduce((most, unit) =>
    countOf(unit) > countOf(most) ? unit : most,
  );
  return best === 1 && countOf(1) > 0 && countOf("day") === countOf(1) ? "day" : best;
}
