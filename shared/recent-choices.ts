/**
 * How many users have chosen each item lately, by the age of the choice, for lists of trending items (rank/trending.ts).
 *
 *     items    u32 [n]                   indices of the items with the most choices, rising
 *     counts   u8, u16 or u32 [n · bins]   row by item: users who chose it, by age; a user counts once for each item and bin
 *
 * Ages are counted back in hours from `until`, the time of the newest choice: bin b has those from `edges_hours[b]` to
 * `edges_hours[b + 1]`. `totals` are the sums of all items by bin. An item that is not listed was chosen at most `others_max` times.
 */
import * as z from "zod";
import { FormatError } from "./assert.ts";
import { arrayOf, decodeContainer, encodeContainer } from "./container.ts";
import type { ItemIndex } from "./ids.ts";

export const RECENT_HOURS = 48;
/** The 28 days before the recent hours. */
export const EARLIER_HOURS = 28 * 24;

export type ChoiceCounts = {
  /** Epoch seconds. */
  readonly until: number;
  /** Hours before `until`, from 0 on, rising: one more than there are bins. */
  readonly edgesHours: readonly number[];
  readonly totals: readonly number[];
  readonly othersMax: number;
  readonly itemCount: number;
  readonly items: Uint32Array;
  readonly counts: Uint8Array | Uint16Array | Uint32Array;
};

const KIND = "recent-choices";
export const ITEMS_MAX = 20_000;
const BINS_MAX = 100;

const Metadata = z.object({
  item_count: z.int().nonnegative(),
  until: z.int().nonnegative(),
  edges_hours: z
    .array(z.number().nonnegative())
    .min(2)
    .max(BINS_MAX + 1),
  totals: z.array(z.int().nonnegative()).min(1).max(BINS_MAX),
  others_max: z.int().nonnegative(),
});

export function encodeRecentChoices({ until, edgesHours, totals, othersMax, itemCount, ...arrays }: ChoiceCounts) {
  return encodeContainer({
    kind: KIND,
    metadata: Metadata.parse({
      ...{ item_count: itemCount, until, edges_hours: edgesHours, totals, others_max: othersMax },
    }),
    arrays,
  });
}

/** Throws FormatError. */
export function decodeRecentChoices(bytes: Uint8Array): ChoiceCounts {
  const container = decodeContainer(bytes, KIND, Metadata);
  const { item_count: itemCount, until, edges_hours: edgesHours, totals, others_max: othersMax } = container.metadata;
  const items = arrayOf(container, "items", { dtypes: ["u32"] });
  const bins = edgesHours.length - 1;
  const counts = arrayOf(container, "counts", { dtypes: ["u8", "u16", "u32"], length: items.length * bins });
  const areRising = items.every((item, i) => item < itemCount && (i === 0 || item > items[i - 1]!));
  const areEdges = edgesHours.every((edge, i) => (i === 0 ? edge === 0 : edge > edgesHours[i - 1]!));
  if (!areRising || !areEdges || totals.length !== bins || items.length > ITEMS_MAX)
    throw new FormatError(
      `${KIND}: items must rise below ${itemCount}, and edges from 0 on, with a total for each bin`,
    );
  return { until, edgesHours, totals, othersMax, itemCount, items, counts };
}

/** Counts of one item in the last 48 hours and in the 28 days before. */
export type Choices = { readonly recent: number; readonly earlier: number };

/** What users have chosen since a version was trained: by item, and the sums of all items. */
export type LiveChoices = { readonly items: ReadonlyMap<ItemIndex, Choices>; readonly totals: Choices };

export const sumOfChoices = (a: Choices, b: Choices = { recent: 0, earlier: 0 }): Choices => ({
  recent: a.recent + b.recent,
  earlier: a.earlier + b.earlier,
});

/**
 * The parts of each bin that lie within the last 48 hours and within the 28 days before, seen at a time at or after `until`. Choices are
 * taken as evenly spread within their bin.
 */
export function partsOfBins({ until, edgesHours }: ChoiceCounts, nowSeconds: number): Choices[] {
  const passedHours = Math.max(0, nowSeconds - until) / 3600;
  return edgesHours.slice(1).map((end, bin) => {
    const from = edgesHours[bin]!;
    const partIn = (first: number, last: number) =>
      Math.max(0, Math.min(end + passedHours, last) - Math.max(from + passedHours, first)) / (end - from);
    return { recent: partIn(0, RECENT_HOURS), earlier: partIn(RECENT_HOURS, RECENT_HOURS + EARLIER_HOURS) };
  });
}
