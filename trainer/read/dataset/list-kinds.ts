/** Lists that are vectors, or no attribute, with the reason. */
import type { LeftOut, Place, Suggestion } from "./attribute-column.ts";
import { readRow } from "./staging.ts";
import { isObject } from "./text-readings.ts";

/** Lists of numbers that are all as long, such as what a network makes of a picture. */
const VECTOR_LENGTH_MIN = 8;

const numbersOf = (list: string) => `list_transform(${list}, x -> TRY_CAST(x AS FLOAT))`;

/** What these lists are if they are no lists of values: vectors, or the reason why they are left out. Otherwise undefined. */
export async function vectorsOrLeftOut(
  { staging, table }: Place,
  list: string,
): Promise<Suggestion | LeftOut | undefined> {
  const having = (test: string) => `count(*) FILTER (len(list_filter(list, x -> ${test})) > 0)`;
  const row = await readRow(
    staging,
    `SELECT min(len(n)) AS least, max(len(n)) AS most, coalesce(bool_and(len(list_filter(n, x -> x IS NULL)) = 0), false) AS are_numbers,
       coalesce(bool_or(len(list_filter(n, x -> x <> trunc(x))) > 0), false) AS have_fractions, count(*) AS present,
       ${having(`regexp_matches(CAST(x AS VARCHAR), '^\\s*[\\[{]')`)} AS nested, ${having(isObject("CAST(x AS VARCHAR)"))} AS objects
     FROM (SELECT ${list} AS list, ${numbersOf(list)} AS n FROM ${table} WHERE ${list} IS NOT NULL)`,
  );
  const isOneLength = Number(row.least) === Number(row.most) && Number(row.least) >= VECTOR_LENGTH_MIN;
  if (isOneLength && row.are_numbers === true && row.have_fractions === true)
    return { type: "Vector", note: `is read as vectors of ${row.least} numbers, which only place new items in lists` };
  if (Number(row.nested) === 0 || Number(row.nested) * 2 <= Number(row.present)) return undefined;
  return Number(row.objects) > 0 ? LISTED_OBJECTS : NESTED;
}

/** SQL of the vector: FLOAT[] of the column's most frequent length; NULL for other lists. */
export async function vectorSql({ staging, table }: Place, list: string): Promise<string> {
  const { width } = await readRow(staging, `SELECT mode(len(${list})) AS width FROM ${table} WHERE len(${list}) > 0`);
  const numbers = numbersOf(list);
  const isVector = `len(${list}) = ${Number(width ?? 0)} AND len(list_filter(${numbers}, x -> x IS NULL OR NOT isfinite(x))) = 0`;
  return `CASE WHEN ${isVector} THEN ${numbers} END`;
}

export const NESTED: LeftOut = { leftOut: "its lists contain lists; give it the elements of one list" };
export const OBJECTS: LeftOut = { leftOut: "its values are objects; give it the field that matters, with the query" };
const LISTED_OBJECTS: LeftOut = {
  leftOut: "its lists contain objects; give it a list of the field that matters, with the query",
};
