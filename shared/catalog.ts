import type { ItemId, ItemIdType, ItemIndex } from "./ids.ts";
import type { PackedStrings } from "./packed-strings.ts";

/** The bijection item id ↔ item index of one version. */
export type Catalog = {
  readonly itemCount: number;
  readonly itemIdType: ItemIdType;
  /** Undefined for an id that training never saw. */
  indexOf(id: ItemId): ItemIndex | undefined;
  /** Throws RangeError outside 0…itemCount−1. */
  idAt(item: ItemIndex): ItemId;
};

/** Index i of `itemIds` is item index i; ids must be distinct. */
export function encodeCatalog(_content: { itemIds: PackedStrings; itemIdType: ItemIdType }): Uint8Array {
  throw new Error("not built yet");
}

/** Throws FormatError. */
export function decodeCatalog(_bytes: Uint8Array): Catalog {
  throw new Error("not built yet");
}
