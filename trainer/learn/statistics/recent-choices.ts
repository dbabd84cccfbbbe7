import { type ChoiceCounts, EARLIER_HOURS, ITEMS_MAX, RECENT_HOURS } from "../../../shared/recent-choices.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";

/**
 * Ages in hours that separate the counts: finer for the recent 48 hours, whose end moves on while the version is live, and coarser for
 * the four weeks before.
 */
const EDGES_HOURS: readonly number[] = [
  0,
  6,
  12,
  18,
  24,
  30,
  36,
  42,
  48,
  72,
  120,
  168,
  336,
  504,
  RECENT_HOURS + EARLIER_HOURS,
];
const BINS = EDGES_HOURS.length - 1;
const HOUR_SECONDS = 3600;
const NO_USER = -1;

/** How many users have chosen each item by the age of the choice, counted back from the newest choice. */
export function countRecentChoices({
  itemCount,
  userStart,
  userCount,
  items,
  times,
  positive,
}: Interactions): ChoiceCounts {
  let until = 0;
  for (let row = 0; row < items.length; row++) if (positive[row] && times[row]! > until) until = times[row]!;
  const binOf = (row: number) => {
    const hours = (until - times[row]!) / HOUR_SECONDS;
    return EDGES_HOURS.findIndex((edge) => hours < edge) - 1; // −2 beyond the last edge
  };
  const counts = new Map<number, Uint32Array>(); // by item
  const totals = new Array<number>(BINS).fill(0);
  const lastUser = new Int32Array(itemCount).fill(NO_USER);
  const lastBin = new Uint8Array(itemCount);
  for (let user = 0; user < userCount; user++) {
    for (let row = userStart[user + 1]! - 1; row >= userStart[user]!; row--) {
      if (!positive[row]) continue;
      const [item, bin] = [items[row]!, binOf(row)];
      if (bin < 0) break; // the user's older choices are older still
      if (lastUser[item] === user && lastBin[item] === bin) continue;
      lastUser[item] = user;
      lastBin[item] = bin;
      const ofItem = counts.get(item) ?? new Uint32Array(BINS);
      counts.set(item, ofItem);
      ofItem[bin]!++;
      totals[bin]!++;
    }
  }
  const sums = [...counts].map(([item, ofItem]) => ({
    item,
    ofItem,
    sum: ofItem.reduce((sum, count) => sum + count, 0),
  }));
  sums.sort((a, b) => b.sum - a.sum || a.item - b.item);
  const listed = sums.slice(0, ITEMS_MAX).sort((a, b) => a.item - b.item);
  const rows = new Uint32Array(listed.length * BINS);
  for (const [at, { ofItem }] of listed.entries()) rows.set(ofItem, at * BINS);
  return {
    ...{ until, edgesHours: EDGES_HOURS, totals, itemCount },
    othersMax: sums[ITEMS_MAX]?.sum ?? 0,
    items: Uint32Array.from(listed, ({ item }) => item),
    counts: narrowest(rows),
  };
}

function narrowest(values: Uint32Array): ChoiceCounts["counts"] {
  const largest = values.reduce((max, value) => Math.max(max, value), 0);
  if (largest < 256) return Uint8Array.from(values);
  return largest < 65_536 ? Uint16Array.from(values) : values;
}
