/** The calls that a Worker makes to the object with a model's changed items. */
import type { ItemId } from "../../shared/ids.ts";
import type { ItemState, TimedChange } from "../../shared/items/change-items.ts";
import { callObject, type ObjectCall, type ObjectNamespace } from "../reading/call-object.ts";

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
export type ItemChangesNamespace = ObjectNamespace<ItemChangesRpc>;

/** The object did not answer in time. */
export class ItemChangesError extends Error {
  override readonly name = "ItemChangesError";
}

/** Calls the object of a model. Throws ItemChangesError, also if the deployment has no such objects. */
export async function callItemChanges<T>(
  namespace: ItemChangesNamespace | undefined,
  { customer, modelName }: Pick<ChangedModel, "customer" | "modelName">,
  call: ObjectCall<ItemChangesRpc, T>,
): Promise<T> {
  if (namespace === undefined) throw new ItemChangesError("wrangler.toml has no binding ITEMS: see edge/README.md");
  const what = "the object of changed items";
  return await callObject(namespace, { name: `${customer}/${modelName}`, what, Failure: ItemChangesError }, call);
}
