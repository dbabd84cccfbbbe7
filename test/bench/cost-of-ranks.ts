/** US dollars, from the list prices in `prices.ts`. */
export type PlatformPrices = {
  readonly perMillionRequests: number;
  readonly perMillionCpuMs: number;
  readonly perMillionReads: number;
  readonly perMillionWrites: number;
  readonly perMillionLogLines: number;
  readonly perGigabyteMonth: number;
};

/** What one rank call uses. */
export type RankUse = { readonly cpuMs: number; readonly reads: number; readonly logLines: number };

/** Dollars per million ranks. */
export const rankCost = ({ cpuMs, reads, logLines }: RankUse, prices: PlatformPrices): number =>
  prices.perMillionRequests +
  cpuMs * prices.perMillionCpuMs +
  reads * prices.perMillionReads +
  logLines * prices.perMillionLogLines;

/** The use of one call, measured where nothing has to be read, in a new isolate, and in a data centre with an empty cache. */
export type MeasuredUse = {
  readonly warm: RankUse;
  readonly newIsolate: RankUse;
  readonly emptyCache: RankUse;
  /** The pages of all users' records. */
  readonly pages: number;
};
export type CachedSeconds = { readonly key: number; readonly pointer: number };

const SECONDS_PER_DAY = 86_400;

/**
 * A call in a data centre that answers `calls` a day with so many isolates. Each isolate refreshes the key, the pointer and the erased
 * users, and each page of records is read once a day, since it then expires in the data centre's cache.
 */
export function denseUse(
  { warm, emptyCache, pages }: MeasuredUse,
  { calls, isolates }: { readonly calls: number; readonly isolates: number },
  { key, pointer }: CachedSeconds,
): RankUse {
  const refreshed = isolates * (SECONDS_PER_DAY / key + (2 * SECONDS_PER_DAY) / pointer);
  return { ...warm, reads: (refreshed + pages + emptyCache.reads) / calls };
}

/** One call an hour and data centre: each needs a new isolate, and one a day finds the data centre's cache empty. */
export function sparseUse({ newIsolate, emptyCache }: MeasuredUse): RankUse {
  const mean = (name: "cpuMs" | "reads") => (23 * newIsolate[name] + emptyCache[name]) / 24;
  return { cpuMs: mean("cpuMs"), reads: mean("reads"), logLines: newIsolate.logLines };
}

/** Dollars per month for storing, publishing and loading a model, without ranks. */
export const monthCost = (
  { storedBytes, writes, reads }: { readonly storedBytes: number; readonly writes: number; readonly reads: number },
  prices: PlatformPrices,
): number =>
  (storedBytes / 1e9) * prices.perGigabyteMonth +
  (writes / 1e6) * prices.perMillionWrites +
  (reads / 1e6) * prices.perMillionReads;
