/** How the times of a column are read: found from all of its values, never from some of them silently. */
import { formOf, TIME_FORMATS } from "../../../shared/time-formats.ts";
import { checkingError, type StageError } from "../../stage/stage-error.ts";
import type { Dialect, TimeRule, TimeUnit } from "./dialect.ts";
import { timeUnitOf } from "./row-rules.ts";

export type TimeColumn = {
  /** For messages. */
  readonly name: string;
  readonly rule: TimeRule;
  /** The schema's `created_at_format`, if it has one. */
  readonly format?: string | undefined;
  /** The schema has no format for attributes. */
  readonly isAttribute?: boolean;
  /** Runs aggregates over the column's table and gives the one row. */
  readonly readRow: (aggregates: string) => Promise<Readonly<Record<string, unknown>>>;
};

export type TimeReading = {
  readonly rule: TimeRule;
  readonly unit: TimeUnit;
  /** The strptime format that the rule reads, too: numbers need not have the order of their times. */
  readonly format?: string;
  /** What was guessed, for people. */
  readonly note: string | undefined;
};

/** Texts from which formats are proposed. All texts decide between them. */
const SAMPLE = 500;
const PROPOSED_MAX = 12;

/** Throws StageError `ambiguous_time` if day and month could be either. */
export async function timeReadingOf(dialect: Pick<Dialect, "magnitude">, column: TimeColumn): Promise<TimeReading> {
  const { rule, name } = column;
  const unit = await timeUnitOf(dialect, rule, column.readRow);
  if (column.format !== undefined && rule.secondsBy)
    return { ...withFormat(rule, column.format), unit, note: undefined };
  if (unit === "day") return { rule, unit, note: `${JSON.stringify(name)} is read as days such as 20241231` };
  const digits = unit === 1_000 ? await formatOfDigits(column) : undefined;
  if (digits) return { ...withFormat(rule, digits), unit, note: `${JSON.stringify(name)} is read as ${digits}` };
  const { texts } = rule;
  if (texts === undefined) return { rule, unit, note: undefined };
  const { sample } = await column.readRow(
    `to_json(arg_min(${texts.text}, hash(${texts.text}), ${SAMPLE}) FILTER (WHERE ${texts.isUnread})) AS sample`,
  );
  const unread = sample === null ? [] : (JSON.parse(String(sample)) as string[]);
  const format = await bestFormat(column, proposedFor(unread));
  if (format === undefined) return { rule, unit, note: undefined };
  const example = unread.find((text) => formOf(format).test(text));
  const note = `${JSON.stringify(name)} is read as ${format}, such as ${JSON.stringify(example)}`;
  return { ...withFormat(rule, format), unit, note };
}

const withFormat = (rule: TimeRule, format: string) => ({
  rule: { ...rule, seconds: (unit: TimeUnit) => `coalesce(${rule.secondsBy!(format)}, ${rule.seconds(unit)})` },
  format,
});

/** Digits of a day and a clock, of the size of milliseconds: those of today begin with 17 and would be before 1800. */
const DIGITS = ["%Y%m%d%H%M%S", "%Y%m%d%H%M"];

async function formatOfDigits({ rule: { secondsBy, number }, readRow }: TimeColumn): Promise<string | undefined> {
  if (!secondsBy) return undefined;
  const counts = DIGITS.map((format, i) => `count(*) FILTER (WHERE ${secondsBy(format)} >= 0) AS f${i}`);
  const found = await readRow([...counts, `count(${number}) AS numbers`].join(", "));
  return DIGITS.find((_, i) => Number(found[`f${i}`]) * 2 > Number(found.numbers));
}

/** The formats whose form most of the texts have, at most PROPOSED_MAX. */
function proposedFor(texts: readonly string[]): string[] {
  const counted = TIME_FORMATS.map((format) => ({
    format,
    count: texts.filter((text) => formOf(format).test(text)).length,
  }));
  const found = counted.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count);
  return found.slice(0, PROPOSED_MAX).map(({ format }) => format);
}

/** The format that reads the most texts of the whole column; undefined if none reads any. */
async function bestFormat(
  { name, rule, isAttribute = false, readRow }: TimeColumn,
  formats: readonly string[],
): Promise<string | undefined> {
  const { secondsBy, texts } = rule as Required<TimeRule>;
  const { text } = texts;
  if (formats.length === 0) return undefined;
  const counts = await readRow(formats.map((format, i) => `count(${secondsBy(format)}) AS f${i}`).join(", "));
  const reads = (i: number) => Number(counts[`f${i}`]);
  const most = Math.max(...formats.map((_, i) => reads(i)));
  if (most === 0) return undefined;
  const [best, ...equals] = formats.filter((_, i) => reads(i) === most);
  for (const other of equals) {
    const [a, b] = [secondsBy(best!), secondsBy(other)];
    const { example } = await readRow(`min(${text}) FILTER (WHERE ${a} IS DISTINCT FROM ${b}) AS example`);
    if (example !== null) throw ambiguous(name, String(example), { formats: [best!, other], isAttribute });
  }
  return best;
}

type Ambiguity = { readonly formats: readonly string[]; readonly isAttribute: boolean };

function ambiguous(name: string, example: string, { formats, isAttribute }: Ambiguity): StageError {
  const readings = formats.map((format) => `strptime(${name}, '${format}')`).join(" or ");
  const settings = `with created_at_format, ${formats.map((format) => JSON.stringify(format)).join(" or ")}, or `;
  return checkingError(
    "ambiguous_time",
    `The times in ${JSON.stringify(name)}, such as ${JSON.stringify(example)}, can be read with day and month in either order: say which ` +
      `${isAttribute ? "" : settings}in the query with ${readings}`,
  );
}
