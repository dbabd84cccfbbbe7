import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { literal } from "../../read/connectors/duckdb/quote.ts";
import { timeExpression, timeUnitOf } from "../../read/dataset/time-expression.ts";

/** Runs aggregates over the table of a column and gives the one row. */
type Count = (aggregates: string) => Promise<Readonly<Record<string, unknown>>>;

/**
 * SQL of a column of times as epoch seconds with their fraction: DOUBLE, NULL where a value is no finite time. Undefined when the type
 * holds no times. Text is a number, ISO 8601 or one of the common ways to write a date, in UTC unless it says otherwise.
 *
 * @param count Asks the table, which also has a column `row`: the number of the row, from 1.
 */
export async function fileSeconds(column: string, type: DuckDBType, count: Count): Promise<string | undefined> {
  const time = timeExpression(column, type);
  if (time === undefined) return undefined;
  const number = time.number === null ? null : `CASE WHEN isfinite(${time.number}) THEN ${time.number} END`;
  const ofNumber = `${number} / ${await timeUnitOf({ ...time, number }, count)}`;
  if (type.typeId !== DuckDBTypeId.VARCHAR) {
    return number === null ? `epoch(${finite(`TRY_CAST(${column} AS TIMESTAMPTZ)`)})` : ofNumber;
  }
  return `CASE WHEN ${time.number} IS NOT NULL THEN ${ofNumber} WHEN ${isIso(column)} THEN epoch(TRY_CAST(${column} AS TIMESTAMPTZ))
    ELSE ${await ofDate(column, count)} END`;
}

const finite = (timestamp: string) => `CASE WHEN isfinite(${timestamp}) THEN ${timestamp} END`;

/** The year first, in four digits: the cast alone would take 12/1/10 for a day of the year 12. */
const isIso = (column: string) => `regexp_matches(${column}, '^\\s*[0-9]{4}[-/]')`;

/** Rows by which it is found how dates are written: each of the many ways is slow where it does not fit. */
const SAMPLE_ROWS = 5000;

/** Seconds of dates as most of a sample's are written: some cannot be read with day and month the other way round. */
async function ofDate(column: string, count: Count): Promise<string> {
  const { rows } = await count("count(*) AS rows");
  const isOpen = `row % ${Math.ceil(Number(rows) / SAMPLE_ROWS)} = 0 AND TRY_CAST(${column} AS DOUBLE) IS NULL AND NOT ${isIso(column)}`;
  const ways: { readonly formats: readonly string[]; readonly dates: number }[] = [];
  for (const formats of [formatsWith("%m", "%d"), formatsWith("%d", "%m")]) {
    const hits = formats.map((format, f) => {
      return `count(CASE WHEN ${isOpen} THEN try_strptime(trim(${column}), ${literal(format)}) END) AS f${f}`;
    });
    const found = await count(hits.join(", "));
    const hitsOf = (format: string) => Number(found[`f${formats.indexOf(format)}`]);
    const used = formats.filter((format) => hitsOf(format) > 0).sort((a, b) => hitsOf(b) - hitsOf(a));
    ways.push({ formats: used, dates: used.reduce((sum, format) => sum + hitsOf(format), 0) });
  }
  const [usual, other] = ways;
  const { formats } = other!.dates > usual!.dates ? other! : usual!;
  if (formats.length === 0) return "NULL";
  return `epoch(try_strptime(trim(${column}), [${formats.map(literal).join(", ")}]))`;
}

function formatsWith(first: string, second: string): string[] {
  const dates = ["%y", "%Y"].flatMap((year) => ["/", "-", "."].map((mark) => [first, second, year].join(mark)));
  const named = ["%m %d, %Y", "%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d-%b-%Y", "%d %B %Y"];
  const clocks = ["", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p"];
  const timed = [...dates, ...named].flatMap((date) => clocks.map((clock) => `${date}${clock}`));
  return [...timed, "%a %b %d %H:%M:%S %z %Y", "%Y%m%dT%H%M%S"];
}
