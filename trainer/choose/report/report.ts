import {
  CANDIDATES_MAX,
  type CandidateReport,
  EVALUATION_FORMAT,
  EvaluationReport,
  EXAMPLES_MAX,
  type ExampleUser,
  type SplitDescription,
} from "../../../shared/evaluation-report.ts";
import { type ItemId, type ItemIndex, itemIdToJson } from "../../../shared/ids.ts";
import { stringAt } from "../../../shared/packed-strings.ts";
import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";
import { choiceOptimism, type Verdict } from "../decide/decide.ts";
import { type Resampling, toMeasured } from "../evaluate/bootstrap.ts";
import { type Evaluation, listOf, type MetricAtK } from "../evaluate/evaluate.ts";
import { ownersOf } from "../evaluate/evaluation-cases.ts";
import { lift, listShape, measured, measuredLift, restrictedTo, usersIn } from "../evaluate/evaluation-figures.ts";
import { popularityPercentiles } from "../evaluate/metrics.ts";
import type { Validation } from "../splits/validation.ts";
import type { Discarded } from "../tries/discarded.ts";
import { meanOf, type Trial } from "../tries/trial.ts";
import type { EvaluationDetail } from "./evaluation-detail.ts";
import { meansByHistory, medianHistory, reportSegments } from "./segments.ts";

export type ReportInput = {
  readonly validation: Validation;
  readonly metric: MetricAtK;
  readonly baseline: Trial;
  /** The baseline's lists of all cases, since dropped settings were evaluated on other cases than the last round's. */
  readonly baselineOnAll: Evaluation;
  /** Candidates of the last round, aligned with the verdict. */
  readonly finalists: readonly Trial[];
  readonly verdict: Verdict;
  /** The chosen model as it is served, with users' attributes. */
  readonly chosen: Trial;
  /** The lists of the chosen model and of the baseline. */
  readonly detail: EvaluationDetail;
  /** The digest of the data and the split. */
  readonly fingerprint: string;
  readonly userAttributes: EvaluationReport["user_attributes"];
  readonly discarded: readonly Discarded[];
  /** The trial of the live version's method; undefined without a live version or when it could not be tried. */
  readonly live: Trial | undefined;
  readonly seconds: { readonly budget: number; readonly used: number };
  readonly seed: number;
  readonly warnings: readonly string[];
};

/** The report of a selection in the form that is stored and served. The gate and the refit add their parts later. */
export function buildReport(input: ReportInput): EvaluationReport {
  const { validation, metric, baseline, finalists, verdict, chosen, seed } = input;
  const resampling = { seed, kept: [] };
  const counts = positivesOf(validation.split.train);
  const shapes = { chosen: listShape(chosen.evaluation, counts), baseline: listShape(baseline.evaluation, counts) };
  const { positions, owners } = chosen.evaluation;
  const lengthOf = historyLengthsOf(validation);
  const historyLengths = positions.map(lengthOf);
  const report: EvaluationReport = {
    format: EVALUATION_FORMAT,
    data: sizesOf(validation.dataset),
    split: describeSplit(validation, input.fingerprint),
    chosen_by: metric,
    chosen: { ...named(chosen), metrics: measured(chosen.evaluation, resampling), lists: shapes.chosen },
    popularity: { params: baseline.params, metrics: measured(baseline.evaluation, resampling), lists: shapes.baseline },
    history_popularity_percentile: historyPercentile(validation, counts),
    lift: measuredLift(chosen.evaluation, baseline.evaluation, resampling),
    choice_optimism: choiceOptimism(finalists, metric, seed),
    candidates: candidatesOf(input, { counts, resampling, lengthOf, middle: medianHistory(historyLengths) }),
    segments: reportSegments({ detail: input.detail, owners, seed }, { historyLengths, popularity: counts }),
    examples: examplesOf(validation, chosen.evaluation, seed),
    live: input.live ? liveOf(input.live, input, resampling) : null,
    user_attributes: input.userAttributes,
    gate: null,
    refit: null,
    seconds: { budget: input.seconds.budget, used: input.seconds.used },
    warnings: [...input.warnings, ...verdict.warnings, ...broaderSentences(input, resampling)],
  };
  return EvaluationReport.parse(report);
}

