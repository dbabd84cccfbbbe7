import { clockOf, type FitContext, reportProgress } from "../model.ts";
import { adam } from "../numerics/autodiff/adam.ts";
import type { Parameters } from "../numerics/autodiff/parameters.ts";
import { type Averages, averagesOf, follow } from "./averages.ts";

export type TrainingPlan = {
  readonly epochs: number;
  /** The highest rate: reached after `warmupSteps` and then lowered to a fiftieth along a cosine. */
  readonly learningRate: number;
  /** The same where time allows fewer steps: it is as many times higher as they are fewer, up to this. Absent: `learningRate`. */
  readonly learningRateMax?: number;
  readonly warmupSteps: number;
  /** Approximate number of last steps that the averaged parameters cover. */
  readonly averagedSteps: number;
  /** Epochs without a better NDCG after which training stops. */
  readonly patience: number;
  /** An epoch also counts as better if its NDCG is below the highest by less than this fraction; absent: 0. */
  readonly tolerance?: number;
};

/** A network and its data, as the training loop uses them. */
export type Trainee<Batch> = {
  readonly parameters: Parameters;
  /** The batches of an epoch, which is numbered from 0. */
  epoch(epoch: number): Iterable<Batch>;
  /** Approximate number of steps in one epoch. */
  readonly stepsPerEpoch: number;
  /** Returns the loss of a batch and leaves gradients in `parameters`. */
  step(batch: Batch): Promise<number>;
  /** NDCG of the held-out entries under these parameters; undefined when nothing could be held out. */
  evaluate(averages: Averages): Promise<number | undefined>;
};

export type TrainingOutcome = {
  /** The averaged parameters after the last epoch that counted as better, or after the last one when nothing is held out. */
  readonly averages: Averages;
  /** Undefined when nothing could be held out. */
  readonly ndcg: number | undefined;
  /** Epochs up to and including that one. */
  readonly epochs: number;
};

/**
 * Trains until the plan's epochs are over, the NDCG stops rising or time is up. The learning rate falls with the fraction of
 * the planned steps. If the pace shows that time does not suffice for all steps, fewer are planned, so that a short budget
 * still ends on a small rate. With time to spare, the result depends on data and seed alone.
 *
 * Throws the signal's reason when aborted.
 */
export async function trainEpochs<Batch>(
  trainee: Trainee<Batch>,
  plan: TrainingPlan,
  context: FitContext,
): Promise<TrainingOutcome> {
  const { parameters } = trainee;
  const optimizer = adam(parameters);
  const averages = averagesOf(parameters);
  const interval = averagingIntervalOf(countOf(parameters), plan);
  const stepsWanted = Math.max(1, plan.epochs * trainee.stepsPerEpoch);
  const pace = paceWithin(context, stepsWanted);
  let best: TrainingOutcome = { averages: averagesOf(averages), ndcg: undefined, epochs: 0 };
  let [step, bar] = [0, Number.NEGATIVE_INFINITY];
  for (let epoch = 0; epoch < plan.epochs && epoch - best.epochs < plan.patience && !pace.isOver(step); epoch++) {
    for (const batch of trainee.epoch(epoch)) {
      const planned = pace.plannedSteps(step);
      const epochs = Math.ceil(planned / trainee.stepsPerEpoch);
      const detail = describe({ epoch, epochs, best, secondsLeft: pace.secondsLeft(step) });
      await reportProgress(context, Math.min(1, step / planned), detail);
      await trainee.step(batch);
      optimizer.step(learningRateAt(plan, step, { planned, stepsWanted }));
      if (step % interval === 0) follow(averages, parameters, { steps: plan.averagedSteps, step, interval });
      step++;
      if (pace.isOver(step)) break;
    }
    const ndcg = await trainee.evaluate(averages);
    if (ndcg === undefined || ndcg > bar) {
      bar = Math.max(bar, (1 - (plan.tolerance ?? 0)) * (ndcg ?? 0));
      best = { averages: averagesOf(averages), ndcg, epochs: epoch + 1 };
    }
  }
  return best;
}

/**
 * A tolerance for sparse data: the noise of the NDCG of 1,000 users. There the NDCG without a cut-off stops rising after a third of the
 * epochs, while the first places gain until the rate has fallen (LOG.md, "The last epoch on sparse data").
 */
