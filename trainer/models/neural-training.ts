import { adam } from "../autodiff/adam.ts";
import type { Parameters } from "../autodiff/parameters.ts";
import { checkpoint } from "./checkpoint.ts";
import type { FitContext } from "./model.ts";
import { type Averages, averagesOf, follow } from "./neural-averages.ts";
import { resumable } from "./neural-resume.ts";

export type TrainingPlan = {
  readonly epochs: number;
  /** Highest learning rate: reached after `warmupSteps`, then falling to a fiftieth of it along a cosine. */
  readonly learningRate: number;
  readonly warmupSteps: number;
  readonly weightDecay: number;
  /** Steps that the averaged parameters look back, about. */
  readonly averagedSteps: number;
  /** Epochs without a better judgement after which training stops. */
  readonly patience: number;
};

/** What is trained, as the loop sees it. */
export type Trainee<Batch> = {
  readonly parameters: Parameters;
  /** The batches of an epoch (from 0): the same ones each time it is asked. */
  epoch(epoch: number): Iterable<Batch>;
  /** Steps of one epoch, about. */
  readonly stepsPerEpoch: number;
  /** The loss of a batch; leaves gradients in `parameters`. */
  step(batch: Batch): Promise<number>;
  /** How good parameters are on what was held out, higher is better; undefined when nothing could be held out. */
  judge(averages: Averages): Promise<number | undefined>;
};

export type TrainingOutcome = {
  /** The averaged parameters that were judged best. */
  readonly averages: Averages;
  readonly judgement: number | undefined;
  readonly epochs: number;
};

/**
 * Trains until the plan's epochs are over, judgements stop rising or time is up. The learning rate falls with the share
 * of steps or of time that is used, whichever is larger, so that a short budget still ends on small steps; with time
 * to spare, the result depends on data and seed alone.
 *
 * Throws the signal's reason when aborted.
 *
 * @param identity Of data, settings and seed: what was saved under another one is not resumed.
 */
export async function trainEpochs<Batch>(
  trainee: Trainee<Batch>,
  plan: TrainingPlan,
  { context, identity }: { readonly context: FitContext; readonly identity: string },
): Promise<TrainingOutcome> {
  const { parameters } = trainee;
  const optimizer = adam(parameters, { weightDecay: plan.weightDecay });
  const averages = averagesOf(parameters);
  const saved = resumable(context.checkpointFolder, identity, { parameters, averages, optimizer: optimizer.state });
  let { epoch, best } = saved.load() ?? {
    epoch: 0,
    best: { averages: averagesOf(averages), judgement: undefined, epochs: 0 },
  };
  const followEvery = followInterval(parameters);
  const clock = stopwatch(context.secondsMax);
  const stepsAtStart = optimizer.state.stepCount;
  const stepCount = Math.max(1, plan.epochs * trainee.stepsPerEpoch);

  while (epoch < plan.epochs && epoch - best.epochs < plan.patience && !clock.isOver()) {
    for (const batch of trainee.epoch(epoch)) {
      const { stepCount: step } = optimizer.state;
      const share = Math.min(1, Math.max(step / stepCount, clock.share()));
      await checkpoint(
        context,
        share,
        describe(plan, { epoch, best, secondsLeft: clock.left(step - stepsAtStart, stepCount - step) }),
      );
      await trainee.step(batch);
      optimizer.step(learningRateAt(plan, step, share));
      if (step % followEvery === 0) follow(averages, parameters, { steps: plan.averagedSteps / followEvery, step });
      if (clock.isOver()) break;
    }
    epoch++;
    const judgement = await trainee.judge(averages);
    if (judgement === undefined || best.judgement === undefined || judgement > best.judgement) {
      best = { averages: averagesOf(averages), judgement, epochs: epoch };
    }
    saved.save({ epoch, best });
  }
  saved.clear();
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

function describe(
  plan: TrainingPlan,
  { epoch, best, secondsLeft }: { epoch: number; best: TrainingOutcome; secondsLeft: number | undefined },
): string {
  const quality = best.judgement === undefined ? "" : `, NDCG@10 ${best.judgement.toFixed(4)}`;
  const left = secondsLeft === undefined ? "" : `, at most ${Math.ceil(secondsLeft)} s left`;
  return `epoch ${epoch + 1} of ${plan.epochs}${quality}${left}`;
}

/** Wall time within a budget of seconds. */
function stopwatch(secondsMax: number) {
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  const share = () => seconds() / secondsMax;
  return {
    share,
    isOver: () => share() >= 1,
    /** Undefined until a few steps have shown their pace. */
    left: (stepsDone: number, stepsLeft: number) =>
      stepsDone < 5 ? undefined : Math.min((seconds() / stepsDone) * stepsLeft, secondsMax - seconds()),
  };
}
