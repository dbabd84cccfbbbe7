/** Lists that are no attribute, with the reason. */
import type { LeftOut, Place } from "./attribute-column.ts";
import { readRow } from "./staging.ts";
import { isObject } from "./text-readings.ts";

/** Lists of numbers that are all as long, such as what a network makes of a picture. */
const VECTOR_LENGTH_MIN = 8;

/** Why these lists are left out; undefined if they are lists of values. */
export async function whyNoList({ staging, table }: Place, list: string): Promise<LeftOut | undefined> {
  const numbers = `list_transform(${list}, x -> TRY_CAST(x AS DOUBLE))`;
  const having = (test: string) => `count(*) FILTER (len(list_filter(list, x -> ${test})) > 0)`;
  const row = await readRow(
    staging,
    `SELECT min(len(n)) AS least, max(len(n)) AS most, coalesce(bool_and(len(list_filter(n, x -> x IS NULL)) = 0), false) AS are_numbers,
       coalesce(bool_or(len(list_filter(n, x -> x <> trunc(x))) > 0), false) AS have_fractions, count(*) AS present,
       ${having(`regexp_matches(CAST(x AS VARCHAR), '^\\s*[\\[{]')`)} AS nested, ${having(isObject("CAST(x AS VARCHAR)"))} AS objects
     FROM (SELECT ${list} AS list, ${numbers} AS n FROM ${table} WHERE ${list} IS NOT NULL)`,
  );
  const isOneLength = Number(row.least) === Number(row.most) && Number(row.least) >= VECTOR_LENGTH_MIN;
  if (isOneLength && row.are_numbers === true && row.have_fractions === true)
    return { leftOut: "its lists of fractions, all of one length, are vectors, which no method uses yet" };
  if (Number(row.nested) === 0 || Number(row.nested) * 2 <= Number(row.present)) return undefined;
  return Number(row.objects) > 0 ? LISTED_OBJECTS : NESTED;
}

export const NESTED: LeftOut = { leftOut: "its lists contain lists; give it the elements of one list" };
export const OBJECTS: LeftOut = { leftOut: "its values are objects; give it the field that matters, with the query" };
const LISTED_OBJECTS: LeftOut = {
  leftOut: "its lists contain objects; give it a list of the field that matters, with the query",
};
