import type { MeasuredMean } from "../../../shared/evaluation-report.ts";
import {
  type BootstrapOptions,
  bootstrapMeans,
  type Interval,
  pairedDifference,
  type Resampling,
  toMeasured,
} from "./bootstrap.ts";
import { type Evaluation, type MetricAtK, timesShown } from "./evaluate.ts";
import { coverage, gini, popularityPercentiles } from "./metrics.ts";

/** A candidate of the last round, reduced to what the decision needs. */
export type Evaluated = { readonly evaluation: Evaluation };

const CONFIDENCE = 0.95;

/** Number of users that the lists belong to. */
export const usersIn = ({ owners }: Evaluation): number => new Set(owners).size;

const byUser = ({ owners }: Evaluation, resampling: Resampling): BootstrapOptions => ({ ...resampling, owners });

/** Every metric with its interval, by name and cut-off. */
export function measured(evaluation: Evaluation, resampling: Resampling): Record<string, MeasuredMean> {
  const names = [...evaluation.values.keys()];
  const options = { ...byUser(evaluation, resampling), confidence: CONFIDENCE };
  const intervals = bootstrapMeans([...evaluation.values.values()], options);
  return Object.fromEntries(names.map((name, i) => [name, toMeasured(intervals[i]!)]));
}

/** Each metric of `own` minus that of `other`, in pairs. Both must be evaluations of the same cases. */
export function measuredLift(own: Evaluation, other: Evaluation, resampling: Resampling): Record<string, MeasuredMean> {
  const names = [...own.values.keys()];
  const differences = names.map((name) => {
    const theirs = other.values.get(name)!;
    return own.values.get(name)!.map((value, i) => value - theirs[i]!);
  });
  const intervals = bootstrapMeans(differences, { ...byUser(own, resampling), confidence: CONFIDENCE });
  return Object.fromEntries(names.map((name, i) => [name, toMeasured(intervals[i]!)]));
}

/** One metric of `own` minus that of `other`, in pairs. */
export function lift(
  own: Evaluation,
  other: Evaluation,
  { metric, confidence = CONFIDENCE, ...resampling }: Resampling & { metric: MetricAtK; confidence?: number },
): Interval {
  const options = { ...byUser(own, resampling), confidence };
  return pairedDifference(own.values.get(metric)!, other.values.get(metric)!, options);
}

/** Coverage, Gini coefficient and mean popularity percentile of the lists, by cut-off. `popularity` holds the items' training positives. */
export function listShape(evaluation: Evaluation, popularity: ArrayLike<number>): Record<string, number | null> {
  const percentiles = popularityPercentiles(popularity);
  const shape: Record<string, number | null> = {};
  for (const k of evaluation.cutOffs) {
    const shown = timesShown(evaluation, popularity.length, k);
    shape[`coverage@${k}`] = coverage(shown);
    shape[`gini@${k}`] = gini(shown);
    shape[`popularity_percentile@${k}`] = weightedMean(percentiles, shown);
  }
  return shape;
}

/** The part of an evaluation with the given positions, ascending. Throws for a position without a list. */
export function restrictedTo(evaluation: Evaluation, positions: Uint32Array): Evaluation {
  const rows = new Uint32Array(positions.length);
  for (let i = 0, at = 0; i < positions.length; i++, at++) {
    while (evaluation.positions[at]! < positions[i]!) at++;
    if (evaluation.positions[at] !== positions[i])
      throw new RangeError(`No list was made for position ${positions[i]}.`);
    rows[i] = at;
  }
  const { listLength, lists, owners } = evaluation;
  const kept = new Int32Array(positions.length * listLength);
  for (const [to, row] of rows.entries()) {
    kept.set(lists.subarray(row * listLength, (row + 1) * listLength), to * listLength);
  }
  const values = new Map([...evaluation.values].map(([name, all]) => [name, pick(all, rows)]));
  return { ...evaluation, positions, owners: rows.map((row) => owners[row]!), lists: kept, values };
}

/** Joins two evaluations of one model on different cases. */
export function joined(a: Evaluation, b: Evaluation): Evaluation {
  const order = Uint32Array.from({ length: a.positions.length + b.positions.length }, (_, i) => i);
  const at = (i: number) => (i < a.positions.length ? a.positions[i]! : b.positions[i - a.positions.length]!);
  order.sort((x, y) => at(x) - at(y));
  const lists = new Int32Array(order.length * a.listLength);
  for (const [to, from] of order.entries()) {
    const [source, row] = from < a.positions.length ? [a, from] : [b, from - a.positions.length];
    lists.set(source.lists.subarray(row * a.listLength, (row + 1) * a.listLength), to * a.listLength);
  }
  const values = new Map([...a.values].map(([name, own]) => [name, pick(concat(own, b.values.get(name)!), order)]));
  const owners = order.map((i) => (i < a.owners.length ? a.owners[i]! : b.owners[i - a.owners.length]!));
  return { ...a, positions: order.map(at), owners, lists, values };
}

const pick = (values: Float64Array, rows: Uint32Array) => Float64Array.from(rows, (row) => values[row]!);

function weightedMean(values: Float64Array, weights: ArrayLike<number>): number | null {
  let sum = 0;
  let total = 0;
  for (let i = 0; i < values.length; i++) {
    sum += values[i]! * weights[i]!;
    total += weights[i]!;
  }
  return total === 0 ? null : sum / total;
}

function concat(a: Float64Array, b: Float64Array): Float64Array {
  const both = new Float64Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/** A figure in a sentence, such as `0.0647`. */
export const four = (value: number | null): string => (value === null ? "unknown" : value.toFixed(4));

/** A difference in a sentence, such as `+0.0012`. */
export const signed = (value: number | null): string =>
  value === null ? four(value) : `${value < 0 ? "−" : "+"}${four(Math.abs(value))}`;
