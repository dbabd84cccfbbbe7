/**
 * Tables whose rows are not interactions as they stand. JSON often holds the ids of events and orders within objects and lists:
 * `{user: {id}, items: [{product_id}, …]}`. Tills write the day and the clock into two columns.
 */
import { DuckDBListType, DuckDBStructType, type DuckDBType } from "@duckdb/node-api";
import { guessDayAndClock, guessItemColumn } from "../../shared/guess-columns.ts";
import type { SourceColumn } from "../read/connectors/connector.ts";
import { identifier, literal } from "../read/connectors/sql-text.ts";

type Column = Pick<SourceColumn, "name" | "type">;
type Row = Readonly<Record<string, unknown>>;

const FIELDS_MAX = 500;

/** @param first The first row. The table is returned as it is where nothing has to be changed. */
export const interactionsOf = (table: string, columns: readonly Column[], first: Row): string =>
  withMoment(rowPerItem(table, columns), columns, first);

/** Adds a column `date_time` of the day and the clock. */
function withMoment(table: string, columns: readonly Column[], first: Row): string {
  const found = guessDayAndClock(namesOf(columns), first);
  if (found === undefined) return table;
  const texts = [found.day, found.clock].map((name) => `CAST(${identifier(name)} AS VARCHAR)`);
  return `(SELECT *, concat_ws(' ', ${texts.join(", ")}) AS ${identifier(freeName("date_time", columns))} FROM ${table})`;
}

/**
 * A table with a row for each entry of a list of items, where no other column looks like the item, and with a column for each field of an
 * object: `user_id` and `item_product_id`. Rows without items are left out.
 */
function rowPerItem(table: string, columns: readonly Column[]): string {
  const list = guessItemColumn(namesOf(columns)) === undefined ? columns.find(isListOfItems) : undefined;
  if (list === undefined) return withFields(table, columns);
  const others = columns.filter((column) => column !== list);
  const entry = { name: freeName(singular(list.name), others), type: (list.type as DuckDBListType).valueType };
  const kept = others.map(({ name }) => identifier(name));
  const unnested = `unnest(${identifier(list.name)}) AS ${identifier(entry.name)}`;
  return withFields(`(SELECT ${[...kept, unnested].join(", ")} FROM ${table})`, [...others, entry]);
}

const namesOf = (columns: readonly Column[]) => columns.map(({ name }) => name);
const singular = (name: string) => name.replace(/s$/i, "");
/** `items`, `lineItems`, `ordered products`. */
const isListOfItems = ({ name, type }: Column) =>
  type instanceof DuckDBListType && /s$/i.test(name) && guessItemColumn([singular(lastWord(name))]) !== undefined;
const lastWord = (name: string) => /([A-Z]?[a-z]+|[A-Z]+)$/.exec(name)?.[0] ?? "";

function withFields(table: string, columns: readonly Column[]): string {
  const known: Column[] = [...columns];
  const added = columns.flatMap((column) => fieldsOf(column)).slice(0, FIELDS_MAX);
  const selected = added.map(({ column, field }) => {
    const name = freeName(`${column.name}_${field.name}`, known);
    known.push({ name, type: field.type });
    return `struct_extract(${identifier(column.name)}, ${literal(field.name)}) AS ${identifier(name)}`;
  });
  return selected.length === 0 ? table : `(SELECT *, ${selected.join(", ")} FROM ${table})`;
}

/** The fields of an object. Where one of them looks like an item, `id` is that of the object itself, such as a line of an order. */
function fieldsOf(column: Column): { readonly column: Column; readonly field: Column }[] {
  if (!(column.type instanceof DuckDBStructType)) return [];
  const { entryNames, entryTypes } = column.type;
  const fields = entryNames.map((name, i): Column => ({ name, type: entryTypes[i] as DuckDBType }));
  const hasItem = guessItemColumn(entryNames) !== undefined;
  return fields.filter(({ name }) => !(hasItem && /^id$/i.test(name))).map((field) => ({ column, field }));
}

/** Names of columns are the same for SQL in upper and lower case. */
function freeName(wanted: string, columns: readonly Column[]): string {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()));
  let name = wanted;
  while (taken.has(name.toLowerCase())) name += "_";
  return name;
}
