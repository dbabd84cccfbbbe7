/** How changes of items enter the tables, within the bounds of a model. Called in a transaction. */
import { changedState, type ItemState, isChanged, UNCHANGED_ITEM } from "../../shared/items/change-items.ts";
import { CHANGED_ITEMS_MAX } from "../../shared/items/changes-file.ts";
import { MEGABYTE } from "../../shared/memory-cost.ts";
import { type ChangeTables, stateIn, textOf } from "./change-tables.ts";
import type { Bound, ChangedModel, NewChange, Stored } from "./item-changes-rpc.ts";

/** The files of changes name no more attributes. */
const ATTRIBUTES_MAX = 400;
/** Limit on the size of all rows: the object reads all of them to write a base. */
const BYTES_MAX = 32 * MEGABYTE;
/** An item that has the source's values again is remembered this long, so that changes that arrive late are ignored. */
const UNCHANGED_KEPT_MS = 24 * 3_600_000;

/** Thrown to undo a transaction. */
class FullError extends Error {
  readonly bound: Bound;
  constructor(bound: Bound) {
    super(bound);
    this.bound = bound;
  }
}

/** Stores all changes in one transaction; none if they exceed a bound. */
export function storeWithin(
  transaction: <T>(work: () => T) => T,
  tables: ChangeTables,
  model: Pick<ChangedModel, "changesFrom">,
  changes: readonly NewChange[],
): Stored {
  const attempt = () => transaction(() => storeChanges(tables, changes));
  try {
    try {
      return attempt();
    } catch (error) {
      if (!(error instanceof FullError) || !transaction(() => forgetOvertaken(tables, model.changesFrom))) throw error;
      return attempt();
    }
  } catch (error) {
    if (error instanceof FullError) return { full: error.bound };
    throw error;
  }
}

/** Throws FullError. */
function storeChanges(tables: ChangeTables, changes: readonly NewChange[]): Stored {
  const seq = tables.number("seq") + 1;
  let [changed, count, bytes] = [0, tables.number("count"), tables.number("bytes")];
  const names = new Set<string>();
  for (const { id, ...change } of changes) {
    const before = tables.stateOf(id);
    const state = changedState(before ?? UNCHANGED_ITEM, change);
    if (state === undefined) continue;
    changed++;
    count += Number(isChanged(state)) - Number(before !== undefined && isChanged(before));
    bytes += sizeOf(state) - (before ? sizeOf(before) : -id.length);
    for (const name of Object.keys(change.attributes ?? {})) names.add(name);
    tables.store({ id, state }, seq);
  }
  for (const name of names) tables.query("INSERT OR IGNORE INTO attributes VALUES (?)", name);
  if (count > CHANGED_ITEMS_MAX) throw new FullError("items");
  if (bytes > BYTES_MAX) throw new FullError("bytes");
  const [{ total }] = tables.query<{ total: number }>("SELECT COUNT(*) AS total FROM attributes") as [
    { total: number },
  ];
  if (total > ATTRIBUTES_MAX) throw new FullError("attributes");
  if (changed > 0) {
    tables.set("seq", seq);
    tables.set("count", count);
    tables.set("bytes", bytes);
  }
  return { changed, ignored: changes.length - changed };
}

const sizeOf = (state: ItemState) => textOf(state).length;

/** Removes values that the live version's data have overtaken. Returns whether there were any. */
function forgetOvertaken(tables: ChangeTables, fromSeconds: number): boolean {
  let isForgotten = false;
  const rows = tables.query<{ id: string; state: string }>("SELECT id, state FROM items WHERE is_changed = 1");
  const used = new Set<string>();
  for (const { id, state: text } of rows) {
    const state = stateIn(text);
    const entries = Object.entries(state.values);
    const kept = entries.filter(([, { at }]) => at >= fromSeconds * 1000);
    for (const [name] of kept) used.add(name);
    if (kept.length === entries.length) continue;
    isForgotten = true;
    const left = { ...state, values: Object.fromEntries(kept) };
    const isLeft = isChanged(left) ? 1 : 0;
    tables.query("UPDATE items SET state = ?, is_changed = ? WHERE id = ?", textOf(left), isLeft, id);
  }
  if (!isForgotten) return false;
  tables.query("DELETE FROM attributes WHERE name NOT IN (SELECT value FROM json_each(?))", JSON.stringify([...used]));
  tables.recount();
  tables.set("forgets", tables.number("forgets") + 1);
  return true;
}

/** Forgets items that have had the source's values for a while. The head and the base must not have them any more. */
export function forgetUnchanged(tables: ChangeTables, nowMs: number): void {
  const [beforeMs, baseSeq] = [nowMs - UNCHANGED_KEPT_MS, tables.number("base_seq")];
  tables.query("DELETE FROM items WHERE is_changed = 0 AND last_at < ? AND seq <= ?", beforeMs, baseSeq);
  tables.recount();
}
