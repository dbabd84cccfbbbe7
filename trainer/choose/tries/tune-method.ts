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
  /** For all trials of this method together. */
  readonly secondsMax: number;
  /** When whatever still runs is stopped and counts as failed; else none. */
  readonly secondsHard?: number;
  /** As fitting and judging have taken so far; as predicted unless given. */
  readonly pace?: Pace;
  /** Trials on all training users that are kept for the last round. */
  readonly keepMax: number;
};

/** What became of settings that do not go on. */
export type Discarded = {
  readonly method: string;
  readonly params: Params;
  readonly outcome: "dropped" | "left_out" | "failed";
  readonly reason: string;
  readonly trainShare: number;
  readonly evaluation: Evaluation | null;
  readonly fitSeconds: number | null;
  readonly artifactBytes: number | null;
  readonly truncation: string;
};

export type Tuned = {
  /** On all training users, the best first; empty when the method could not be tried. */
  readonly finalists: readonly Trial[];
  readonly discarded: readonly Discarded[];
};

/** The best settings of one method, found by successive halving within a time and a memory bound. */
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
  let left = grid.slice(0, rungs[0]?.tried ?? 0);
  if (rungs.length > 0) {
    const reason = `left out to keep to ${roundSeconds(task.secondsMax)} for this method: better guesses came first`;
    for (const params of grid.slice(left.length)) discarded.push(untried(task.method, params, reason));
  }
  for (const [r, rung] of rungs.entries()) {
    const isLast = r === rungs.length - 1;
    const data = isLast ? task.data : withSomeUsers(task.data, rung.trainShare, context.seed);
    const keep = isLast ? task.keepMax : rung.keep;
    const round: Round = { task: { ...task, data }, rung, left, secondsLeft, secondsHard, keep };
    const progress = (share: number, detail: string) => context.progress((r + share) / rungs.length, detail);
    const kept = await runRound(round, { ...context, progress }, discarded);
    if (isLast) return { finalists: kept, discarded };
    left = kept.map(({ params }) => params);
  }
  return { finalists: [], discarded };
}

type Round = {
  readonly task: TuneTask;
  readonly rung: Rung;
  /** Settings that are tried in this round. */
  readonly left: readonly Params[];
  readonly keep: number;
  readonly secondsLeft: () => number;
  readonly secondsHard: () => number;
};

/** The best `keep` of a round, the best first; the others are in `discarded`. */
async function runRound(round: Round, context: TrialContext, discarded: Discarded[]): Promise<Trial[]> {
  const { task, rung, left, keep } = round;
  const trials: Trial[] = [];
  for (const [c, params] of left.entries()) {
    const probe = trials[0] && raceAgainst(trials[0], task, context.seed);
    const time = { secondsLeft: round.secondsLeft(), secondsHard: round.secondsHard(), isFirst: c === 0 };
    const one: One = { ...task, ...time, params, rung, ...(probe && { probe }) };
    const progress = (share: number, detail: string) => context.progress((c + share) / left.length, detail);
    const trial = await tryOne(one, { ...context, progress }, discarded);
    if (!trial) continue;
    if (trial.evaluation.positions.length < task.positions.length) {
      discarded.push(discardedTrial(trial, { best: trials[0]!, metric: task.metric }));
      continue;
    }
    trials.push(trial);
    // What is not kept anyway must not stay in memory until the end of the round.
    for (const worse of trials.sort(byMetric(task.metric)).splice(keep)) {
      discarded.push(discardedTrial(worse, { best: trials[0]!, metric: task.metric }));
    }
  }
  return trials;
}

/** Settings whose fit is predicted to fit into memory; the others are recorded with the reason. */
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
 * Settings of which one alone is predicted to fit into the time: where the best guess takes too long, cheaper ones are tried rather than
 * none.
 */
function withinTime(task: TuneTask, grid: readonly Params[], discarded: Discarded[]): Params[] {
  const { method, secondsMax } = task;
  return grid.filter((params) => {
    const seconds = predictionOf(task, [params])(1, 1);
    if (seconds <= secondsMax) return true;
    const reason = `needs about ${roundSeconds(seconds)} to fit and judge, and ${roundSeconds(secondsMax)} are left for it`;
    discarded.push(untried(method, params, reason));
    return false;
  });
}

/** Seconds of fitting and judging the first `count` settings on a share of the training users, as predicted. */
function predictionOf({ method, data, positions, pace = AS_PREDICTED }: TuneTask, grid: readonly Params[]) {
  const onShare = new Map<number, TrainingData>([[1, data]]);
  return (count: number, trainShare: number): number => {
    // A cost may depend on more than the sizes, so it is asked for data of the right size.
    if (!onShare.has(trainShare)) onShare.set(trainShare, withSomeUsers(data, trainShare, 0));
    const options = { data: onShare.get(trainShare)!, listCount: positions.length, pace };
    return predictedSecondsOfAll(method, grid.slice(0, count), options);
  };
}

