/**
 * At which time of the day each item is chosen (rank/at-this-hour.ts), against the choices of all items. The day is that of UTC, and has
 * eight slots. Slot s is the time around 3 s o'clock; between two slots, values are interpolated.
 *
 *     items    u32 [n]           item indices, rising: those that have times of their own
 *     shifts   i8  [n, SLOTS]    thirty-two times the logarithm of: the part of the item's choices that is of this slot / the part of all
 *                                choices that is
 *
 * The file is absent where it does not make better lists.
 */
import * as z from "zod";
import { FormatError } from "./assert.ts";
import { arrayOf, decodeContainer, encodeContainer } from "./container.ts";

export const SLOTS = 8;
const SLOT_SECONDS = 86_400 / SLOTS;
/** `shifts` are in units of 1 / SHIFT_SCALE. */
export const SHIFT_SCALE = 32;

export type ItemHours = {
  readonly itemCount: number;
  readonly items: Uint32Array;
  readonly shifts: Int8Array;
};

const KIND = "item-hours";
const Metadata = z.object({ item_count: z.int().nonnegative() });

export function encodeItemHours({ itemCount, items, shifts }: ItemHours): Uint8Array {
  return encodeContainer({ kind: KIND, metadata: { item_count: itemCount }, arrays: { items, shifts } });
}

/** Throws FormatError. */
export function decodeItemHours(bytes: Uint8Array): ItemHours {
  const container = decodeContainer(bytes, KIND, Metadata);
  const { item_count: itemCount } = container.metadata;
  const items = arrayOf(container, "items", { dtypes: ["u32"] });
  const shifts = arrayOf(container, "shifts", { dtypes: ["i8"], length: items.length * SLOTS });
  if (!items.every((item, i) => item < itemCount && (i === 0 || item > items[i - 1]!)))
    throw new FormatError(`${KIND}: expected items that rise below ${itemCount}`);
  return { itemCount, items, shifts };
}

/** The slot that a moment is in or after, the slot after that one, and how far the moment is on the way to it, in [0, 1). */
export function slotsOf(seconds: number): { readonly from: number; readonly to: number; readonly part: number } {
  const slots = (((seconds % 86_400) + 86_400) % 86_400) / SLOT_SECONDS;
  const from = Math.floor(slots) % SLOTS;
  return { from, to: (from + 1) % SLOTS, part: slots - Math.floor(slots) };
}
