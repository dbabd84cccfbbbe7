import type { ItemIndex } from "./ids.ts";

/** `items` are sorted item indices without repetition. */
export function encodeSeen(_items: ArrayLike<number>, _itemCount: number): Uint8Array {
  throw new Error("not built yet");
}

/** Never wrongly no; wrongly yes for at most one unseen item in a thousand. Throws FormatError. */
export function decodeSeen(_bytes: Uint8Array, _itemCount: number): (item: ItemIndex) => boolean {
  throw new Error("not built yet");
}