export const SPARSE_TOLERANCE = 0.02;

/** Steps between two updates of the averages. An update reads every parameter, so large networks are averaged less often. */
export function averagingIntervalOf(
  parameterCount: number,
  { averagedSteps }: Pick<TrainingPlan, "averagedSteps">,
): number {
  const wanted = Math.round(parameterCount / AVERAGED_PER_STEP);
  return Math.max(1, Math.min(wanted, INTERVAL_MAX, Math.floor(averagedSteps / UPDATES_MIN)));
}
/**
 * Parameters that are averaged per step. With a million, updates took 2 to 6 % of a fit (LOG.md, "Wider networks, and where a fit spends
 * its time").
 */
const AVERAGED_PER_STEP = 200_000;
const INTERVAL_MAX = 20;
/** Least number of updates within the steps that the averages cover. */
const UPDATES_MIN = 10;

function countOf(parameters: Parameters): number {
  let count = 0;
  for (const { value } of parameters.values()) count += value.length;
  return count;
}

/**
 * Linear warm-up, then half a cosine down to LAST_RATE (Loshchilov and Hutter 2017). Where fewer steps are planned than wanted, the rate is
 * higher, so that the vectors go as far (LOG.md, "The rate of short trainings").
 */
export function learningRateAt(
  { learningRate, learningRateMax = learningRate, warmupSteps }: TrainingPlan,
  step: number,
  { planned, stepsWanted }: { readonly planned: number; readonly stepsWanted: number },
): number {
  const warmth = Math.min(1, (step + 1) / warmupSteps);
  const highest = Math.min(learningRateMax, (learningRate * stepsWanted) / planned);
  const fraction = Math.min(1, step / planned);
  return highest * warmth * (LAST_RATE + ((1 - LAST_RATE) * (1 + Math.cos(Math.PI * fraction))) / 2);
}
/** The last learning rate, as a fraction of the highest. */
const LAST_RATE = 0.02;

type ProgressDetail = {
  readonly epoch: number;
  /** Expected number of epochs in total. */
  readonly epochs: number;
  readonly best: TrainingOutcome;
  readonly secondsLeft: number | undefined;
};

function describe({ epoch, epochs, best, secondsLeft }: ProgressDetail): string {
  const quality = best.ndcg === undefined ? "" : `, NDCG ${best.ndcg.toFixed(4)}`;
  const left = secondsLeft === undefined ? "" : `, at most ${Math.ceil(secondsLeft)} s left`;
  return `epoch ${epoch + 1} of ${Math.max(epoch + 1, epochs)}${quality}${left}`;
}

/** Steps between two measurements of the pace. */
const PACE_INTERVAL = 50;
/** The first steps are slow and are measured only when they take more than EARLY_FRACTION of the time. */
const PACE_STEPS_MIN = 5;
const EARLY_FRACTION = 0.1;

/** Plans all wanted steps, or as many as the time budget allows at the measured pace. */
function paceWithin(context: FitContext, stepsWanted: number) {
  const { secondsMax } = context;
  const clock = clockOf(context);
  const startedAt = clock();
  const seconds = () => clock() - startedAt;
  let planned = stepsWanted;
  const isMeasuringTime = (done: number) =>
    done >= PACE_STEPS_MIN &&
    (done % PACE_INTERVAL === 0 || (done < PACE_INTERVAL && seconds() > EARLY_FRACTION * secondsMax));
  return {
    plannedSteps(done: number) {
      if (isMeasuringTime(done)) {
        const stepsLeft = Math.floor(((secondsMax - seconds()) / seconds()) * done);
        planned = Math.min(stepsWanted, done + Math.max(0, stepsLeft));
      }
      return planned;
    },
    /** True when time is up. Where all wanted steps fit, training ends with its epochs instead. */
    isOver: (done: number) => seconds() >= secondsMax || (planned < stepsWanted && done >= planned),
    /** Undefined until a few steps have shown the pace. */
    secondsLeft(done: number) {
      const atThisPace = (seconds() / done) * (planned - done);
      return done < PACE_STEPS_MIN ? undefined : Math.max(0, Math.min(atThisPace, secondsMax - seconds()));
    },
  };
}
