import type { Method, Params, TrainingData } from "../../learn/model.ts";
import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";
import { rowsWhere } from "../../read/dataset/split.ts";
import { mean } from "../evaluate/bootstrap.ts";
import type { Evaluation, MetricAtK } from "../evaluate/evaluate.ts";
import type { EvaluationCases } from "../evaluate/evaluation-cases.ts";
import { restrictedTo, usersIn } from "../evaluate/evaluation-figures.ts";
import { planHalving, type Rung } from "./halving.ts";
import { AS_PREDICTED, type Pace, predictedSecondsOfAll } from "./pace.ts";
import { byMetric, meanOf, runTrial, type Trial, type TrialContext, type TrialTask } from "./trial.ts";

export type TuneTask = {
  readonly method: Method;
  /** Settings to try, the best guess first. */
  readonly grid: readonly Params[];
  readonly data: TrainingData;
  readonly cases: EvaluationCases;
  /** The cases that settings are compared on. */
  readonly positions: Uint32Array;
  readonly metric: MetricAtK;
  /** Seconds for all trials of this method together. */
  readonly secondsMax: number;
  /** Timeout in seconds for all trials together: a trial that still runs then counts as failed. Absent: none. */
  readonly secondsHard?: number;
  /** How much longer than predicted fits and evaluations have taken so far. Absent: as predicted. */
  readonly pace?: Pace;
  /** Trials on all training users that are kept for the last round. */
  readonly keepMax: number;
};

/** Settings that are out of the race, with the reason and their figures if they have any. */
export type Discarded = {
  readonly method: string;
  readonly params: Params;
  readonly outcome: "dropped" | "left_out" | "failed";
  readonly reason: string;
  readonly trainFraction: number;
  readonly evaluation: Evaluation | null;
  readonly fitSeconds: number | null;
  readonly artifactBytes: number | null;
  readonly truncation: string;
};

export type Tuned = {
  /** Trials on all training users, the best first; empty when the method could not be tried. */
  readonly finalists: readonly Trial[];
  readonly discarded: readonly Discarded[];
};

/** Finds the best settings of one method by successive halving, within a time and a memory limit. */
export async function tuneMethod(task: TuneTask, context: TrialContext): Promise<Tuned> {
  const discarded: Discarded[] = [];
  const grid = withinTime(task, withinMemory(task, context, discarded), discarded);
  const secondsOf = predictionOf(task, grid);
  const rungs = planHalving({
    candidateCount: grid.length,
    trainUsers: task.data.userCount,
    secondsOf,
    secondsMax: task.secondsMax,
  });
  const begin = context.clock();
  const secondsUsed = () => context.clock() - begin;
  const secondsLeft = () => task.secondsMax - secondsUsed();
  const secondsHard = () => (task.secondsHard ?? Number.POSITIVE_INFINITY) - secondsUsed();
  let candidates = grid.slice(0, rungs[0]?.tried ?? 0);
  if (rungs.length > 0) {
    const reason = `left out to keep to ${roundSeconds(task.secondsMax)} for this method: better guesses came first`;
    for (const params of grid.slice(candidates.length)) discarded.push(untried(task.method, params, reason));
  }
  for (const [r, rung] of rungs.entries()) {
    const isLast = r === rungs.length - 1;
    const data = isLast ? task.data : withSomeUsers(task.data, rung.trainFraction, context.seed);
    const keep = isLast ? task.keepMax : rung.keep;
    const round: Round = { task: { ...task, data }, rung, candidates, secondsLeft, secondsHard, keep };
    const progress = (fraction: number, detail: string) => context.progress((r + fraction) / rungs.length, detail);
    const kept = await runRound(round, { ...context, progress }, discarded);
    if (isLast) return { finalists: kept, discarded };
    candidates = kept.map(({ params }) => params);
  }
  return { finalists: [], discarded };
}

type Round = {
  readonly task: TuneTask;
  readonly rung: Rung;
  /** Settings that are tried in this round. */
  readonly candidates: readonly Params[];
  readonly keep: number;
  readonly secondsLeft: () => number;
  readonly secondsHard: () => number;
};

