import { type ItemHours, SHIFT_SCALE, SLOTS, slotsOf } from "../../../shared/item-hours.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";

/** Additive smoothing: each item gets this number of further choices at the usual times, so that a few choices say little. */
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
  const kept: number[] = [];
  for (let item = 0; item < itemCount; item++) {
    const own = counts.subarray(item * SLOTS, (item + 1) * SLOTS);
    const choices = own.reduce((sum, count) => sum + count, 0);
    const shiftsOfItem = Int8Array.from(own, (count, slot) => {
      const share = usual[slot]! / rows;
      const ratio = share > 0 ? (count / share + USUAL_CHOICES) / (choices + USUAL_CHOICES) : 1;
      return Math.max(-SHIFT_MAX, Math.min(SHIFT_MAX, Math.round(SHIFT_SCALE * Math.log(ratio))));
    });
    if (shiftsOfItem.every((shift) => shift === 0)) continue;
    shifts.set(shiftsOfItem, kept.length * SLOTS);
    kept.push(item);
  }
  if (kept.length === 0) return undefined;
  return { itemCount, items: Uint32Array.from(kept), shifts: shifts.slice(0, kept.length * SLOTS) };
}
