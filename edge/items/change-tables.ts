/**
 * The tables of a model's changed items. A row of `items` is one item that was ever changed, with all that is known of its changes.
 * `seq` is the number of its last change, so the items that are not in the base file have higher numbers than the base.
 */
import type { AttributeValue } from "../../shared/attribute-values.ts";
import type { ItemId } from "../../shared/ids.ts";
import { type ItemState, isChanged, lastChangeOf } from "../../shared/items/change-items.ts";
import type { ChangedItem } from "../../shared/items/changes-file.ts";
import { Descriptor } from "../../shared/manifest.ts";
import { SqlTables } from "../reading/sql-tables.ts";
import type { StoredItem } from "./item-changes-rpc.ts";

/** Not named `state`: a backup takes a database with a table of that name for a shard of events. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS items (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL, is_changed INTEGER NOT NULL, last_at INTEGER NOT NULL, state TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS items_by_seq ON items (seq);
  CREATE TABLE IF NOT EXISTS attributes (name TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS bases (digest TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS catalog_state (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
`;

/**
 * `seq`: the number of the last change. `written`: the last number that the bucket has. `base_seq`: the last one in the base.
 * `forgets`: how often changes were forgotten. `base_forgets`: the same when the base was made. If they differ, the base has too much.
 * `count`, `new`, `bytes`: changed items, those of them that are new, and the size of all rows.
 */
type NumberName = "seq" | "written" | "base_seq" | "forgets" | "base_forgets" | "count" | "new" | "bytes";
type TextName = "customer" | "model_name" | "mark" | "base";

const PART_ROWS = 1000;
/** The fifth entry of a state's list. */
const IS_NEW = "json_extract(state, '$[4]') IS NOT NULL";

type Row = { readonly id: ItemId; readonly seq: number; readonly state: string };

export class ChangeTables extends SqlTables {
  constructor(sql: SqlStorage) {
    super(sql, SCHEMA);
  }
  text(name: TextName): string | undefined {
    const [row] = this.query<{ value: string }>("SELECT value FROM catalog_state WHERE name = ?", name);
    return row?.value;
  }
  number(name: NumberName): number {
    return this.numberIn("SELECT value FROM catalog_state WHERE name = ?", name);
  }
  set(name: NumberName | TextName, value: string | number): void {
    this.query("INSERT OR REPLACE INTO catalog_state VALUES (?, ?)", name, value);
  }
  /** The file with the changes that are not in the head. */
  get base(): Descriptor | null {
    const text = this.text("base");
    return text === undefined ? null : Descriptor.parse(JSON.parse(text));
  }
  get hasUnwritten(): boolean {
    return this.number("seq") > this.number("written");
  }

  stateOf(id: ItemId): ItemState | undefined {
    const [row] = this.query<Row>("SELECT state FROM items WHERE id = ?", id);
    return row && stateIn(row.state);
  }
  store({ id, state }: StoredItem, seq: number): void {
    const [text, isShown] = [textOf(state), isChanged(state) ? 1 : 0];
    const lastAt = Math.floor(lastChangeOf(state));
    this.query("INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?)", id, seq, isShown, lastAt, text);
  }
  /** Changed items in the order of their ids. */
  listed(after: string, limit: number): StoredItem[] {
    const text = "SELECT id, state FROM items WHERE is_changed = 1 AND id > ? ORDER BY id LIMIT ?";
    return this.query<Row>(text, after, limit).map(({ id, state }) => ({ id, state: stateIn(state) }));
  }
  /** The items that changed after a number, at most `limit`, also those that have the source's values again. */
  changedAfter(seq: number, limit: number): ChangedItem[] {
    return this.query<Row>("SELECT id, state FROM items WHERE seq > ? LIMIT ?", seq, limit).map(changedItem);
  }
  /** Every item that differs from its source, in the order of ids. They are read in parts: all at once would be 100 MB. */
  *allChanged(): Generator<ChangedItem> {
    const text = "SELECT id, state FROM items WHERE is_changed = 1 AND id > ? ORDER BY id LIMIT ?";
    let rows = this.query<Row>(text, "", PART_ROWS);
    while (rows.length > 0) {
      yield* rows.map(changedItem);
      rows = this.query<Row>(text, rows.at(-1)!.id, PART_ROWS);
    }
  }
  /** The items that were sent while the live version did not have them. */
  newIds(): ItemId[] {
    return this.query<Row>(`SELECT id FROM items WHERE ${IS_NEW}`).map(({ id }) => id);
  }
  /** Counts the rows again, after some were deleted. */
  recount(): void {
    const counts = `SUM(is_changed) AS count, SUM(${IS_NEW}) AS new, SUM(length(id) + length(state)) AS bytes`;
    const [row] = this.query<Record<"count" | "new" | "bytes", number | null>>(`SELECT ${counts} FROM items`);
    for (const name of ["count", "new", "bytes"] as const) this.set(name, row?.[name] ?? 0);
  }
  clear(): void {
    for (const table of ["items", "attributes", "bases", "catalog_state"]) this.query(`DELETE FROM ${table}`);
  }
}

/** A state as text. It is a list without names of fields, since there may be 200,000 of them. */
export function textOf({ hidden, hiddenAt, withdrawnAt, values, newAt }: ItemState): string {
  const named = Object.entries(values).map(([name, { value, at }]) => [name, [value, at]]);
  const list = [hidden ? 1 : 0, hiddenAt, withdrawnAt, Object.fromEntries(named)];
  return JSON.stringify(newAt === null ? list : [...list, newAt]);
}

export function stateIn(text: string): ItemState {
  const [hidden, hiddenAt, withdrawnAt, values, newAt = null] = JSON.parse(text) as StateList;
  const named = Object.entries(values).map(([name, [value, at]]) => [name, { value, at }]);
  const held = Object.fromEntries(named) as ItemState["values"];
  return { hidden: hidden === 1, hiddenAt, withdrawnAt, values: held, newAt };
}
type StateList = [0 | 1, number | null, number | null, Record<string, [AttributeValue | null, number]>, number?];

function changedItem({ id, state }: Row): ChangedItem {
  const { hidden, values, newAt } = stateIn(state);
  const named = Object.entries(values).map(([name, { value, at }]) => [name, { value, at: Math.floor(at / 1000) }]);
  const since = newAt === null ? {} : { newAt: Math.floor(newAt / 1000) };
  return { id, hidden, ...since, values: Object.fromEntries(named) as ChangedItem["values"] };
}