/** A trial that is reliably worse than the best so far on some of the cases need not be judged on all of them. */
function raceAgainst(best: Trial, { positions, metric }: TuneTask, seed: number): NonNullable<TrialTask["probe"]> {
  const some = samplePositions(positions.length, PROBE_LISTS, seededRandom(seed, 47)).map((i) => positions[i]!);
  const theirs = restrictedTo(best.evaluation, some).values.get(metric)!;
  return {
    positions: some,
    isHopeless(evaluation) {
      const lead = evaluation.values.get(metric)!.map((value, i) => value - theirs[i]!);
      return mean(lead) + HOPELESS_ERRORS * standardError(lead, evaluation.owners) < 0;
    },
  };
}

const PROBE_LISTS = 500;
const HOPELESS_ERRORS = 2.5;

/** Of the mean; the values of one user err together. */
function standardError(values: Float64Array, owners: Uint32Array): number {
  const average = mean(values);
  const errors = new Map<number, number>();
  for (const [i, user] of owners.entries()) errors.set(user, (errors.get(user) ?? 0) + values[i]! - average);
  return Math.sqrt([...errors.values()].reduce((sum, error) => sum + error ** 2, 0)) / values.length;
}

type One = TuneTask & {
  readonly params: Params;
  readonly rung: Rung;
  readonly secondsLeft: number;
  readonly secondsHard: number;
  readonly isFirst: boolean;
  readonly probe?: TrialTask["probe"] & object;
};

/** A trial, or undefined when it failed or time is up: the reason is then in `discarded`. */
async function tryOne(one: One, context: TrialContext, discarded: Discarded[]): Promise<Trial | undefined> {
  const { method, params, rung, secondsLeft } = one;
  if ((secondsLeft <= 0 && !one.isFirst) || one.secondsHard <= 0) {
    discarded.push(
      untried(method, params, `left out: the ${roundSeconds(one.secondsMax)} for this method were used up`),
    );
    return undefined;
  }
  const secondsMax = Math.max(1, secondsLeft);
  // The first of a round begins though the rounds before took all the time: it still needs what it needs.
  const patience = Math.max(20 + 2 * secondsMax, PATIENCE * predictionOf(one, [params])(1, 1));
  const secondsHard = Math.min(patience, one.secondsHard);
  try {
    return await runTrial(
      { method, params },
      { ...one, trainShare: rung.trainShare, secondsMax, secondsHard },
      context,
    );
  } catch (error) {
    context.signal.throwIfAborted();
    discarded.push({
      ...untried(method, params, failureReason(error)),
      outcome: "failed",
      trainShare: rung.trainShare,
    });
    return undefined;
  }
}

/** How many times longer than predicted a trial may take. */
const PATIENCE = 3;

const roundSeconds = (seconds: number) => `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;

export const failureReason = (error: unknown): string =>
  `failed: ${error instanceof Error ? error.message : String(error)}`.slice(0, 900);

/** Settings without figures, and why. */
export const untried = (method: Method, params: Params, reason: string): Discarded => ({
  method: method.name,
  params,
  outcome: "left_out",
  reason,
  trainShare: 1,
  evaluation: null,
  fitSeconds: null,
  artifactBytes: null,
  truncation: "",
});

/** A trial that goes no further, with the figures that it lost by on the same cases. */
export function discardedTrial(
  trial: Trial,
  { best, metric }: { readonly best: Trial; readonly metric: MetricAtK },
): Discarded {
  const same = restrictedTo(best.evaluation, trial.evaluation.positions);
  const [own, theirs] = [meanOf(trial.evaluation, metric), meanOf(same, metric)];
  const where = trial.trainShare < 1 ? ` after fitting on ${Math.round(100 * trial.trainShare)} % of the users` : "";
  const other = trial.method.name === best.method.name ? "other settings of the same method" : best.method.name;
  return {
    method: trial.method.name,
    params: trial.params,
    outcome: "dropped",
    reason: `${metric} ${own.toFixed(4)} on ${usersIn(trial.evaluation)} users, and ${theirs.toFixed(4)} with ${other}${where}`,
    trainShare: trial.trainShare,
    evaluation: trial.evaluation,
    fitSeconds: trial.fitSeconds,
    artifactBytes: trial.artifactBytes,
    truncation: trial.served.exported.truncation,
  };
}

/** The same users in every round of one seed, all their rows, the catalog whole. */
export function withSomeUsers<Data extends Interactions>(data: Data, share: number, seed: number): Data {
  if (share >= 1) return data;
  const random = seededRandom(seed, 19);
  const isIn = new Uint8Array(data.items.length);
  for (let user = 0; user < data.userCount; user++) {
    if (random() < share) isIn.fill(1, data.userStart[user]!, data.userStart[user + 1]!);
  }
  return { ...data, ...rowsWhere(data, (row) => isIn[row] === 1) };
}
