/** The type that the texts of a column suggest. What is guessed is said in its note. */
import type { FeatureType } from "../../../shared/feature-type.ts";
import { hasCode } from "../../stage/stage-error.ts";
import { positiveWord } from "../rules/dialect.ts";
import {
  type Column,
  isInexact,
  type LeftOut,
  type Place,
  type Suggestion,
  timesOf,
  trimmed,
} from "./attribute-column.ts";
import { OBJECTS, vectorsOrLeftOut } from "./list-kinds.ts";
import { looksLikePlace } from "./place-text.ts";
import { readRow, readStaged } from "./staging.ts";
import {
  BRACKETED,
  currencyOf,
  isObject,
  LIST_SEPARATORS,
  NAMES_OF_OBJECTS,
  NUMBER_READINGS,
  separated,
  unlessNothing,
} from "./text-readings.ts";

/** A text column is a list when at least this fraction of its values has a separator. */
const LIST_FRACTION_MIN = 0.1;
/** A text column is a category if its values repeat this often, or if they are few and short. */
const CATEGORY_DISTINCT_MAX = 0.5;
const CATEGORY_FEW = 20;
const CATEGORY_SHORT = 30;

/** A reading is taken if it reads this fraction of the values. The few others are missing. */
const READ_FRACTION_MIN = 0.95;

/** A day: three numbers, eight digits before a clock, or the name of a month and a number. */
const DAY =
  "^([0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}([^0-9]|$)|[0-9]{8}T)|\\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\\b.*[0-9]";

export async function textSuggestion(place: Place, column: Column): Promise<Suggestion | LeftOut> {
  const text = trimmed(`CAST(${column.sql} AS VARCHAR)`);
  const numbers = NUMBER_READINGS.map(({ value }, i) => `count(${value("v")}) AS number${i}`);
  const isUnlike = `${NUMBER_READINGS[1]!.value("v")} IS DISTINCT FROM ${NUMBER_READINGS[2]!.value("v")}`;
  const from = `(SELECT ${unlessNothing("given")} AS v FROM (SELECT ${text} AS given FROM ${place.table}) WHERE given != '')`;
  const row = await readRow(
    place.staging,
    `SELECT count(v) AS present, count(DISTINCT v) AS different, avg(length(v)) AS length, ${numbers.join(", ")},
       min(v) FILTER (${isUnlike}) AS unlike, count(*) FILTER (regexp_matches(v, '${DAY}')) AS dated,
       count(*) FILTER ((${positiveWord("lower(v)")}) IS NOT NULL) AS booleans,
       count(${BRACKETED.value("v")}) AS bracketed, count(*) FILTER (${isObject("v")}) AS objects,
       count(*) FILTER (${looksLikePlace("v")}) AS places,
       count(*) FILTER (regexp_matches(v, '^[+-]?[0-9]+$') AND ${isInexact("TRY_CAST(v AS DOUBLE)")}) AS inexact FROM ${from}`,
  );
  const count = (name: string) => Number(row[name]);
  const present = count("present");
  const areMost = (read: number) => read >= READ_FRACTION_MIN * present;
  if (present === 0) return { type: "Text" };
  if (areMost(count("places"))) return { type: "Location", note: "is read as places" };
  if (count("booleans") === present && count("number0") < present) return { type: "Boolean" };
  if (count("inexact") > 0 && count("number0") === present) return { type: "Category" };

  const texts = { ...place, from };
  const few = count("different") <= CATEGORY_FEW && count("length") <= CATEGORY_SHORT;
  const type = few || count("different") <= present * CATEGORY_DISTINCT_MAX ? "Category" : "Text";
  const read = NUMBER_READINGS.map((_, i) => count(`number${i}`));
  const most = Math.max(...read);
  if (areMost(most)) {
    const at = read.indexOf(most);
    if (at === 0 || read[1] !== read[2] || row.unlike === null) return await numberSuggestion(texts, at);
    const such = `, such as ${JSON.stringify(row.unlike)},`;
    return {
      type,
      note: `stays text: its numbers${such} have commas that may be decimal or not; convert them in the query`,
    };
  }
  const time = areMost(count("dated")) ? await timeSuggestion(place, column, type) : undefined;
  if (time && areMost(time.read)) return time;
  if (count("objects") > 0 && areMost(count("objects") + count("bracketed")))
    return (await namesSuggestion(texts)) ?? OBJECTS;
  if (areMost(count("bracketed"))) return await bracketedSuggestion(texts);
  return (await separatedSuggestion(texts, present)) ?? { type };
}

