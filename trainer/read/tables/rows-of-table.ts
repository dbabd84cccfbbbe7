/**
 * Tables whose rows are not interactions or items as they stand. JSON often holds what matters within objects and lists:
 * `{user: {id}, items: [{product_id}, …]}`. Tills write the day and the clock into two columns.
 */
import { DuckDBListType, DuckDBStructType, type DuckDBType } from "@duckdb/node-api";
import {
  guessDayAndClock,
  guessIdColumnByRole,
  guessItemColumn,
  guessUserColumn,
} from "../../../shared/guess-columns.ts";
import { identifier, literal } from "../connectors/sql-text.ts";
import { isPlaceStruct } from "../dataset/place-text.ts";
import { QUERY_ATTRIBUTES_MAX } from "../dataset/read-attributes.ts";
import { type Column, type Rows, withoutExtendedJson } from "./extended-json.ts";
import { numberedRows } from "./numbered-rows.ts";

type Row = Readonly<Record<string, unknown>>;

const FIELDS_MAX = 500;

/** The table for SQL, from its name, its columns and its first row. It is returned as it is where nothing has to be changed. */
export type RowsOf = (table: string, columns: readonly Column[], first: Row) => string;

export const interactionsOf: RowsOf = (table, columns, first) =>
  withMoment(rowPerItem(listedRows(plainRows({ table, columns }))), first);

const plainRows = (rows: Rows): Rows => withoutExtendedJson(numberedRows(rows));

/** The rows themselves, where the file is one list of them: `{"orders": [{"user_id": 7, …}, …], "total": 150}`. */
const listedRows = (rows: Rows): Rows => entriesUnless((names) => guessUserColumn(names) !== undefined, rows);

/** The entries of a list of objects with the right fields, where the columns are not right themselves. */
function entriesUnless(areRight: (names: readonly string[]) => boolean, rows: Rows): Rows {
  if (areRight(namesOf(rows.columns))) return rows;
  const list = rows.columns.find(({ type }) => areRight(namesOf(fieldsOfEntries(type))));
  return list === undefined ? rows : unnested(rows.table, list);
}

const unnested = (table: string, list: Column): Rows => ({
  table: `(SELECT unnest(${identifier(list.name)}, max_depth := 2) FROM ${table})`,
  columns: fieldsOfEntries(list.type),
});

/**
 * A table of users or items with a column for each field of an object, such as `brand_name`, instead of the object. Where the rows have
 * no id, but a list of objects has, each of these is a row: `{"products": [{"id": 7}, …], "total": 150}`. Places stay as they are.
 */
export const attributesOf =
  (role: "user" | "item"): RowsOf =>
  (table, columns) => {
    const hasId = (names: readonly string[]) => guessIdColumnByRole(role, names) !== undefined;
    return withoutObjects(entriesUnless(hasId, plainRows({ table, columns })));
  };

function withoutObjects({ table, columns }: Rows): string {
  const objects = columns.filter(({ type }) => type instanceof DuckDBStructType && !isPlaceStruct(type));
  const fields = objects.flatMap(({ name, type }) => fieldsIn({ path: [name], type }));
  const width = columns.length - objects.length + fields.length;
  if (objects.length === 0 || width > QUERY_ATTRIBUTES_MAX) return table;
  const excluded = objects.map(({ name }) => identifier(name)).join(", ");
  return `(SELECT * EXCLUDE (${excluded}) FROM ${withFields({ table, columns }, fields).table})`;
}

/** Adds a column `date_time` of the day and the clock. */
function withMoment({ table, columns }: Rows, first: Row): string {
  const found = guessDayAndClock(namesOf(columns), first);
  if (found === undefined) return table;
  const texts = [found.day, found.clock].map((name) => `CAST(${identifier(name)} AS VARCHAR)`);
  return `(SELECT *, concat_ws(' ', ${texts.join(", ")}) AS ${identifier(freeName("date_time", columns))} FROM ${table})`;
}

/**
 * A table with a row for each entry of a list of items, where no other column looks like the item, and with a column for each field of an
 * object: `user_id` and `item_product_id`. The list may be in the objects of another one, as in the orders of a user. Rows without items
 * are left out.
 */