/** Runs one round and returns its best `keep` trials, the best first; the other trials are added to `discarded`. */
async function runRound(round: Round, context: TrialContext, discarded: Discarded[]): Promise<Trial[]> {
  const { task, rung, candidates, keep } = round;
  const trials: Trial[] = [];
  for (const [c, params] of candidates.entries()) {
    const probe = trials[0] && raceAgainst(trials[0], task, context.seed);
    const time = { secondsLeft: round.secondsLeft(), secondsHard: round.secondsHard(), isFirst: c === 0 };
    const one: OneTrial = { ...task, ...time, params, rung, ...(probe && { probe }) };
    const progress = (fraction: number, detail: string) => context.progress((c + fraction) / candidates.length, detail);
    const trial = await tryOne(one, { ...context, progress }, discarded);
    if (!trial) continue;
    if (trial.evaluation.positions.length < task.positions.length) {
      discarded.push(discardedTrial(trial, { best: trials[0]!, metric: task.metric }));
      continue;
    }
    trials.push(trial);
    // Trials beyond the best `keep` are dropped at once, so that they do not stay in memory until the end of the round.
    for (const worse of trials.sort(byMetric(task.metric)).splice(keep)) {
      discarded.push(discardedTrial(worse, { best: trials[0]!, metric: task.metric }));
    }
  }
  return trials;
}

/** The settings whose fit is predicted to fit into the memory; the others are discarded with the reason. */
function withinMemory(
  { method, grid, data }: TuneTask,
  { memoryMbMax }: TrialContext,
  discarded: Discarded[],
): Params[] {
  return grid.filter((params) => {
    const { memoryMb } = method.cost(data, params);
    if (memoryMb <= memoryMbMax) return true;
    const reason = `needs about ${Math.round(memoryMb)} MB of memory to fit, and may use ${Math.round(memoryMbMax)} MB`;
    discarded.push(untried(method, params, reason));
    return false;
  });
}

/**
 * The settings that are each predicted to fit into the time; the others are discarded with the reason. So cheaper settings are tried when
 * the best guess takes too long.
 */
function withinTime(task: TuneTask, grid: readonly Params[], discarded: Discarded[]): Params[] {
  const { method, secondsMax } = task;
  return grid.filter((params) => {
    const seconds = predictionOf(task, [params])(1, 1);
    if (seconds <= secondsMax) return true;
    const reason = `needs about ${roundSeconds(seconds)} to fit and evaluate, and ${roundSeconds(secondsMax)} are left for it`;
    discarded.push(untried(method, params, reason));
    return false;
  });
}

/** Predicts the seconds of fitting and evaluating the first `count` settings on a fraction of the training users. */
function predictionOf({ method, data, positions, pace = AS_PREDICTED }: TuneTask, grid: readonly Params[]) {
  const dataOfFraction = new Map<number, TrainingData>([[1, data]]);
  return (count: number, trainFraction: number): number => {
    // A cost may depend on more than the size of the data, so a sample of the right size is predicted.
    if (!dataOfFraction.has(trainFraction)) dataOfFraction.set(trainFraction, withSomeUsers(data, trainFraction, 0));
    const options = { data: dataOfFraction.get(trainFraction)!, listCount: positions.length, pace };
    return predictedSecondsOfAll(method, grid.slice(0, count), options);
  };
}

/** A probe that stops the evaluation of a trial that is reliably worse than the best trial on a sample of the cases. */
function raceAgainst(best: Trial, { positions, metric }: TuneTask, seed: number): NonNullable<TrialTask["probe"]> {
  const some = samplePositions(positions.length, PROBE_LISTS, seededRandom(seed, 47)).map((i) => positions[i]!);
  const bestValues = restrictedTo(best.evaluation, some).values.get(metric)!;
  return {
    positions: some,
    isHopeless(evaluation) {
      const lead = evaluation.values.get(metric)!.map((value, i) => value - bestValues[i]!);
      return mean(lead) + HOPELESS_ERRORS * standardError(lead, evaluation.owners) < 0;
    },
  };
}

const PROBE_LISTS = 500;
const HOPELESS_ERRORS = 2.5;

