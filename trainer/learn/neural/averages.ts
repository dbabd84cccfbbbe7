import type { Parameters } from "../numerics/autodiff/parameters.ts";

/** Parameters averaged over the last steps, by name: better than those of any one step (Polyak and Juditsky 1992). */
export type Averages = ReadonlyMap<
  string,
  { readonly dims: readonly number[]; readonly value: Float32Array<ArrayBuffer> }
>;

/** A copy of values as they are. */
export const averagesOf = (parameters: Parameters | Averages): Averages =>
  new Map([...parameters].map(([name, { dims, value }]) => [name, { dims, value: value.slice() }]));

/**
 * Moves averages towards the parameters, as an exponential average that looks back `steps` steps, fewer at the beginning.
 *
 * @param step Steps made before, from 0.
 */
export function follow(
  averages: Averages,
  parameters: Parameters,
  { steps, step }: { steps: number; step: number },
): void {
  const pace = Math.max(1 / steps, 9 / (step + 10));
  for (const [name, { value }] of parameters) {
    const average = averages.get(name)!.value;
    for (let i = 0; i < average.length; i++) average[i] = average[i]! + pace * (value[i]! - average[i]!);
  }
}

/** Parameters of a network without anything to learn from: every score is 0, which ranks in catalog order, that is by popularity. */
export const zeroAverages = (parameters: Parameters): Averages =>
  new Map([...parameters].map(([name, { dims, value }]) => [name, { dims, value: new Float32Array(value.length) }]));
