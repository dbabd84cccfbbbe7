import { guessEventColumn, guessQuantityColumn } from "../../shared/guess-columns.ts";
import { guessLabel, type LabelFacts } from "../../shared/guess-label.ts";
import { areEvents, positiveTypes, TYPES_MAX } from "../../shared/guess-positive.ts";
import type { Label } from "../../shared/label.ts";
import { identifier } from "../read/connectors/sql-text.ts";
import { LocalError } from "./local-error.ts";
import { isFilled } from "./local-tables.ts";
import { shellQuoted } from "./shell-quoted.ts";

type Rows = {
  /** For SQL. */
  readonly name: string;
  readonly columns: readonly string[];
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
};
type Columns = {
  readonly user: string;
  readonly item: string;
  readonly time: string | null;
  readonly label: string | null;
  /** Whether the label's column was given, not guessed. */
  readonly isGiven?: boolean;
};

/** What says whether the rows of a file were wanted. */
export type LabelOfRows = {
  readonly label: Label;
  /** SQL of the column. */
  readonly sql: string;
  /** Types of events that the rows have; empty where they have none. */
  readonly types: readonly string[];
  /** For the terminal: what the label means, and what could be chosen instead. */
  readonly meaning: string;
  readonly offer: string | null;
};

/**
 * Finds the label: the positive types of events that were given, else a column of labels that most rows have, else a column of types of
 * events, of which a training finds what each counts. Otherwise every row is positive, except returned goods.
 *
 * @throws LocalError if types were given that no row has.
 */
export async function labelOfRows(
  rows: Rows,
  columns: Columns,
  positive: readonly string[] | undefined,
): Promise<LabelOfRows> {
  const roles = [columns.user, columns.item, columns.time, ...(positive ? [] : [columns.label])];
  const free = rows.columns.filter((name) => !roles.includes(name));
  const events = guessEventColumn(free);
  if (positive !== undefined) return await givenTypes(rows, events ?? columns.label, positive);
  const found = events === undefined ? null : await typesOfEvents(rows, events);
  const offer = found && offerOf(events!, found);
  const label = columns.label === null ? undefined : await columnOfLabels(rows, columns.label, columns);
  if (label !== undefined) return { ...label, offer };
  if (areTypes(found)) return { ...guessedTypes(events!, found), offer };
  return { ...(await everyRow(rows, guessQuantityColumn(free))), offer };
}

/** Rows of views and purchases may have a rating only where somebody wrote a review. */
async function isMostlyFilled(rows: Rows, column: string, { user, item }: Columns): Promise<boolean> {
  const [counted] = await rows.query(
    `SELECT count(*) FILTER (${isFilled(column)}) * 2 >= count(*) AS filled FROM ${rows.name}
     WHERE ${isFilled(user)} AND ${isFilled(item)}`,
  );
  return counted!.filled === true;
}

/** A column `type` or `status` may say what kind of item it is. */
async function typesOfEvents(rows: Rows, column: string): Promise<readonly Type[] | null> {
  const types = await typesIn(rows, column);
  const isGeneral = /^(type|status)$/i.test(column);
  return isGeneral && !areEvents(types?.map(({ value }) => value) ?? []) ? null : types;
}

const LABEL = { type: "Binary", name: "label" } as const;

/** Every row is positive, except those with a quantity below 0. */
async function everyRow(rows: Rows, quantity: string | undefined) {
  const isReturn = `coalesce(TRY_CAST(${identifier(quantity ?? "")} AS DOUBLE) < 0, false)`;
  const [counted] =
    quantity === undefined ? [] : await rows.query(`SELECT count(*) FILTER (WHERE ${isReturn}) AS n FROM ${rows.name}`);
  const returns = Number(counted?.n ?? 0);
  if (returns === 0)
    return { label: LABEL, sql: "true AS label", types: [], meaning: "no label, so every row is positive" };
  const meaning = `no label, so every row is positive, except ${returns} with a ${quantity} below 0, which are returns`;
  return { label: LABEL, sql: `NOT ${isReturn} AS label`, types: [], meaning };
}

type Type = { readonly value: string; readonly rows: number; readonly isType: boolean };

/** The values of a column of types with their counts, the most common first; null where they are too many, or only one. */
async function typesIn(rows: Rows, column: string): Promise<readonly Type[] | null> {
  const name = identifier(column);
  const found = await rows.query(
    `SELECT coalesce(trim(CAST(${name} AS VARCHAR)), '') AS value, count(*) AS rows,
       bool_and(typeof(${name}) = 'VARCHAR' OR typeof(${name}) LIKE '%INT%') AS text_or_integer
     FROM ${rows.name} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${TYPES_MAX + 1}`,
  );
  const types = found.map(({ value, rows: count, text_or_integer }) => ({
    value: String(value),
    rows: Number(count),
    isType: value !== "" && String(value).length <= LENGTH_MAX && text_or_integer === true,
  }));
  return types.length < 2 || types.length > TYPES_MAX ? null : types;
}

const areTypes = (types: readonly Type[] | null): types is readonly Type[] =>
  types?.every(({ isType }) => isType) ?? false;

function guessedTypes(name: string, found: readonly Type[]) {
  const types = positiveTypes(found);
  const positive = types.length === found.length ? "every type" : types.join(", ");
  return {
    label: { type: "Events", name, positive: types } as const,
    sql: identifier(name),
    types: found.map(({ value }) => value),
    meaning: `type of event ${name} (positive: ${positive}; the training finds what each counts)`,
  };
}

/** Proposes all wanted types but the most common one, which says least. */
function offerOf(column: string, types: readonly Type[]): string {
  const wanted = positiveTypes(types);
  const proposed = wanted.slice(0, Math.max(1, wanted.length - 1)).join(",");
  const quoted = /^[\w.,-]+$/.test(proposed) ? proposed : shellQuoted(proposed);
  return `The types of event in ${column} are ${listed(types)}. With --positive ${quoted}, only those count as wanted.`;
}

