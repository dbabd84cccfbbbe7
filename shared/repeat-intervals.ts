/**
 * How users choose the same item again, for lists of what they may want again (rank/chosen-again.ts): after how long, how likely, and what
 * tells that they will.
 *
 *     items   u32 [n]   item indices, rising: items that a user could have chosen again at a later visit
 *     days    f32 [n]   the item's interval, drawn towards the usual one where few repetitions were seen
 *     rates   f32 [n]   the item's repeat rate, in (0, 1], drawn likewise: of the visits of users who had chosen it before, the part that
 *                       chose it again
 *
 * `usual_days` and `usual_rate` are those of all other items. `weights` are those of the features in rank/repeat-features.ts, in their
 * order. `odds` compare such items with new ones, where that makes better lists than a model's scores. Files of earlier releases have
 * neither rates nor weights. The file is absent where the data have too few repetitions.
 */
import * as z from "zod";
import { FormatError } from "./assert.ts";
import { countBelowIn } from "./binary-search.ts";
import { arrayOf, type Container, decodeContainer, encodeContainer } from "./container.ts";
import type { ItemIndex } from "./ids.ts";

/** The number of features of an item in a history, and so of weights. */
export const REPEAT_FEATURES = 7;
/** Edges of earlier releases expect exactly so many weights, so the file has the others in a field of their own. */
const FIRST_FEATURES = 5;
/** Places of new items come in ranges: 1, 2, 3 to 4, 5 to 8 and so on. */
export const PLACE_RANGES = 9;
/** The last place of the last range. */
export const PLACES_MAX = 2 ** (PLACE_RANGES - 1);
/** The newest entries of a history that weights and odds are learnt from and applied to. */
export const REPEAT_HISTORY_MAX = 500;

export type ItemRepeats = {
  readonly usualDays: number;
  readonly usualRate: number;
  readonly items: Uint32Array;
  readonly days: Float32Array;
  readonly rates: Float32Array;
};
export type RepeatTable = ItemRepeats & {
  readonly itemCount: number;
  readonly weights: readonly number[];
  readonly odds?: RepeatOdds | undefined;
};

/**
 * Whether a choice is of an item that was chosen before, and which new item it is otherwise: a nested logit (McFadden, Modelling the
 * choice of residential location, 1978).
 */
export type RepeatOdds = {
  /**
   * A choice is repeated with the odds exp(intercept + slope · ln Σ exp score), over the items that were chosen before. The sum's logarithm
   * counts as the nearer end of `range` where it is beyond those of most users, such as for one who has not come for years.
   */
  readonly intercept: number;
  readonly slope: number;
  readonly range: readonly [number, number];
  /** By range: of the choices of new items, the part that each place of the range has. It never rises from range to range. */
  readonly places: readonly number[];
};

/** The interval, in days, and the repeat rate of each item. */
export type RepeatsOf = { daysOf(item: ItemIndex): number; rateOf(item: ItemIndex): number };

export type RepeatIntervals = RepeatsOf & {
  readonly itemCount: number;
  /** Undefined for a file of an earlier release, in which the rate of every item is 1. */
  readonly weights: readonly number[] | undefined;
  readonly odds?: RepeatOdds | undefined;
};

const KIND = "repeat-intervals";
const Metadata = z.object({
  item_count: z.int().nonnegative(),
  usual_days: z.number().positive(),
  usual_rate: z.number().positive().max(1).optional(),
  weights: z.array(z.number()).length(FIRST_FEATURES).optional(),
  /** Absent: zeros. */
  further_weights: z
    .array(z.number())
    .length(REPEAT_FEATURES - FIRST_FEATURES)
    .optional(),
  odds: z
    .object({
      intercept: z.number(),
      slope: z.number(),
      range: z.tuple([z.number(), z.number()]),
      places: z.array(z.number().positive()).length(PLACE_RANGES),
    })
    .optional(),
});

export function encodeRepeatIntervals(table: RepeatTable): Uint8Array {
  const { itemCount, usualDays, usualRate, weights, odds, items, days, rates } = table;
  const numbers = {
    ...{ item_count: itemCount, usual_days: usualDays, usual_rate: usualRate, odds },
    weights: weights.slice(0, FIRST_FEATURES),
    further_weights: weights.slice(FIRST_FEATURES),
  };
  return encodeContainer({ kind: KIND, metadata: Metadata.parse(numbers), arrays: { items, days, rates } });
}

/** Throws FormatError. */
export function decodeRepeatIntervals(bytes: Uint8Array): RepeatIntervals {
  const container = decodeContainer(bytes, KIND, Metadata);
  const { item_count: itemCount, usual_days: usualDays, odds } = container.metadata;
  const items = arrayOf(container, "items", { dtypes: ["u32"] });
  const days = arrayOf(container, "days", { dtypes: ["f32"], length: items.length });
  const areRising = items.every((item, i) => item < itemCount && (i === 0 || item > items[i - 1]!));
  if (!areRising || !days.every((value) => value > 0 && Number.isFinite(value)))
    throw new FormatError(`${KIND}: expected items that rise below ${itemCount}, with intervals above 0`);
  const { usualRate, rates, weights } = ratesOf(container, items.length);
  return openRepeats({ itemCount, usualDays, usualRate, items, days, rates, weights, odds });
}

/** What ranking asks of a table. */
export const openRepeats = (
  table: Omit<RepeatTable, "weights"> & Pick<RepeatIntervals, "weights">,
): RepeatIntervals => ({
  ...{ itemCount: table.itemCount, weights: table.weights, odds: table.odds },
  ...repeatsOf(table),
});

const NO_FURTHER: readonly number[] = new Array(REPEAT_FEATURES - FIRST_FEATURES).fill(0);

function ratesOf(container: Container<z.infer<typeof Metadata>>, length: number) {
  const { usual_rate: usualRate, weights: first, further_weights: further = NO_FURTHER } = container.metadata;
  const weights = first && [...first, ...further];
  const isOfBefore = usualRate === undefined && weights === undefined && !container.arrays.has("rates");
  if (isOfBefore) return { usualRate: 1, rates: new Float32Array(length).fill(1), weights };
  const rates = arrayOf(container, "rates", { dtypes: ["f32"], length });
  if (usualRate === undefined || weights === undefined || !rates.every((rate) => rate > 0 && rate <= 1))
    throw new FormatError(`${KIND}: expected a usual rate, weights, and rates above 0 up to 1`);
  return { usualRate, rates, weights };
}

/** Looks an item up in a table. */
export function repeatsOf({ usualDays, usualRate, items, days, rates }: ItemRepeats): RepeatsOf {
  const valueIn = (values: Float32Array, usual: number) => (item: ItemIndex) => {
    const at = countBelowIn(items.length, (i) => items[i]! < item);
    return items[at] === item ? values[at]! : usual;
  };
  return { daysOf: valueIn(days, usualDays), rateOf: valueIn(rates, usualRate) };
}
