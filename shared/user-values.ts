/**
 * Scores items for a user without a history, from the user's attribute values: popularity, corrected for each value.
 *
 * Idea. Users with a value such as `"occupation" is "student"` choose some items more often than all users do. The score of item i for a
 * user with the values V is log popularity(i) + Σ over v in V of ratio(v, i). This is naive Bayes, with ratios that the trainer has
 * shrunk and damped. Here a value is a *code*, a position 0 … valueCount − 1. A user's record holds the codes (shared/user-records.ts).
 *
 * The file also says which value each code means, so that `{"$user": "country"}` in a filter has a value where a call sends none. It
 * names values that do not score, too: their codes are valueCount and above. Ranges of numbers have no name.
 *
 * The catalog is ordered by popularity, so only its first items can reach a list without a filter. Ratios are stored for the first
 * `headCount` items, as many as fit the limit of bytes. Items beyond score the same as the last of the head, and equal scores keep the
 * order of the catalog.
 *
 *     file     a container (shared/container.ts) of kind "user-values"; metadata: item_count, value_count,
 *              names: by code, [attribute, value] or null; lists: the attributes that have several values
 *       base     f32 [headCount]               log popularity; never rises
 *       scales   f32 [valueCount]              of a value's row: ratio = scale · step
 *       steps    i8 [valueCount · headCount]   row-major: the step of value v for item i
 *
 * Example. Two items, one value: base [0, −1], scales [0.0079], steps [−127, 127]: a user with the value scores −1 and 0, so
 * the second item comes first; a user without it keeps the order of the catalog.
 *
 * Limits: 256 values, names of values of up to 200 characters, 4 MiB of arrays, a ratio is rounded to 1/127 of its row's largest ratio.
 */
import * as z from "zod";
import { assert, FormatError } from "./assert.ts";
import { arrayOf, decodeContainer, encodeContainer } from "./container.ts";

/** Codes are one byte. */
export const USER_VALUES_MAX = 256;
export const USER_VALUE_BYTES_MAX = 4 * 1024 * 1024;
const STEPS_MAX = 127;

/** Names of values with more characters are not kept. */
export const VALUE_NAME_MAX = 200;

/** What the codes mean. */
export type ValueNames = {
  /** By code: the attribute and the value, null for a value without a name. */
  readonly names: readonly (readonly [attribute: string, value: string | boolean] | null)[];
  /** Attributes that have several values. */
  readonly lists: readonly string[];
};

export type UserValueRatios = {
  readonly itemCount: number;
  readonly base: Float32Array; // [headCount] log popularity, never rising
  readonly ratios: readonly Float32Array[]; // [valueCount] of [headCount]
};

export type UserValues = {
  readonly itemCount: number;
  readonly valueCount: number;
  readonly headCount: number;
  /**
   * Float32Array(itemCount), higher is better.
   *
   * @param codes The user's values, each once. Throws FormatError for one that the file does not have.
   */
  score(codes: readonly number[]): Float32Array;
  /** The same scores; undefined if none of the values scores. */
  scoreIfAny(codes: readonly number[]): Float32Array | undefined;
  /** The names of the attributes that `attributesOf` may give. */
  readonly attributes: readonly string[];
  /** The user's attributes as far as the codes have names. */
  attributesOf(codes: readonly number[]): UserAttributes;
};

/** A user's attributes by name. */
export type UserAttributes = Readonly<Record<string, string | boolean | string[]>>;

const KIND = "user-values";
const Metadata = z.object({
  item_count: z.int().nonnegative(),
  value_count: z.int().nonnegative().max(USER_VALUES_MAX),
  /** Absent in files that were published before codes had names. */
  names: z
    .array(z.tuple([z.string(), z.union([z.string(), z.boolean()])]).nullable())
    .max(USER_VALUES_MAX)
    .optional(),
  lists: z.array(z.string()).optional(),
});

/** The number of items at the head of the catalog that may have ratios, for this number of values. */
export const headCountFor = (itemCount: number, valueCount: number): number =>
  Math.min(itemCount, Math.floor((USER_VALUE_BYTES_MAX - 4 * valueCount) / (valueCount + 4)));

export function encodeUserValues(
  { itemCount, base, ratios }: UserValueRatios,
  { names, lists }: Partial<ValueNames> = {},
): Uint8Array {
  const headCount = base.length;
  assert(headCount <= headCountFor(itemCount, ratios.length), `ratios of ${headCount} items are too many`);
  const scales = new Float32Array(ratios.length);
  const steps = new Int8Array(ratios.length * headCount);
  for (const [value, row] of ratios.entries()) {
    assert(row.length === headCount, `value ${value} has ratios of ${row.length} items, the base of ${headCount}`);
    const largest = row.reduce((most, ratio) => Math.max(most, Math.abs(ratio)), 0);
    scales[value] = largest / STEPS_MAX;
    if (largest === 0) continue;
    for (let item = 0; item < headCount; item++)
      steps[value * headCount + item] = Math.round((row[item]! / largest) * STEPS_MAX);
  }
  const metadata = Metadata.parse({ item_count: itemCount, value_count: ratios.length, names, lists });
  return encodeContainer({ kind: KIND, metadata, arrays: { base, scales, steps } });
}

/** Throws FormatError. */
export function decodeUserValues(bytes: Uint8Array): UserValues {
  const container = decodeContainer(bytes, KIND, Metadata);
  const { item_count: itemCount, value_count: valueCount, names = [], lists = [] } = container.metadata;
  const codeCount = Math.max(valueCount, names.length);
  const base = arrayOf(container, "base", { dtypes: ["f32"] });
  const scales = arrayOf(container, "scales", { dtypes: ["f32"], length: valueCount });
  const headCount = base.length;
  const steps = arrayOf(container, "steps", { dtypes: ["i8"], length: valueCount * headCount });
  if (headCount > headCountFor(itemCount, valueCount))
    throw new FormatError(`${KIND}: ratios of ${headCount} items, of ${itemCount} in the catalog`);
  if (!base.every((score, item) => Number.isFinite(score) && (item === 0 || score <= base[item - 1]!)))
    throw new FormatError(`${KIND}: popularity rises or is not finite`);
  if (!scales.every((scale) => Number.isFinite(scale) && scale >= 0))
    throw new FormatError(`${KIND}: a scale is negative or not finite`);
  const score = (codes: readonly number[]) => {
    const scores = new Float32Array(itemCount).fill(base[headCount - 1] ?? 0);
    scores.set(base);
    for (const code of codes) {
      if (code >= codeCount) throw new FormatError(`${KIND}: a user has value ${code} of ${codeCount}`);
      if (code >= valueCount) continue;
      const scale = scales[code]!;
      const row = steps.subarray(code * headCount, (code + 1) * headCount);
      for (let item = 0; item < headCount; item++) scores[item]! += scale * row[item]!;
    }
    return scores;
  };
  return {
    itemCount,
    valueCount,
    headCount,
    score,
    scoreIfAny: (codes) => (codes.some((code) => code < valueCount) ? score(codes) : undefined),
    attributes: [...new Set(names.flatMap((name) => name?.[0] ?? []))],
    attributesOf(codes) {
      const named = codes.flatMap((code) => (names[code] ? [names[code]] : []));
      const valuesOf = (list: string) => named.filter(([name]) => name === list).map(([, value]) => String(value));
      const listed = lists.filter((list) => named.some(([name]) => name === list));
      return Object.fromEntries([...named, ...listed.map((list) => [list, valuesOf(list)] as const)]);
    },
  };
}