const LENGTH_MAX = 100;

const listed = (types: readonly Type[]) =>
  types.map(({ value, rows }) => `${value || "empty"} (${rows} rows)`).join(", ");

/** The label that --positive asks for. */
async function givenTypes(rows: Rows, column: string | null, positive: readonly string[]): Promise<LabelOfRows> {
  if (column === null)
    throw new LocalError(
      "--positive names types of events, but no column looks like them: name it with --label-column.",
    );
  const types = (await typesIn(rows, column)) ?? [];
  const unknown = positive.filter((type) => !types.some(({ value }) => value === type));
  if (unknown.length > 0) {
    const known = types.length > 0 ? `its types are ${listed(types)}` : `it has one value or more than ${TYPES_MAX}`;
    throw new LocalError(`--positive: no row has ${unknown.join(", ")} in ${column}; ${known}.`);
  }
  const chosen = types.filter(({ value }) => positive.includes(value)).reduce((sum, { rows: count }) => sum + count, 0);
  const all = types.reduce((sum, { rows: count }) => sum + count, 0);
  return {
    label: { type: "Events", name: column, positive: [...positive] },
    sql: identifier(column),
    types: types.map(({ value }) => value),
    meaning: `type of event ${column} (positive: ${positive.join(", ")}, ${percent(chosen / all)} of the rows)`,
    offer: null,
  };
}

const percent = (fraction: number) => `${Math.round(fraction * 100)} %`;

/**
 * Guesses the meaning of a label column from all of its values: yes and no, numbers, numbers with words, or types. Undefined where a column
 * that was not given has none of these, or where most rows lack it.
 */
async function columnOfLabels(rows: Rows, name: string, columns: Columns) {
  if (!columns.isGiven && !(await isMostlyFilled(rows, name, columns))) return undefined;
  const text = `CAST(${identifier(name)} AS VARCHAR)`;
  const plain = `TRY_CAST(${identifier(name)} AS DOUBLE)`;
  const facts = await factsOf(rows, name, plain);
  const isOdd = facts.plain < facts.filled / 2;
  if (isOdd && facts.leading > facts.filled / 2) {
    const number = leadingNumber(text);
    const found = await numbersOrTruths(rows, name, { number, facts: await factsOf(rows, name, number) });
    return {
      ...found,
      sql: `${number} AS ${identifier(name)}`,
      meaning: `${found.meaning}, of which the first number is read`,
    };
  }
  const types = isOdd ? await typesIn(rows, name) : null;
  if (areTypes(types)) return guessedTypes(name, types);
  return isOdd && !columns.isGiven ? undefined : await numbersOrTruths(rows, name, { number: plain, facts });
}

const YES_AND_NO = "'true', 'false', 't', 'f', 'yes', 'no', 'y', 'n'";

/** `4,5`, `4/5` and `4.0 out of 5 stars`. */
const leadingNumber = (text: string) =>
  `TRY_CAST(replace(regexp_extract(${text}, '^\\s*(-?[0-9]+([.,][0-9]+)?)', 1), ',', '.') AS DOUBLE)`;

/** What is known of a label column, and how many of its values are filled, are plain numbers or truths, and begin with a number. */
type Facts = LabelFacts & { readonly filled: number; readonly plain: number; readonly leading: number };

const numbersIn = (rows: Rows, name: string, number: string) =>
  `(SELECT ${identifier(name)} AS given, CASE WHEN isfinite(${number}) THEN ${number} END AS n FROM ${rows.name})`;

async function factsOf(rows: Rows, name: string, number: string): Promise<Facts> {
  const numbers = numbersIn(rows, name, number);
  const lowest = `(SELECT min(n) FROM ${numbers})`;
  const text = "CAST(given AS VARCHAR)";
  const [found] = await rows.query(
    `SELECT count(given) AS rows, count(*) FILTER (WHERE n NOT IN (0, 1)) AS others, coalesce(bool_and(n = trunc(n)), true) AS areWhole,
       coalesce(min(n), 0) AS lowest, coalesce(quantile_disc(n, 0.5), 0) AS median, min(n) FILTER (WHERE n > ${lowest}) AS second,
       min(n) FILTER (WHERE n > 0) AS aboveZero, count(nullif(${text}, '')) AS filled, count(${leadingNumber(text)}) AS leading,
       count(*) FILTER (WHERE TRY_CAST(given AS DOUBLE) IS NOT NULL OR lower(trim(${text})) IN (${YES_AND_NO})) AS plain
     FROM ${numbers}`,
  );
  const asNumber = (value: unknown) => (value === null ? null : Number(value));
  return Object.fromEntries(
    Object.entries(found!).map(([key, value]) => [key, typeof value === "boolean" ? value : asNumber(value)]),
  ) as Facts;
}

type Numbers = { readonly number: string; readonly facts: LabelFacts };

async function numbersOrTruths(rows: Rows, name: string, { number, facts }: Numbers) {
  const label = guessLabel(name, facts);
  const sql = identifier(name);
  if (label.type !== "Rating")
    return { label, sql, types: [], meaning: `label ${name} (positive where it is 1 or true)` };
  const bar = label.positive_from;
  const numbers = numbersIn(rows, name, number);
  const [counted] = await rows.query(`SELECT count(*) FILTER (WHERE n >= ${bar}) AS positive FROM ${numbers}`);
  const share = percent(facts.rows === 0 ? 0 : Number(counted!.positive) / facts.rows);
  return { label, sql, types: [], meaning: `label ${name} (positive from ${bar}: ${share} of the rows)` };
}
