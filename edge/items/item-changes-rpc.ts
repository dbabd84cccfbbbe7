/** The calls that a Worker makes to the object with a model's changed items. */
import type { ItemId } from "../../shared/ids.ts";
import type { ItemState, TimedChange } from "../../shared/items/change-items.ts";
import { sleep, within } from "../reading/waiting.ts";

/** A model, and which of several models that had its name one after another. */
export type ChangedModel = {
  readonly customer: string;
  readonly modelName: string;
  /** See `markOf` in shared/live-pointer.ts. */
  readonly mark: string;
  /** Values before this time, in epoch seconds, do not hold in the live version. */
  readonly changesFrom: number;
};

export type NewChange = TimedChange & { readonly id: ItemId };
export type StoredItem = { readonly id: ItemId; readonly state: ItemState };

/** What a model may have no more of. */
export type Bound = "items" | "new" | "attributes" | "bytes";

/**
 * How many changes were stored, `added` of them of new items, and how many were older than what was stored. If nothing was stored: the
 * bound that they exceed, or the positions of changes without attributes whose items nobody knows.
 */
export type Stored = { readonly changed: number; readonly ignored: number; readonly added: number } | Refused;
export type Refused = { readonly full: Bound } | { readonly unknown: readonly number[] };

export type ItemChangesRpc = {
  /** Stores all changes, or none. When it returns, they are durable, and in most cases in the bucket. */
  change(model: ChangedModel, changes: readonly NewChange[]): Promise<Stored>;
  /** Changed items in the order of their ids, from the first one after the given id on. */
  list(model: ChangedModel, after: string, limit: number): Promise<StoredItem[]>;
  /** Null: nothing was changed. */
  view(model: ChangedModel, id: ItemId): Promise<ItemState | null>;
  /** The items that were sent while the live version of that time did not have them. */
  newIds(model: ChangedModel): Promise<ItemId[]>;
  /** These items are not new any more: the live version has them. */
  settle(model: ChangedModel, ids: readonly ItemId[]): Promise<void>;
};

/** The binding ITEMS. */
export type ItemChangesNamespace = { getByName(name: string): ItemChangesRpc };

/** The object did not answer in time. */
export class ItemChangesError extends Error {
  override readonly name = "ItemChangesError";
}

type ItemsCall<T> = {
  readonly call: (object: ItemChangesRpc) => Promise<T>;
  readonly untilMs: number;
  readonly nowMs: () => number;
};

const PAUSE_MS = 20;

/** Calls the object of a model, and repeats a call that fails until the deadline: a deployment restarts it. Throws ItemChangesError. */
export async function callItemChanges<T>(
  namespace: ItemChangesNamespace | undefined,
  { customer, modelName }: Pick<ChangedModel, "customer" | "modelName">,
  { call, untilMs, nowMs }: ItemsCall<T>,
): Promise<T> {
  if (namespace === undefined) throw new ItemChangesError("wrangler.toml has no binding ITEMS: see edge/README.md");
  for (let pauseMs = PAUSE_MS; ; pauseMs *= 2) {
    try {
      const object = namespace.getByName(`${customer}/${modelName}`);
      return await within(Math.max(1, untilMs - nowMs()), "the object of changed items", call(object));
    } catch (cause) {
      const isOverloaded = (cause as { readonly overloaded?: boolean }).overloaded === true;
      if (isOverloaded || nowMs() + pauseMs >= untilMs) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new ItemChangesError(`the object of changed items does not answer: ${reason}`, { cause });
      }
      await sleep(pauseMs);
    }
  }
}
