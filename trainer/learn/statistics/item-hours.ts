import { type ItemHours, SHIFT_SCALE, SLOTS, slotsOf } from "../../../shared/item-hours.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";

/** So many choices at the usual times are added to those of each item: an item with few choices then has no times of its own. */
const USUAL_CHOICES = 5;
const SHIFT_MAX = 127;

/** At which time of the day each item is chosen, of the positive interactions. Undefined if no item has times of its own. */
export function itemHours({ itemCount, items, times, positive }: Interactions): ItemHours | undefined {
  const counts = new Float32Array(itemCount * SLOTS);
  const usual = new Float64Array(SLOTS);
  let rows = 0;
  for (let row = 0; row < items.length; row++) {
    if (!positive[row]) continue;
    const { from, to, part } = slotsOf(times[row]!);
    const first = items[row]! * SLOTS;
    counts[first + from]! += 1 - part;
    counts[first + to]! += part;
    usual[from]! += 1 - part;
    usual[to]! += part;
    rows++;
  }
  const shifts = new Int8Array(itemCount * SLOTS);
  for (let item = 0; item < itemCount; item++) {
    const own = counts.subarray(item * SLOTS, (item + 1) * SLOTS);
    const choices = own.reduce((sum, count) => sum + count, 0);
    for (let slot = 0; slot < SLOTS; slot++) {
      const share = usual[slot]! / rows;
      const ratio = share > 0 ? (own[slot]! / share + USUAL_CHOICES) / (choices + USUAL_CHOICES) : 1;
      const shift = Math.round(SHIFT_SCALE * Math.log(ratio));
      shifts[item * SLOTS + slot] = Math.max(-SHIFT_MAX, Math.min(SHIFT_MAX, shift));
    }
  }
  const shiftsOf = (item: number) => shifts.subarray(item * SLOTS, (item + 1) * SLOTS);
  const own = Array.from({ length: itemCount }, (_, item) => item).filter((item) =>
    shiftsOf(item).some((s) => s !== 0),
  );
  if (own.length === 0) return undefined;
  const kept = new Int8Array(own.length * SLOTS);
  for (const [at, item] of own.entries()) kept.set(shiftsOf(item), at * SLOTS);
  return { itemCount, items: Uint32Array.from(own), shifts: kept };
}
