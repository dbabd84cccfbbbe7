import { coldItems } from "../../learn/attributes/cold-items.ts";
import { COLD_EVERY_RARE } from "../../learn/attributes/cold-start.ts";
import { type Method, ownSeconds, type TrainingData } from "../../learn/model.ts";
import type { MetricAtK } from "../evaluate/evaluate.ts";
import { lift } from "../evaluate/evaluation-figures.ts";
import { runTrial } from "./trial.ts";
import { type SelectState, scaled } from "./try-methods.ts";

/** Fraction of the remaining seconds for both trials together. */
const TIME_FRACTION = 0.1;

/**
 * The methods with their rule for cold items (items that nobody has chosen yet): one place in ten of every list, or one in fifty where
 * that is reliably better on the validation part. In an old catalog, items that nobody has chosen are items that nobody wants. The cheapest
 * method is tried both ways and decides for all methods.
 */
export async function withColdPlaces(state: SelectState): Promise<SelectState["methods"]> {
  const { methods, context, validation, secondsLeft } = state;
  const { train, split, earlyPositions: positions } = validation;
  if (coldItems(train).length === 0) return methods;
  const method = cheapest(methods, train);
  const params = method?.grid(train)[0];
  const secondsMax = (TIME_FRACTION * secondsLeft()) / 2;
  if (!method || !params) return methods;
  // Statistics of cold items are shared by all fits, so their seconds are not counted here.
  const cost = method.cost(train, params);
  if (ownSeconds(cost) > secondsMax) return methods;
  // The first cold item is at place 11 or later, where a metric at 10 cannot see it.
  const deepest = `ndcg@${Math.max(...context.cutOffs)}` as MetricAtK;
  const time = { secondsMax, secondsHard: 2 * secondsMax + (cost.shared?.seconds ?? 0) };
  const task = { data: train, cases: split.cases, positions, trainFraction: 1, ...time };
  try {
    const often = await runTrial({ method, params }, task, scaled(context, 0.15, 0.16));
    const candidate = { method, params: { ...params, coldEvery: COLD_EVERY_RARE } };
    const rarely = await runTrial(candidate, task, scaled(context, 0.16, 0.17));
    const gain = lift(rarely.evaluation, often.evaluation, { metric: deepest, seed: context.seed });
    return gain.low > 0 ? withRarePlaces(methods) : methods;
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof Error)) throw error;
    return methods; // the same failure occurs, and is reported, when the method is tried
  }
}

function cheapest(methods: SelectState["methods"], train: TrainingData): Method | undefined {
  const placing = Object.values(methods).filter((method) => method.placesColdItems && method.grid(train).length > 0);
  const seconds = (method: Method) => method.cost(train, method.grid(train)[0]!).seconds;
  return placing.reduce<Method | undefined>(
    (least, own) => (least && seconds(least) <= seconds(own) ? least : own),
    undefined,
  );
}

const withRarePlaces = (methods: SelectState["methods"]) =>
  Object.fromEntries(
    Object.entries(methods).map(([name, method]) => {
      if (!method.placesColdItems) return [name, method];
      const grid = (data: TrainingData) =>
        method.grid(data).map((params) => ({ ...params, coldEvery: COLD_EVERY_RARE }));
      return [name, { ...method, grid }];
    }),
  );
