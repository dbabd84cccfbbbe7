import { DuckDBTypeId } from "@duckdb/node-api";
import type { StagedInteractions } from "./check-interactions.ts";
import { readRow, type Staging } from "./staging.ts";

type IdWarning = { readonly code: "user_ids" | "item_ids"; readonly message: string };

const WITH_POINT = new Set([DuckDBTypeId.FLOAT, DuckDBTypeId.DOUBLE, DuckDBTypeId.DECIMAL]);
const TEXTS = new Set([DuckDBTypeId.VARCHAR, DuckDBTypeId.ENUM]);

/** Whether the number has digits that a text with an exponent, such as 1.50000E+12, does not show. */
const IS_ROUNDED = `regexp_full_match(text, '-?[0-9]([.][0-9]+)?[eE][+]?[0-9]{1,3}')
  AND TRY_CAST(regexp_extract(text, '([0-9]+)$', 1) AS INTEGER) > strlen(regexp_extract(text, '[.]([0-9]+)', 1))`;

/**
 * Warnings about ids that may not be what their owner thinks, once they are numbered. Only items are named, since the record outlives
 * users.
 */
export async function idWarnings(staging: Staging, { table }: StagedInteractions): Promise<IdWarning[]> {
  const warnings: IdWarning[] = [];
  for (const [i, what] of (["user", "item"] as const).entries()) {
    const { name, type } = table.columns[i]!;
    const messages = TEXTS.has(type.typeId) ? await textWarnings(staging, what) : [];
    if (WITH_POINT.has(type.typeId) && (await hasWhole(staging, what)))
      messages.push(
        `The ${what} ids in ${JSON.stringify(name)} are numbers with a point; whole ones lose it: 12.0 is the id 12`,
      );
    warnings.push(...messages.map((message) => ({ code: `${what}_ids` as const, message })));
  }
  return warnings;
}

async function hasWhole(staging: Staging, what: "user" | "item"): Promise<boolean> {
  const row = await readRow(staging, `SELECT coalesce(bool_or(NOT contains(text, '.')), false) AS found FROM ${what}s`);
  return row.found === true;
}

async function textWarnings(staging: Staging, what: "user" | "item"): Promise<string[]> {
  const counts = await readRow(
    staging,
    `SELECT count(*) AS ids, count(DISTINCT lower(trim(text))) AS folded, count(rounded) AS rounded, min(rounded) AS example
     FROM (SELECT text, CASE WHEN ${IS_ROUNDED} THEN text END AS rounded FROM ${what}s)`,
  );
  const such = (examples: readonly unknown[]) =>
    what === "item" ? `, such as ${examples.map((id) => JSON.stringify(id)).join(" and ")},` : "";
  const rounded =
    `${counts.rounded} ${what} ids${such([counts.example])} were rounded, as spreadsheets do: their exponent hides digits, so that ` +
    "different ids may have become one; export the column as text";
  /** A warning about ids that are equal in a form, if there are any. */
  const alike = async (form: string, among: string, difference: string) => {
    const groups = `(SELECT count(*) AS ids, min(text) AS a, max(text) AS b FROM ${among} GROUP BY ${form} HAVING count(*) > 1)`;
    const row = await readRow(
      staging,
      `SELECT coalesce(sum(ids - 1), 0) AS ids, min_by(a, a) AS a, min_by(b, a) AS b FROM ${groups}`,
    );
    if (Number(row.ids) === 0) return [];
    return [`${row.ids} ${what} ids differ from another one${such([row.a, row.b])} only by ${difference}`];
  };
  const blanks = 'blanks around them: "trim_ids": true in schema.interaction would join them';
  const cases = `upper and lower case: are these different ${what}s?`;
  const messages = counts.rounded === 0n ? [] : [rounded];
  if (counts.folded === counts.ids) return messages;
  messages.push(...(await alike("trim(text)", `${what}s`, blanks)));
  messages.push(...(await alike("lower(text)", `(SELECT DISTINCT trim(text) AS text FROM ${what}s)`, cases)));
  return messages;
}