/** The standard error of the mean. The values of one user are summed first, because they are not independent. */
function standardError(values: Float64Array, owners: Uint32Array): number {
  const average = mean(values);
  const errors = new Map<number, number>();
  for (const [i, user] of owners.entries()) errors.set(user, (errors.get(user) ?? 0) + values[i]! - average);
  return Math.sqrt([...errors.values()].reduce((sum, error) => sum + error ** 2, 0)) / values.length;
}

type OneTrial = TuneTask & {
  readonly params: Params;
  readonly rung: Rung;
  readonly secondsLeft: number;
  readonly secondsHard: number;
  readonly isFirst: boolean;
  readonly probe?: TrialTask["probe"] & object;
};

/** Runs one trial. Undefined when it failed or no time is left; `discarded` then has the reason. */
async function tryOne(one: OneTrial, context: TrialContext, discarded: Discarded[]): Promise<Trial | undefined> {
  const { method, params, rung, secondsLeft } = one;
  if ((secondsLeft <= 0 && !one.isFirst) || one.secondsHard <= 0) {
    discarded.push(
      untried(method, params, `left out: the ${roundSeconds(one.secondsMax)} for this method were used up`),
    );
    return undefined;
  }
  const secondsMax = Math.max(1, secondsLeft);
  // The first trial of a round starts even if earlier rounds took all the time, and gets the time that it is predicted to need.
  const patience = Math.max(20 + 2 * secondsMax, PATIENCE * predictionOf(one, [params])(1, 1));
  const secondsHard = Math.min(patience, one.secondsHard);
  try {
    return await runTrial(
      { method, params },
      { ...one, trainFraction: rung.trainFraction, secondsMax, secondsHard },
      context,
    );
  } catch (error) {
    context.signal.throwIfAborted();
    discarded.push({
      ...untried(method, params, failureReason(error)),
      outcome: "failed",
      trainFraction: rung.trainFraction,
    });
    return undefined;
  }
}

/** A trial is stopped when it takes this many times longer than predicted. */
const PATIENCE = 3;

const roundSeconds = (seconds: number) => `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;

export const failureReason = (error: unknown): string =>
  `failed: ${error instanceof Error ? error.message : String(error)}`.slice(0, 900);

/** Discarded settings without figures, with the reason. */
export const untried = (method: Method, params: Params, reason: string): Discarded => ({
  method: method.name,
  params,
  outcome: "left_out",
  reason,
  trainFraction: 1,
  evaluation: null,
  fitSeconds: null,
  artifactBytes: null,
  truncation: "",
});

/** A trial that is out of the race, with its figure and the best trial's figure on the same cases. */
export function discardedTrial(
  trial: Trial,
  { best, metric }: { readonly best: Trial; readonly metric: MetricAtK },
): Discarded {
  const same = restrictedTo(best.evaluation, trial.evaluation.positions);
  const [own, bestMean] = [meanOf(trial.evaluation, metric), meanOf(same, metric)];
  const where =
    trial.trainFraction < 1 ? ` after fitting on ${Math.round(100 * trial.trainFraction)} % of the users` : "";
  const other = trial.method.name === best.method.name ? "other settings of the same method" : best.method.name;
  return {
    method: trial.method.name,
    params: trial.params,
    outcome: "dropped",
    reason: `${metric} ${own.toFixed(4)} on ${usersIn(trial.evaluation)} users, and ${bestMean.toFixed(4)} with ${other}${where}`,
    trainFraction: trial.trainFraction,
    evaluation: trial.evaluation,
    fitSeconds: trial.fitSeconds,
    artifactBytes: trial.artifactBytes,
    truncation: trial.served.exported.truncation,
  };
}

/** A seeded sample of the users with all their rows; the catalog stays whole. Every round of one seed draws the same users. */
export function withSomeUsers<Data extends Interactions>(data: Data, fraction: number, seed: number): Data {
  if (fraction >= 1) return data;
  const random = seededRandom(seed, 19);
  const isIn = new Uint8Array(data.items.length);
  for (let user = 0; user < data.userCount; user++) {
    if (random() < fraction) isIn.fill(1, data.userStart[user]!, data.userStart[user + 1]!);
  }
  return { ...data, ...rowsWhere(data, (row) => isIn[row] === 1) };
}
