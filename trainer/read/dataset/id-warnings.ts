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
    `SELECT count(*) AS ids, count(DISTINCT lower(trim(text))) AS folded, count(*) FILTER (${IS_ROUNDED}) AS rounded,
     min(text) FILTER (${IS_ROUNDED}) AS example FROM ${what}s`,
  );
  const such = (examples: readonly unknown[]) =>
    what === "item" ? `, such as ${examples.map((id) => JSON.stringify(id)).join(" and ")},` : "";
  const messages: string[] = [];
  const rounded = Number(counts.rounded);
  if (rounded > 0)
    messages.push(
      `${rounded} ${what} ids${such([counts.example])} were rounded, as spreadsheets do: their exponent hides digits, so that ` +
        "different ids may have become one; export the column as text",
    );
  if (counts.folded === counts.ids) return messages;
  const alike = async (form: string, among: string) => {
    const groups = `(SELECT count(*) AS ids, min(text) AS a, max(text) AS b FROM ${among} GROUP BY ${form} HAVING count(*) > 1)`;
    const row = await readRow(
      staging,
      `SELECT coalesce(sum(ids - 1), 0) AS ids, min_by(a, a) AS a, min_by(b, a) AS b FROM ${groups}`,
    );
    return { count: Number(row.ids), examples: such([row.a, row.b]) };
  };
  const blanks = await alike("trim(text)", `${what}s`);
  const cases = await alike("lower(text)", `(SELECT DISTINCT trim(text) AS text FROM ${what}s)`);
  const differ = (count: number, examples: string) => `${count} ${what} ids differ from another one${examples} only by`;
  if (blanks.count > 0)
    messages.push(
      `${differ(blanks.count, blanks.examples)} blanks around them: "trim_ids": true in schema.interaction would join them`,
    );
  if (cases.count > 0)
    messages.push(`${differ(cases.count, cases.examples)} upper and lower case: are these different ${what}s?`);
  return messages;
}
