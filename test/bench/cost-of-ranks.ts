/** Dollars; see `prices.ts`. */
export type PlatformPrices = {
  readonly perMillionRequests: number;
  readonly perMillionCpuMs: number;
  readonly perMillionReads: number;
  readonly perMillionWrites: number;
  readonly perGigabyteMonth: number;
};

/** Dollars of a million ranks, each of so much CPU time and so many reads of the bucket. */
export const rankCost = (
  { cpuMs, reads }: { readonly cpuMs: number; readonly reads: number },
  prices: PlatformPrices,
): number => prices.perMillionRequests + cpuMs * prices.perMillionCpuMs + reads * prices.perMillionReads;

/** Dollars of keeping, publishing and loading a model for a month, without ranks. */
export const monthCost = (
  { storedBytes, writes, reads }: { readonly storedBytes: number; readonly writes: number; readonly reads: number },
  prices: PlatformPrices,
): number =>
  (storedBytes / 1e9) * prices.perGigabyteMonth +
  (writes / 1e6) * prices.perMillionWrites +
  (reads / 1e6) * prices.perMillionReads;