function rowPerItem(rows: Rows): Rows {
  const values = rows.columns.filter(({ type }) => !(type instanceof DuckDBListType));
  const hasItem = guessItemColumn(namesOf(values)) !== undefined;
  const list = hasItem ? undefined : rows.columns.find(isListOfItems);
  const outer = hasItem ? undefined : rows.columns.find(({ type }) => fieldsOfEntries(type).some(isListOfItems));
  if (list === undefined && outer !== undefined) return rowPerItem(rowPerEntry(rows, outer));
  return list === undefined ? withFields(rows, fieldsOfEvents(rows.columns)) : rowPerEntry(rows, list);
}

function rowPerEntry({ table, columns }: Rows, list: Column): Rows {
  const others = columns.filter((column) => column !== list);
  const entry = { name: freeName(singular(list.name), others), type: (list.type as DuckDBListType).valueType };
  const kept = others.map(({ name }) => identifier(name));
  const unnested = `unnest(${identifier(list.name)}) AS ${identifier(entry.name)}`;
  const all = [...others, entry];
  return withFields(
    { table: `(SELECT ${[...kept, unnested].join(", ")} FROM ${table})`, columns: all },
    fieldsOfEvents(all),
  );
}

const namesOf = (columns: readonly Column[]) => columns.map(({ name }) => name);
const singular = (name: string) => name.replace(/s$/i, "");
/** `items`, `lineItems`, `ordered products`, or `cart` whose objects have a `sku`. */
const isListOfItems = ({ name, type }: Column) =>
  type instanceof DuckDBListType &&
  (guessItemColumn([singular(lastWord(name))]) ?? guessItemColumn(namesOf(fieldsOfEntries(type)))) !== undefined;
const lastWord = (name: string) => /([A-Z]?[a-z]+|[A-Z]+)$/.exec(name)?.[0] ?? "";

/** A field of an object in a column, or of an object in it. */
type Field = { readonly path: readonly [column: string, ...fields: string[]]; readonly type: DuckDBType };

function withFields({ table, columns }: Rows, fields: readonly Field[]): Rows {
  const known: Column[] = [...columns];
  const selected = fields.slice(0, FIELDS_MAX).map(({ path: [column, ...names], type }) => {
    const name = freeName([column, ...names].join("_"), known);
    known.push({ name, type });
    const value = names.reduce((sql, field) => `struct_extract(${sql}, ${literal(field)})`, identifier(column));
    return `${value} AS ${identifier(name)}`;
  });
  return { table: selected.length === 0 ? table : `(SELECT *, ${selected.join(", ")} FROM ${table})`, columns: known };
}

const fieldsOfEntries = (type: DuckDBType): Column[] =>
  type instanceof DuckDBListType ? fieldsOf(type.valueType) : [];

const fieldsOf = (type: DuckDBType): Column[] =>
  type instanceof DuckDBStructType
    ? type.entryNames.map((name, i) => ({ name, type: type.entryTypes[i] as DuckDBType }))
    : [];

const fieldsOfEvents = (columns: readonly Column[]): Field[] =>
  columns.flatMap(({ name, type }) => fieldsWithin({ path: [name], type }));

/**
 * The fields of an object, and of the objects in it. Beside one that looks like an item, `id` or `_id` is that of the object itself, such
 * as a line of an order.
 */
function fieldsWithin(object: Field): Field[] {
  const hasItem = guessItemColumn(namesOf(fieldsOf(object.type))) !== undefined;
  const fields = fieldsIn(object).filter(({ path }) => !(hasItem && /^_?id$/i.test(path.at(-1)!)));
  return fields.flatMap((field) => [field, ...fieldsWithin(field)]);
}

const fieldsIn = ({ path, type }: Field): Field[] =>
  fieldsOf(type).map((field) => ({ path: [...path, field.name], type: field.type }));

/** Names of columns are the same for SQL in upper and lower case. */
function freeName(wanted: string, columns: readonly Column[]): string {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()));
  let name = wanted;
  while (taken.has(name.toLowerCase())) name += "_";
  return name;
}