/** A table of texts. */
type Texts = Place & { readonly from: string };

async function numberSuggestion({ staging, from }: Texts, at: number): Promise<Suggestion> {
  const reading = NUMBER_READINGS[at]!;
  if (at === 0) return { type: "Numerical", reading }; // no guess, unless values are missing
  const currencies = await readStaged(
    staging,
    `SELECT ${currencyOf("v")} AS currency, count(*) AS count FROM ${from} WHERE ${reading.value("v")} IS NOT NULL
     GROUP BY 1 HAVING currency <> '' ORDER BY 2 DESC, 1`,
  );
  const counts = currencies.map(({ currency, count }) => `${count} in ${currency}`).join(", ");
  const mixed = currencies.length > 1 ? ", although they are of several currencies, which are not converted" : "";
  return { type: "Numerical", reading, note: `is read as ${reading.name}${counts && ` (${counts})`}${mixed}` };
}

/** Times as far as they are read. Where day and month could be either, they stay of the other type. */
async function timeSuggestion(
  place: Place,
  column: Column,
  other: FeatureType,
): Promise<(Suggestion & { read: number }) | undefined> {
  try {
    const { value, note } = (await timesOf(place, column))!;
    const { read } = await readRow(place.staging, `SELECT count(${value}) AS read FROM ${place.table}`);
    return { type: "Timestamp", read: Number(read), note };
  } catch (error) {
    if (!hasCode(error, "ambiguous_time")) throw error;
    return { type: other, read: Number.POSITIVE_INFINITY, note: `stays text. ${error.message}` };
  }
}

async function bracketedSuggestion(texts: Texts): Promise<Suggestion | LeftOut> {
  const { staging, from } = texts;
  const lists = { staging, table: `(SELECT ${BRACKETED.value("v")} AS list FROM ${from} WHERE v IS NOT NULL)` };
  const found = (await vectorsOrLeftOut(lists, "list")) ?? {
    type: "CategoryList" as const,
    note: `is read as ${BRACKETED.name}`,
  };
  if ("leftOut" in found) return (await namesSuggestion(texts)) ?? found;
  return { ...found, reading: BRACKETED };
}

async function namesSuggestion({ staging, from }: Texts): Promise<Suggestion | undefined> {
  const reading = NAMES_OF_OBJECTS;
  const { named, objects } = await readRow(
    staging,
    `SELECT count(*) FILTER (len(list_filter(${reading.value("v")}, x -> x <> '')) > 0) AS named, count(*) FILTER (contains(v, '{')) AS objects FROM ${from}`,
  );
  const areNamed = Number(objects) > 0 && Number(named) >= READ_FRACTION_MIN * Number(objects);
  return areNamed ? { type: "CategoryList", reading, note: `is read as ${reading.name}` } : undefined;
}

/** Elements of a list in a text are short and repeat, and lists have different lengths. */
const ELEMENT_LENGTH_MAX = 40;
const ELEMENTS_DISTINCT_MAX = 0.5;

async function separatedSuggestion({ staging, from }: Texts, present: number): Promise<Suggestion | undefined> {
  for (const separator of LIST_SEPARATORS) {
    const reading = separated(separator);
    const elements = `(SELECT len(${reading.value("v")}) AS size, unnest(${reading.value("v")}) AS e FROM ${from} WHERE v IS NOT NULL)`;
    const row = await readRow(
      staging,
      `SELECT (SELECT count(*) FROM ${from} WHERE contains(v, '${separator}')) AS lists, count(*) AS elements,
         count(DISTINCT trim(e)) AS different, max(length(trim(e))) AS longest, min(size) AS least, max(size) AS most,
         count(*) FILTER (regexp_matches(e, '[.!?]\\s')) AS sentences FROM ${elements}`,
    );
    const count = (name: string) => Number(row[name]);
    if (count("lists") < Math.max(1, present * LIST_FRACTION_MIN)) continue;
    if (separator === LIST_SEPARATORS[0]) return { type: "CategoryList", reading };
    const isList =
      count("longest") <= ELEMENT_LENGTH_MAX &&
      count("sentences") === 0 &&
      count("least") < count("most") &&
      count("different") <= ELEMENTS_DISTINCT_MAX * count("elements");
    if (isList) return { type: "CategoryList", reading, note: `is read as ${reading.name}` };
  }
  return undefined;
}
