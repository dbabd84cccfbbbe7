/**
 * Ids are never changed. A column whose type does not reproduce the texts of its file, such as 1.10 or 0010-05-05, keeps this type for
 * arithmetic, but a query that gives it out as an id reads it as text.
 */
import type { SourceColumn } from "../connector.ts";
import { NO_TEXTS, type TextColumns } from "./columns.ts";
import type { Sandbox } from "./sandbox.ts";
import type { CheckedSelect } from "./select.ts";

type Column = { readonly table: string; readonly name: string };

type Tables = Pick<Sandbox, "tables" | "readAsText">;

export type IdQuery = {
  /** The query as it stands inside another. */
  readonly inner: string;
  readonly select: CheckedSelect;
  /** The query's columns; undefined where the types do not fit it. */
  describe(): Promise<readonly SourceColumn[] | undefined>;
};

/**
 * A function that makes tables ready for a query: its ids are then read as they are written.
 *
 * @param idColumns Names of queries' columns that are ids.
 */
export function idTextReader(tables: Tables, idColumns: readonly string[]): (query: IdQuery) => Promise<void> {
  const known = new Map<string, TextColumns>();
  return async (query) => {
    const { inner } = query;
    // A query around another, as it is written to prepare a dataset, reads the ids of the other.
    const same = [...known].find(([other]) => inner === other || inner.includes(`(\n${other}\n)`))?.[1];
    const texts = same ?? (await textsOfIds(query, tables, idColumns));
    known.set(inner, texts);
    await tables.readAsText(texts);
  };
}

/** The columns that the query uses as ids and whose types do not reproduce their texts. */
async function textsOfIds(
  { select, describe }: IdQuery,
  { tables, readAsText }: Tables,
  idColumns: readonly string[],
): Promise<TextColumns> {
  const inexact = select.tables.flatMap((table) =>
    (tables.get(table)?.columns ?? []).filter(({ isExact }) => !isExact).map(({ name }) => ({ table, name })),
  );
  if (inexact.length === 0 || idColumns.length === 0) return NO_TEXTS;
  const idTypes = async (columns: readonly Column[]) => {
    await readAsText(byTable(columns));
    const described = await describe();
    const ids = described?.filter(({ name }) => idColumns.includes(name));
    return ids?.map(({ type }) => String(type)).join();
  };
  const behind = select.namesBehind(idColumns);
  const isBehind = ({ name }: Column) => behind.has(name.toLowerCase());
  const others = inexact.filter((column) => !isBehind(column));
  const typed = others.length === 0 ? undefined : await idTypes([]);
  /** The columns among these that change the type of an id, or without which the query is not valid. */
  const deciding = async (columns: readonly Column[]): Promise<readonly Column[]> => {
    if (columns.length === 0) return [];
    const types = await idTypes(columns);
    if (types === typed) return [];
    if (columns.length === 1) return types === undefined ? [] : columns;
    const half = columns.length >> 1;
    return [...(await deciding(columns.slice(0, half))), ...(await deciding(columns.slice(half)))];
  };
  const wanted = [...inexact.filter(isBehind), ...(await deciding(others))];
  if (wanted.length === 0 || (await idTypes(wanted)) === undefined) return NO_TEXTS;
  return byTable(wanted);
}

function byTable(columns: readonly Column[]): TextColumns {
  const tables = new Map<string, Set<string>>();
  for (const { table, name } of columns) tables.set(table, (tables.get(table) ?? new Set()).add(name));
  return tables;
}