/** Says that another candidate is nearly as good and shows many more items, how sure this is, and how to get it. */
function broaderSentences({ verdict, finalists, metric }: ReportInput, resampling: Resampling): string[] {
  const { broader, chosen } = verdict;
  if (!broader || chosen === undefined) return [];
  const [other, own] = [finalists[broader.candidate]!, finalists[chosen]!];
  const { value, low, high } = lift(other.evaluation, own.evaluation, { metric, ...resampling });
  const own100 = meanOf(own.evaluation, metric) / 100;
  const change = (difference: number) =>
    `${Math.abs(difference / own100).toFixed(1)} % ${difference < 0 ? "less" : "more"}`;
  const sureness = `95 % interval on ${usersIn(own.evaluation)} users: ${change(low)} to ${change(high)}`;
  const [theirs, ours] = [broader.coverage.own, broader.coverage.chosen].map(
    (share) => `${(100 * share).toFixed(0)} %`,
  );
  return [
    `${other.method.name} has ${change(value)} ${metric} than the chosen model (${sureness}), and its lists show ${theirs} of all items ` +
      `instead of ${ours}. An objective with coverage_min ${broader.coverageMin} chooses it.`,
  ];
}

const named = (trial: Trial) => ({ method: trial.method.name, params: trial.params });

/** Positive interactions per item: [itemCount]. */
export function positivesOf(interactions: Interactions): Uint32Array {
  const counts = new Uint32Array(interactions.itemCount);
  const { items, positive } = interactions;
  for (let row = 0; row < items.length; row++) counts[items[row]!]! += positive[row]!;
  return counts;
}

function describeSplit({ dataset, split, positions }: Validation, fingerprint: string): SplitDescription {
  const { train, cases } = split;
  let targets = 0;
  const withHistory = new Set<number>();
  for (let at = 0; at < cases.count; at++) {
    const { known, wanted } = cases.sizesAt(at);
    targets += wanted;
    if (known > 0) withHistory.add(cases.ownerAt(at));
  }
  return {
    kind: split.kind,
    reason: split.reason,
    instant: split.instantSeconds === null ? null : dateOf(split.instantSeconds),
    dates: datesOf(train, dataset),
    train: sizesOf(train),
    validation: {
      users: ownersOf(cases, new Uint32Array(cases.count).keys()).size,
      users_with_history: withHistory.size,
      targets,
      users_measured: ownersOf(cases, positions).size,
    },
    fingerprint,
  };
}

/** Null when the training part is empty or no interaction has a time. */
function datesOf(train: Interactions, all: Interactions): SplitDescription["dates"] {
  const [from, to] = [earliest(train.times), latest(train.times)];
  if (train.times.length === 0 || latest(all.times) === 0) return null;
  return { train_from: dateOf(from), train_to: dateOf(to), to: dateOf(latest(all.times)) };
}

const latest = (times: Uint32Array) => times.reduce((most, time) => Math.max(most, time), 0);
const earliest = (times: Uint32Array) => times.reduce((least, time) => Math.min(least, time), 2 ** 32 - 1);
const dateOf = (seconds: number) => new Date(seconds * 1000).toISOString();

/** Counts of users, items and interactions for the report. */
export function sizesOf(interactions: Interactions): EvaluationReport["data"] {
  const counts = positivesOf(interactions);
  let users = 0;
  for (let user = 0; user < interactions.userCount; user++) {
    if (interactions.userStart[user]! < interactions.userStart[user + 1]!) users++;
  }
  return {
    users,
    items: counts.reduce((sum, count) => sum + (count > 0 ? 1 : 0), 0),
    interactions: interactions.items.length,
    positives: counts.reduce((sum, count) => sum + count, 0),
  };
}

function historyPercentile({ split, positions }: Validation, counts: Uint32Array): number | null {
  const percentiles = popularityPercentiles(counts);
  let [sum, entries] = [0, 0];
  for (const at of positions) {
    for (const item of split.cases.caseAt(at).items) {
      sum += percentiles[item]!;
      entries++;
    }
  }
  return entries === 0 ? null : sum / entries;
}

/** The length of the history of a case. Many candidates are measured on the same cases. */
function historyLengthsOf({ split: { cases } }: Validation): (at: number) => number {
  const known = new Map<number, number>();
  return (at) => {
    const length = known.get(at) ?? cases.caseAt(at).items.length;
    known.set(at, length);
    return length;
  };
}

