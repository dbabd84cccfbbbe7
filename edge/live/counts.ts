/** Counts by name and by minute, as shards keep them and isolates send them. */

export type Counts = Record<string, number>;

/** How many calls of a customer were answered in a minute, and how. */
export type CallMinute = {
  /** Whole minutes since 1970. */
  readonly minute: number;
  /** Lists by strategy. */
  readonly lists: Counts;
  /** Refused calls by problem code. */
  readonly refusals: Counts;
  /** Lists by bucket of latency. */
  readonly latency: Counts;
};

/** What an isolate has counted but not sent yet, by customer. Until `sentByMs`, a call is about to send it. */
export type PendingCalls = Map<string, { readonly minutes: Map<number, CallMinute>; sentByMs: number }>;

/** Names the object with the counts of all isolates. It is of the shards' class, but holds no events. */
export const CALLS_OBJECT = "calls";

export const MINUTE_MS = 60_000;
export const minuteOf = (ms: number): number => Math.floor(ms / MINUTE_MS);

/** Names of event types are the customer's own, so their number is limited. */
const NAMES_MAX = 50;
/** Stands for all further names. No type of events has this name. */
const OTHERS = "*";

export function addTo(counts: Counts, name: string, count = 1): void {
  // An event may have a type such as "constructor", which every object has.
  const isFull = !Object.hasOwn(counts, name) && Object.keys(counts).length >= NAMES_MAX;
  const key = isFull ? OTHERS : name;
  counts[key] = (Object.hasOwn(counts, key) ? counts[key]! : 0) + count;
}

export function addAll(counts: Counts, more: Readonly<Counts>): void {
  for (const [name, count] of Object.entries(more)) addTo(counts, name, count);
}

export const emptyMinute = (minute: number): CallMinute => ({ minute, lists: {}, refusals: {}, latency: {} });

export function addMinute(sum: CallMinute, more: CallMinute): void {
  addAll(sum.lists, more.lists);
  addAll(sum.refusals, more.refusals);
  addAll(sum.latency, more.latency);
}

/** Buckets of latency grow by this factor: 2^(1/2). The 13 s of a rank call are in bucket 29, so all buckets fit NAMES_MAX. */
const STEPS_PER_DOUBLING = 2;

/** Bucket 0 has latencies of 0 ms, bucket 1 those up to 1 ms, and each further bucket those up to √2 times as many. */
export const bucketOf = (ms: number): number =>
  ms <= 0 ? 0 : 1 + Math.max(0, Math.ceil(STEPS_PER_DOUBLING * Math.log2(ms)));

/** The highest latency of a bucket, in whole milliseconds. */
const highestOf = (bucket: number): number => (bucket === 0 ? 0 : Math.floor(2 ** ((bucket - 1) / STEPS_PER_DOUBLING)));

/** Upper bounds of three percentiles; null without lists. */
export function percentilesOf(latency: Readonly<Counts>): { p50: number; p95: number; p99: number } | null {
  const buckets = Object.entries(latency)
    .map(([bucket, count]) => ({ bucket: Number(bucket), count }))
    .sort((a, b) => a.bucket - b.bucket);
  const total = buckets.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return null;
  const at = (share: number) => {
    let upTo = 0;
    for (const { bucket, count } of buckets) {
      upTo += count;
      if (upTo >= share * total) return highestOf(bucket);
    }
    return 0;
  };
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
