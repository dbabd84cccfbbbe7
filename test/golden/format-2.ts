/**
 * The additions of format 2: user values, their codes in records, statistics for similar items, and counts of interactions and of recent
 * choices, and what is chosen together. Their frozen bytes are in format-2/.
 */
import { encodeContainer } from "../../shared/container.ts";
import { encodeItemCounts } from "../../shared/item-counts.ts";
import { encodeItemHours } from "../../shared/item-hours.ts";
import { type Descriptor, Manifest, MEDIA_TYPES } from "../../shared/manifest.ts";
import { type ChoiceCounts, encodeRecentChoices } from "../../shared/recent-choices.ts";
import { encodeRepeatIntervals } from "../../shared/repeat-intervals.ts";
import { encodeSimilarity } from "../../shared/similarity.ts";
import { encodeTogether } from "../../shared/together.ts";
import { encodeUserPage, encodeUserRecord, type RecordContent } from "../../shared/user-records.ts";
import { encodeUserValues } from "../../shared/user-values.ts";

export const ITEM_COUNT = 5;
/** Rising by hash: a user with two values and no history, one with a value and a history, and one without values. */
export const USERS: readonly { readonly hash: { high: number; low: number }; readonly content: RecordContent }[] = [
  { hash: { high: 1, low: 9 }, content: { items: [], times: [], seen: [], values: [0, 1] } },
  { hash: { high: 7, low: 2 }, content: { items: [3, 0], times: [1000, 1060], seen: [0, 3, 4], values: [1] } },
  { hash: { high: 7, low: 3 }, content: { items: [1], times: [5], seen: [1] } },
];
export const RATIOS = {
  itemCount: ITEM_COUNT,
  base: Float32Array.of(-1, -1.5, -2, -4),
  ratios: [Float32Array.of(-0.5, 0, 1.27, 0.25), Float32Array.of(0, 0.8, -0.8, 0.1)],
};
export const SIMILARITY = {
  knownCount: 4,
  mean: Float32Array.of(2, 1, -0.5, -1, -1.5),
  deviation: Float32Array.of(0.5, 0.25, 1, 0.125, 0),
};
export const CHOICES: ChoiceCounts = {
  ...{ until: 1_767_225_600, edgesHours: [0, 12, 48, 720], totals: [9, 4, 300], othersMax: 2, itemCount: ITEM_COUNT },
  items: Uint32Array.of(0, 3),
  counts: Uint16Array.of(5, 4, 299, 4, 0, 1),
};

export const INTERVALS = {
  ...{ itemCount: ITEM_COUNT, usualDays: 30 },
  items: Uint32Array.of(1, 4),
  days: Float32Array.of(7.5, 0.25),
};
export const REPEATS = {
  ...INTERVALS,
  usualRate: 0.0625,
  rates: Float32Array.of(0.5, 0.125),
  weights: [0.875, 0.25, 0.125, -0.0625, 0.5],
};
/** Powers of two, which files of all engines hold exactly. */
export const ODDS = {
  intercept: -2.5,
  slope: 0.75,
  range: [-8, 4] as const,
  places: Array.from({ length: 9 }, (_, range) => 0.5 ** (range + 6)),
};
export const WEIGHTS = [...REPEATS.weights, 0.75, 0.375];
export const TOGETHER = {
  itemCount: ITEM_COUNT,
  start: Uint32Array.of(0, 2, 2, 3),
  others: Uint32Array.of(2, 4, 0),
  strengths: Float32Array.of(2, 0.5, 0.125),
};

export const HOURS = {
  itemCount: ITEM_COUNT,
  items: Uint32Array.of(0, 3),
  shifts: Int8Array.of(-127, -3, 0, 1, 44, 127, 2, 0, 5, 4, 3, 2, 1, 0, -1, -2),
};

export const COUNTS = {
  interactions: Uint32Array.of(9, 4, 2, 1, 70_000),
  positives: Uint32Array.of(3, 4, 0, 1, 65_536),
};

const file: Descriptor = { media_type: MEDIA_TYPES.catalog, digest: `sha256:${"ab".repeat(32)}`, size: 10 };
const manifest: Manifest = {
  format: 2,
  customer: "acme",
  model_name: "shop",
  created_at: "2026-01-01T00:00:00Z",
  item_id_type: "integer",
  item_id_column: "item_id",
  item_count: ITEM_COUNT,
  user_count: USERS.length,
  model: { method: "ease", history_max: 100, graph: file, weights: [], golden: [], golden_tolerance: 1e-4 },
  catalog: file,
  attributes: null,
  users: { directory: file, pages: [file] },
  user_values: { ...file, media_type: MEDIA_TYPES.userValues },
};

/** File name to bytes. */
export async function format2Files(): Promise<ReadonlyMap<string, Uint8Array>> {
  const users = USERS.map(({ hash, content }) => ({ hash, record: encodeUserRecord(content, ITEM_COUNT) }));
  return new Map<string, Uint8Array>([
    ["manifest.json", new TextEncoder().encode(JSON.stringify(Manifest.parse(manifest)))],
    ["user-page.bin", encodeUserPage({ firstHigh: 0, lastHigh: 2 ** 32 - 1, users })],
    ["user-values.bin", encodeUserValues(RATIOS)],
    ["similarity.bin", encodeSimilarity(SIMILARITY)],
    ["item-counts.bin", encodeItemCounts(COUNTS.interactions, COUNTS.positives)],
    ["recent-choices.bin", encodeRecentChoices(CHOICES)],
    ["together.bin", encodeTogether(TOGETHER)],
    ["repeat-intervals.bin", intervalsAlone(INTERVALS)],
    ["repeat-intervals-weighted.bin", withWeights(REPEATS)],
    ["item-hours.bin", encodeItemHours(HOURS)],
    ["repeat-intervals-odds.bin", encodeRepeatIntervals({ ...REPEATS, weights: WEIGHTS, odds: ODDS })],
  ]);
}

/** A file of repeat intervals as it was written with weights of five features, and without odds. */
function withWeights({ itemCount, usualDays, usualRate, weights, items, days, rates }: typeof REPEATS): Uint8Array {
  const metadata = { item_count: itemCount, usual_days: usualDays, usual_rate: usualRate, weights };
  return encodeContainer({ kind: "repeat-intervals", metadata, arrays: { items, days, rates } });
}

/** The same as it was written before it had rates and weights. */
function intervalsAlone({ itemCount, usualDays, items, days }: typeof INTERVALS): Uint8Array {
  const metadata = { item_count: itemCount, usual_days: usualDays };
  return encodeContainer({ kind: "repeat-intervals", metadata, arrays: { items, days } });
}
