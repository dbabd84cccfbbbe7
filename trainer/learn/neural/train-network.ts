import type { FitContext } from "../model.ts";
import type { Parameters } from "../numerics/autodiff/parameters.ts";
import { type Histories, upTo } from "../statistics/histories.ts";
import { type Averages, zeroAverages } from "./averages.ts";
import type { BatchScorer } from "./batch-scorer.ts";
import { heldOutNdcg, holdOut } from "./held-out.ts";
import { type FeatureTable, folded } from "./item-vectors.ts";
import { type TrainingPlan, trainEpochs } from "./training.ts";
import { type TrainingRandom, trainingRandom } from "./training-random.ts";

/** What the neural methods differ in. */
export type Network<Batch> = {
  readonly parameters: Parameters;
  /** The features whose vectors are added to the items' own ones after training; undefined: there are none. */
  readonly features?: FeatureTable | undefined;
  /** Largest number of history entries that the network reads. */
  readonly length: number;
  /** The batches of one epoch. User u's history ends before position ends[u]. */
  batches(ends: Uint32Array, random: () => number): Iterable<Batch>;
  compileStep(): Promise<{ run(batch: Batch): Promise<number>; release(): Promise<void> }>;
  openScorer(): Promise<BatchScorer>;
  plan(stepsPerEpoch: number): TrainingPlan;
};

/**
 * Holds out some users' last entries and trains the network on the rest (training.ts). Returns folded parameters, which are zero
 * when the histories give no batch.
 *
 * @param networkOf Gets the histories without the entries that are held out.
 */
export async function trainNetwork<Batch>(
  histories: Histories,
  context: FitContext,
  networkOf: (random: TrainingRandom, learnt: Histories) => Network<Batch> | Promise<Network<Batch>>,
): Promise<Averages> {
  const random = trainingRandom(Math.floor(context.random() * 2 ** 32));
  context.signal.throwIfAborted();
  const heldOut = holdOut(histories, random.of("held_out"));
  const network = await networkOf(random, upTo(histories, heldOut.ends));
  const { parameters, length, features } = network;
  const epoch = (number: number) => {
    random.beginEpoch(number);
    return network.batches(heldOut.ends, random.ofBatches(number));
  };
  const stepsPerEpoch = [...epoch(0)].length;
  if (stepsPerEpoch === 0) return folded(zeroAverages(parameters), features);

  const compiled = await network.compileStep();
  const scorer = await network.openScorer();
  const step = (batch: Batch) => compiled.run(batch);
  const evaluate = (averages: Averages) =>
    heldOutNdcg(scorer, folded(averages, features), { histories, heldOut, length, signal: context.signal });
  const trainee = { parameters, epoch, stepsPerEpoch, step, evaluate };
  try {
    return folded((await trainEpochs(trainee, network.plan(stepsPerEpoch), context)).averages, features);
  } finally {
    await Promise.all([compiled.release(), scorer.release()]);
  }
}
