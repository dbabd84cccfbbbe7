/** How changes of items enter the tables, within the bounds of a model. Called in a transaction. */
import type { ItemId } from "../../shared/ids.ts";
import { changedState, type ItemState, isChanged, UNCHANGED_ITEM } from "../../shared/items/change-items.ts";
import { CHANGED_ITEMS_MAX } from "../../shared/items/changes-file.ts";
import { NEW_ITEMS_MAX } from "../../shared/items/extended-catalog.ts";
import { MEGABYTE } from "../../shared/memory-cost.ts";
import { type ChangeTables, stateIn, textOf } from "./change-tables.ts";
import type { Bound, ChangedModel, NewChange, Refused, Stored } from "./item-changes-rpc.ts";

/** The files of changes name no more attributes. */
const ATTRIBUTES_MAX = 400;
/** Limit on the size of all rows: the object reads all of them to write a base. */
const BYTES_MAX = 32 * MEGABYTE;
/** An item that has the source's values again is remembered this long, so that changes that arrive late are ignored. */
const UNCHANGED_KEPT_MS = 24 * 3_600_000;

/** Thrown to undo a transaction. */
class RefusedError extends Error {
  readonly refused: Refused;
  constructor(refused: Refused) {
    super("the changes cannot be stored");
    this.refused = refused;
  }
}

const fullError = (full: Bound) => new RefusedError({ full });
const isFull = (error: unknown) => error instanceof RefusedError && "full" in error.refused;

/** Stores all changes in one transaction; none if they exceed a bound or an item is unknown. */
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
      if (!isFull(error) || !transaction(() => forgetOvertaken(tables, model.changesFrom))) throw error;
      return attempt();
    }
  } catch (error) {
    if (error instanceof RefusedError) return error.refused;
    throw error;
  }
}

/** Throws RefusedError. */
function storeChanges(tables: ChangeTables, changes: readonly NewChange[]): Stored {
  const seq = tables.number("seq") + 1;
  let [changed, added] = [0, 0];
  let [count, newCount, bytes] = [tables.number("count"), tables.number("new"), tables.number("bytes")];
  const names = new Set<string>();
  const unknown: number[] = [];
  for (const [i, { id, ...change }] of changes.entries()) {
    const sentNames = Object.keys(change.attributes ?? {});
    const before = tables.stateOf(id);
    if (change.isNew && before === undefined && sentNames.length === 0) unknown.push(i);
    const state = changedState(before ?? UNCHANGED_ITEM, change);
    if (state === undefined) continue;
    changed++;
    if (change.isNew && state.newAt !== null) added++;
    count += Number(isChanged(state)) - Number(before !== undefined && isChanged(before));
    newCount += Number(state.newAt !== null) - Number(before !== undefined && before.newAt !== null);
    bytes += sizeOf(state) - (before ? sizeOf(before) : -id.length);
    for (const name of sentNames) names.add(name);
    tables.store({ id, state }, seq);
  }
  if (unknown.length > 0) throw new RefusedError({ unknown });
  for (const name of names) tables.query("INSERT OR IGNORE INTO attributes VALUES (?)", name);
  if (count > CHANGED_ITEMS_MAX) throw fullError("items");
  if (newCount > NEW_ITEMS_MAX) throw fullError("new");
  if (bytes > BYTES_MAX) throw fullError("bytes");
  const [{ total }] = tables.query<{ total: number }>("SELECT COUNT(*) AS total FROM attributes") as [
    { total: number },
  ];
  if (total > ATTRIBUTES_MAX) throw fullError("attributes");
  if (changed > 0) {
    tables.set("seq", seq);
    tables.set("count", count);
    tables.set("new", newCount);
    tables.set("bytes", bytes);
  }
  return { changed, ignored: changes.length - changed, added };
}

const sizeOf = (state: ItemState) => textOf(state).length;

/** Removes values and new items that the live version's data have overtaken. Returns whether there were any. */
function forgetOvertaken(tables: ChangeTables, fromSeconds: number): boolean {
  let isForgotten = false;
  const rows = tables.query<{ id: string; state: string }>("SELECT id, state FROM items WHERE is_changed = 1");
  const used = new Set<string>();
  for (const { id, state: text } of rows) {
    const state = stateIn(text);
    const entries = Object.entries(state.values);
    const newAt = state.newAt !== null && state.newAt >= fromSeconds * 1000 ? state.newAt : null;
    const kept = newAt === null ? entries.filter(([, { at }]) => at >= fromSeconds * 1000) : entries;
    for (const [name] of kept) used.add(name);
    if (kept.length === entries.length && newAt === state.newAt) continue;
    isForgotten = true;
    const left = { ...state, values: Object.fromEntries(kept), newAt };
    const isLeft = isChanged(left) ? 1 : 0;
    tables.query("UPDATE items SET state = ?, is_changed = ? WHERE id = ?", textOf(left), isLeft, id);
  }
  if (!isForgotten) return false;
  tables.query("DELETE FROM attributes WHERE name NOT IN (SELECT value FROM json_each(?))", JSON.stringify([...used]));
  tables.recount();
  tables.set("forgets", tables.number("forgets") + 1);
  return true;
}

/** Items of which the live version says that it has them are not new any more. The base is written again without that. */
export function settleNew(tables: ChangeTables, ids: readonly ItemId[]): void {
  for (const id of ids) {
    const state = tables.stateOf(id);
    if (state) tables.query("UPDATE items SET state = ? WHERE id = ?", textOf({ ...state, newAt: null }), id);
  }
  tables.recount();
  tables.set("forgets", tables.number("forgets") + 1);
}

/** Forgets items that have had the source's values for a while. The head and the base must not have them any more. */
export function forgetUnchanged(tables: ChangeTables, nowMs: number): void {
  const [beforeMs, baseSeq] = [nowMs - UNCHANGED_KEPT_MS, tables.number("base_seq")];
  tables.query("DELETE FROM items WHERE is_changed = 0 AND last_at < ? AND seq <= ?", beforeMs, baseSeq);
  tables.recount();
}
