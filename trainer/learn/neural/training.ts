import { type FitContext, reportProgress } from "../model.ts";
import { adam } from "../numerics/autodiff/adam.ts";
import type { Parameters } from "../numerics/autodiff/parameters.ts";
import { type Averages, averagesOf, follow } from "./averages.ts";

export type TrainingPlan = {
  readonly epochs: number;
  /** Highest learning rate: reached after `warmupSteps`, then falling to a fiftieth of it along a cosine. */
  readonly learningRate: number;
  readonly warmupSteps: number;
  /** Steps that the averaged parameters look back, about. */
  readonly averagedSteps: number;
  /** Epochs without a better judgement after which training stops. */
  readonly patience: number;
};

/** What is trained, as the loop sees it. */
export type Trainee<Batch> = {
  readonly parameters: Parameters;
  /** The batches of an epoch (from 0): the same ones, and the same chance in their steps, each time it is asked. */
  epoch(epoch: number): Iterable<Batch>;
  /** Steps of one epoch, about. */
  readonly stepsPerEpoch: number;
  /** The loss of a batch; leaves gradients in `parameters`. */
  step(batch: Batch): Promise<number>;
  /** How good parameters are on what was held out, higher is better; undefined when nothing could be held out. */
  judge(averages: Averages): Promise<number | undefined>;
};

export type TrainingOutcome = {
  /** The averaged parameters of the epoch with the best judgement. */
  readonly averages: Averages;
  /** Undefined when nothing could be held out. */
  readonly judgement: number | undefined;
  /** Epochs up to and including the best one. */
  readonly epochs: number;
};

/**
 * Trains until the plan's epochs are over, judgements stop rising or time is up. The learning rate falls with the fraction
 * of the steps made. If the pace shows that time does not suffice for all steps, fewer are planned, so that a short budget
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
  const followEvery = followInterval(parameters);
  const pace = paceWithin(context.secondsMax, Math.max(1, plan.epochs * trainee.stepsPerEpoch));
  let best: TrainingOutcome = { averages: averagesOf(averages), judgement: undefined, epochs: 0 };
  let step = 0;
  for (let epoch = 0; epoch < plan.epochs && epoch - best.epochs < plan.patience && !pace.isOver(step); epoch++) {
    for (const batch of trainee.epoch(epoch)) {
      const affordable = pace.stepsAffordable(step);
      const fraction = Math.min(1, step / affordable);
      const epochs = Math.ceil(affordable / trainee.stepsPerEpoch);
      await reportProgress(context, fraction, describe({ epoch, epochs, best, secondsLeft: pace.secondsLeft(step) }));
      await trainee.step(batch);
      optimizer.step(learningRateAt(plan, step, fraction));
      if (step % followEvery === 0) follow(averages, parameters, { steps: plan.averagedSteps / followEvery, step });
      step++;
      if (pace.isOver(step)) break;
    }
    const judgement = await trainee.judge(averages);
    if (judgement === undefined || best.judgement === undefined || judgement > best.judgement) {
      best = { averages: averagesOf(averages), judgement, epochs: epoch + 1 };
    }
  }
  return best;
}

/** Averaging reads every parameter, so many of them are averaged only now and then. */
function followInterval(parameters: Parameters): number {
  let count = 0;
  for (const { value } of parameters.values()) count += value.length;
  return Math.min(20, Math.max(1, Math.round(count / FOLLOWED_AT_ONCE)));
}
const FOLLOWED_AT_ONCE = 1_000_000;

/** Linear warm-up, then half a cosine down to LAST_RATE (Loshchilov and Hutter 2017). */
export function learningRateAt({ learningRate, warmupSteps }: TrainingPlan, step: number, share: number): number {
  const warmth = Math.min(1, (step + 1) / warmupSteps);
  return learningRate * warmth * (LAST_RATE + ((1 - LAST_RATE) * (1 + Math.cos(Math.PI * share))) / 2);
}
const LAST_RATE = 0.02;

type Standing = {
  readonly epoch: number;
  /** That there will be, as it looks now. */
  readonly epochs: number;
  readonly best: TrainingOutcome;
  readonly secondsLeft: number | undefined;
};

function describe({ epoch, epochs, best, secondsLeft }: Standing): string {
  const quality = best.judgement === undefined ? "" : `, NDCG ${best.judgement.toFixed(4)}`;
  const left = secondsLeft === undefined ? "" : `, at most ${Math.ceil(secondsLeft)} s left`;
  return `epoch ${epoch + 1} of ${Math.max(epoch + 1, epochs)}${quality}${left}`;
}

/** Steps between two looks at the pace; the first ones are slow, and say something only where they are all that there will be. */
const STEPS_BETWEEN_LOOKS = 50;
const STEPS_LEAST = 5;
const SHARE_EARLY = 0.1;

/** Plans the steps that are wanted, or as many as a budget of wall time allows at the measured pace. */
function paceWithin(secondsMax: number, stepsWanted: number) {
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  let affordable = stepsWanted;
  const isTimeToLook = (done: number) =>
    done >= STEPS_LEAST &&
    (done % STEPS_BETWEEN_LOOKS === 0 || (done < STEPS_BETWEEN_LOOKS && seconds() > SHARE_EARLY * secondsMax));
  return {
    stepsAffordable(done: number) {
      if (isTimeToLook(done)) {
        const stepsLeft = Math.floor(((secondsMax - seconds()) / seconds()) * done);
        affordable = Math.min(stepsWanted, done + Math.max(0, stepsLeft));
      }
      return affordable;
    },
    /** Whether time is up; a plan that can be finished in time ends with its epochs. */
    isOver: (done: number) => seconds() >= secondsMax || (affordable < stepsWanted && done >= affordable),
    /** Undefined until a few steps have shown their pace. */
    secondsLeft(done: number) {
      const atThisPace = (seconds() / done) * (affordable - done);
      return done < STEPS_LEAST ? undefined : Math.max(0, Math.min(atThisPace, secondsMax - seconds()));
    },
  };
}
