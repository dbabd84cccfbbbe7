import type { Parameters } from "../numerics/autodiff/parameters.ts";

/** Parameters by name, averaged over the last steps: they rank better than those of one step (Polyak and Juditsky 1992). */
export type Averages = ReadonlyMap<
  string,
  { readonly dims: readonly number[]; readonly value: Float32Array<ArrayBuffer> }
>;

/** A copy of the current values. */
export const averagesOf = (parameters: Parameters | Averages): Averages =>
  new Map([...parameters].map(([name, { dims, value }]) => [name, { dims, value: value.slice() }]));

/**
 * Updates averages with the current parameters: an exponential average over about `steps` steps, fewer at the beginning.
 *
 * @param options `step`: the number of earlier steps; `interval`: the steps that this update stands for.
 */
export function follow(
  averages: Averages,
  parameters: Parameters,
  { steps, step, interval = 1 }: { steps: number; step: number; interval?: number },
): void {
  const pace = 1 - (1 - Math.max(1 / steps, 9 / (step + 10))) ** interval;
  for (const [name, { value }] of parameters) {
    const average = averages.get(name)!.value;
    for (let i = 0; i < average.length; i++) average[i] = average[i]! + pace * (value[i]! - average[i]!);
  }
}

/** Averages of a network without data: every score is 0, which ranks in catalog order, that is by popularity. */
export const zeroAverages = (parameters: Parameters): Averages =>
  new Map([...parameters].map(([name, { dims, value }]) => [name, { dims, value: new Float32Array(value.length) }]));
