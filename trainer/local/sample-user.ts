import { identifier, literal } from "../read/connectors/sql-text.ts";
import { type FileAccess, type LocalSource, queryRows } from "./local-source.ts";

/** A user for the example calls. */
export type SampleUser = {
  readonly id: string;
  /** Latest positive items, oldest first, at most five. */
  readonly latest: readonly string[];
};

const HISTORY_WANTED = 30;
const LATEST_SHOWN = 5;
const TITLE_NAMES = /^(title|name|item_name|item_title|product_name|product_title|movie_title|headline)$/i;

/** Picks the user whose number of positive interactions is nearest to HISTORY_WANTED. */
export async function sampleUser(source: LocalSource, access: FileAccess): Promise<SampleUser> {
  const { interactions, columns } = source;
  const [user, item] = [identifier(columns.user), identifier(columns.item)];
  const from = `FROM ${identifier(interactions.name)} WHERE ${columns.label?.positive ?? "true"} AND ${user} IS NOT NULL`;
  const [found] = await queryRows(
    interactions,
    `SELECT CAST(${user} AS VARCHAR) AS id ${from} GROUP BY ${user}
     ORDER BY abs(count(*) - ${HISTORY_WANTED}), id LIMIT 1`,
    { ...access, rowsMax: 1 },
  );
  if (found === undefined) return { id: "somebody-new", latest: [] };
  const id = String(found.id);
  const order = columns.time === null ? "" : `ORDER BY ${identifier(columns.time)} DESC`;
  const rows = await queryRows(
    interactions,
    `SELECT CAST(${item} AS VARCHAR) AS item ${from} AND CAST(${user} AS VARCHAR) = ${literal(id)} ${order} LIMIT ${LATEST_SHOWN}`,
    { ...access, rowsMax: LATEST_SHOWN },
  );
  return { id, latest: rows.map((row) => String(row.item)).reverse() };
}

/** Titles of items by id; empty if the items table has no title column. */
export async function titlesOf(
  source: LocalSource,
  ids: readonly string[],
  access: FileAccess,
): Promise<ReadonlyMap<string, string>> {
  const title = source.items?.columns.find((column) => TITLE_NAMES.test(column));
  if (source.items === null || title === undefined || ids.length === 0) return new Map();
  const query = source.body.schema.item.source!.query;
  const id = `CAST(${identifier(source.columns.item)} AS VARCHAR)`;
  const rows = await queryRows(
    source.items,
    `SELECT ${id} AS id, CAST(${identifier(title)} AS VARCHAR) AS title FROM (${query})
     WHERE ${id} IN (${ids.map(literal).join(", ")})`,
    { ...access, rowsMax: ids.length * 2 },
  );
  return new Map(rows.flatMap((row) => (row.title ? [[String(row.id), String(row.title)]] : [])));
}

/** A filter that the first item of the list passes: its first category. Without categories, a filter that excludes this item. */
export async function sampleFilter(
  source: LocalSource,
  {
    attributes,
    ids,
  }: { readonly attributes: readonly { name: string; type: string }[]; readonly ids: readonly string[] },
  access: FileAccess,
): Promise<Record<string, unknown>> {
  const known = attributes.filter(({ name, type }) => /^Category/.test(type) && !TITLE_NAMES.test(name));
  const withoutFirst = { [source.columns.item]: { $nin: ids.slice(0, 1) } };
  if (source.items === null || known.length === 0 || ids.length === 0) return withoutFirst;
  const id = `CAST(${identifier(source.columns.item)} AS VARCHAR)`;
  const columns = known.map(({ name }) => `CAST(${identifier(name)} AS VARCHAR) AS ${identifier(name)}`).join(", ");
  const query = `SELECT ${columns} FROM (${source.body.schema.item.source!.query}) WHERE ${id} = ${literal(ids[0]!)}`;
  const [row] = await queryRows(source.items, query, { ...access, rowsMax: 1 });
  const found = known.find(({ name }) => row?.[name]);
  if (found === undefined) return withoutFirst;
  const value = String(row![found.name]);
  return { [found.name]: { $in: [found.type === "CategoryList" ? value.split("|")[0] : value] } };
}
