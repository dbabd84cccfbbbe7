/** One figure. `ratio` is value / reference, both measured in the same run. Names never change their meaning. */
export type Figure = {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly reference?: number;
  readonly ratio?: number;
};

export type BenchContext = {
  /** For progress; never to standard output, which belongs to the figures. */
  readonly say: (line: string) => void;
  /** A bound that is not kept: told, and the command ends with 1 once every figure is printed. */
  readonly fail: (reason: string) => void;
  /** Flags of the command line that are not the runner's own, such as `--rows 1e6`. */
  readonly flags: ReadonlyMap<string, string>;
};

export type Bench = (context: BenchContext) => Promise<readonly Figure[]>;

/** The value next to its reference. */
export const compared = (name: string, unit: string, value: number, reference: number): Figure => ({
  name,
  value,
  unit,
  reference,
  ratio: value / reference,
});

/** The value below which the share of the samples lies: 0.5 is the median. At least one sample. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
}

/** Wall time of each of `count` runs, in milliseconds, one after another. */
export async function timesMs(count: number, work: (i: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const begin = performance.now();
    await work(i);
    times.push(performance.now() - begin);
  }
  return times;
}
