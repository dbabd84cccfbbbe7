/** US dollars, from the list prices in `prices.ts`. */
export type PlatformPrices = {
  readonly perMillionRequests: number;
  readonly perMillionCpuMs: number;
  readonly perMillionReads: number;
  readonly perMillionWrites: number;
  readonly perGigabyteMonth: number;
};

/** Dollars per million ranks with the given CPU time and number of bucket reads each. */
export const rankCost = (
  { cpuMs, reads }: { readonly cpuMs: number; readonly reads: number },
  prices: PlatformPrices,
): number => prices.perMillionRequests + cpuMs * prices.perMillionCpuMs + reads * prices.perMillionReads;

/** Dollars per month for storing, publishing and loading a model, without ranks. */
export const monthCost = (
  { storedBytes, writes, reads }: { readonly storedBytes: number; readonly writes: number; readonly reads: number },
  prices: PlatformPrices,
): number =>
  (storedBytes / 1e9) * prices.perGigabyteMonth +
  (writes / 1e6) * prices.perMillionWrites +
  (reads / 1e6) * prices.perMillionReads;
