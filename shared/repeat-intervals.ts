/**
 * After how long users choose the same item again, for lists of what they may want again (rank/chosen-again.ts).
 *
 *     items   u32 [n]   item indices, rising: the items of which a repetition was seen
 *     days    f32 [n]   the item's interval, drawn towards the usual one where few repetitions were seen
 *
 * `usual_days` is the interval of all other items. The file is absent where the data have too few repetitions.
 */
import * as z from "zod";
import { FormatError } from "./assert.ts";
import { countBelowIn } from "./binary-search.ts";
import { arrayOf, decodeContainer, encodeContainer } from "./container.ts";
import type { ItemIndex } from "./ids.ts";

export type IntervalTable = {
  readonly itemCount: number;
  readonly usualDays: number;
  readonly items: Uint32Array;
  readonly days: Float32Array;
};

export type RepeatIntervals = { readonly itemCount: number; daysOf(item: ItemIndex): number };

const KIND = "repeat-intervals";
const Metadata = z.object({ item_count: z.int().nonnegative(), usual_days: z.number().positive() });

export function encodeRepeatIntervals({ itemCount, usualDays, items, days }: IntervalTable): Uint8Array {
  const metadata = Metadata.parse({ item_count: itemCount, usual_days: usualDays });
  return encodeContainer({ kind: KIND, metadata, arrays: { items, days } });
}

/** Throws FormatError. */
export function decodeRepeatIntervals(bytes: Uint8Array): RepeatIntervals {
  const container = decodeContainer(bytes, KIND, Metadata);
  const { item_count: itemCount, usual_days: usualDays } = container.metadata;
  const items = arrayOf(container, "items", { dtypes: ["u32"] });
  const days = arrayOf(container, "days", { dtypes: ["f32"], length: items.length });
  const areRising = items.every((item, i) => item < itemCount && (i === 0 || item > items[i - 1]!));
  if (!areRising || !days.every((value) => value > 0 && Number.isFinite(value)))
    throw new FormatError(`${KIND}: expected items that rise below ${itemCount}, with intervals above 0`);
  return {
    itemCount,
    daysOf(item) {
      const at = countBelowIn(items.length, (i) => items[i]! < item);
      return items[at] === item ? days[at]! : usualDays;
    },
  };
}