function candidatesOf(input: ReportInput, shared: Omit<Against, "baseline" | "metric">): CandidateReport[] {
  const { finalists, verdict, discarded, baseline, metric } = input;
  const against: Against = { ...shared, baseline: baseline.evaluation, metric };
  const ofTrial = (trial: Trial, isChosen: boolean, reason: string): CandidateReport => ({
    ...named(trial),
    outcome: isChosen ? "chosen" : "lost",
    reason,
    ...figureFields(trial, against),
    fit_seconds: trial.fitSeconds,
    artifact_bytes: trial.artifactBytes,
    truncation: trial.served.exported.truncation,
  });
  const last = finalists.map((trial, i) => ofTrial(trial, i === verdict.chosen, verdict.reasons[i]!));
  const isPopular = verdict.chosen === undefined;
  const first = ofTrial(baseline, isPopular, isPopular ? "nothing tried is reliably better" : "the baseline");
  const others = discarded.map((one): CandidateReport => {
    const figures = one.evaluation
      ? figureFields({ ...one, evaluation: one.evaluation }, { ...against, baseline: input.baselineOnAll })
      : { users_measured: 0, train_share: one.trainFraction, metrics: {}, lift: null, lists: {} };
    const { method, params, outcome, reason, truncation } = one;
    const fit = { fit_seconds: one.fitSeconds, artifact_bytes: one.artifactBytes };
    return { method, params, outcome, reason, truncation, ...fit, ...figures };
  });
  const order = last.sort((a, b) => (b.metrics[metric]?.value ?? 0) - (a.metrics[metric]?.value ?? 0));
  return [...order, first, ...others].slice(0, CANDIDATES_MAX);
}

type Against = {
  readonly baseline: Evaluation;
  readonly counts: Uint32Array;
  readonly metric: MetricAtK;
  readonly resampling: Resampling;
  readonly lengthOf: (at: number) => number;
  /** Entries in a history from which on its user is a heavy one. */
  readonly middle: number;
};

function figureFields(
  { evaluation, trainFraction }: { evaluation: Evaluation; trainFraction: number },
  { baseline, counts, metric, resampling, lengthOf, middle }: Against,
) {
  const same = restrictedTo(baseline, evaluation.positions);
  return {
    users_measured: usersIn(evaluation),
    train_share: trainFraction,
    metrics: measured(evaluation, resampling),
    lift: toMeasured(lift(evaluation, same, { metric, ...resampling })),
    lists: listShape(evaluation, counts),
    users: meansByHistory(evaluation.values.get(metric)!, evaluation.positions.map(lengthOf), middle),
  };
}

/** Compares the live version's method with the chosen one, both without users' attributes, which would help either. */
function liveOf(
  live: Trial,
  { verdict, finalists, baseline, metric }: ReportInput,
  resampling: Resampling,
): EvaluationReport["live"] {
  const chosen = verdict.chosen === undefined ? baseline : finalists[verdict.chosen]!;
  const over = toMeasured(lift(chosen.evaluation, live.evaluation, { metric, ...resampling }));
  return { ...named(live), metrics: measured(live.evaluation, resampling), lift: over };
}

const HISTORY_SHOWN = 20;
const LIST_SHOWN = 10;

/** A dozen random users with a history, without their ids. */
function examplesOf({ dataset, split, positions }: Validation, evaluation: Evaluation, seed: number): ExampleUser[] {
  const id = (item: ItemIndex) => itemIdToJson(stringAt(dataset.itemIds, item) as ItemId, dataset.itemIdType);
  const known = Array.from(positions, (at, i) => ({ at, i })).filter(
    ({ at }) => split.cases.caseAt(at).items.length > 0,
  );
  return Array.from(samplePositions(known.length, EXAMPLES_MAX, seededRandom(seed, 41)), (one) => {
    const { at, i } = known[one]!;
    const { items, relevant } = split.cases.caseAt(at);
    return {
      history: items.slice(Math.max(0, items.length - HISTORY_SHOWN)).map(id),
      list: listOf(evaluation, i).slice(0, LIST_SHOWN).map(id),
      relevant: relevant.slice(0, HISTORY_SHOWN).map(id),
    };
  });
}
