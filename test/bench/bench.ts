/** One figure. `ratio` is value / reference, both measured in the same run. A name never changes its meaning. */
export type Figure = {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly reference?: number;
  readonly ratio?: number;
};

export type BenchContext = {
  /** Writes progress to standard error, since standard output belongs to the figures. */
  readonly say: (line: string) => void;
  /** Reports a violated bound. The command then exits with 1 after all figures are printed. */
  readonly fail: (reason: string) => void;
  /** Command line flags that are not the runner's, such as `--rows 1e6`. */
  readonly flags: ReadonlyMap<string, string>;
};

export type Bench = (context: BenchContext) => Promise<readonly Figure[]>;

/** A figure with its reference and ratio. */
export const compared = (name: string, unit: string, value: number, reference: number): Figure => ({
  name,
  value,
  unit,
  reference,
  ratio: value / reference,
});

/** The quantile of the samples for a fraction; 0.5 is the median. Needs at least one sample. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
}

/** Wall times, in milliseconds, of `count` sequential runs. */
export async function timesMs(count: number, work: (i: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const begin = performance.now();
    await work(i);
    times.push(performance.now() - begin);
  }
  return times;
}
