import { coldItems } from "../../learn/attributes/cold-items.ts";
import { COLD_EVERY_RARE } from "../../learn/attributes/cold-start.ts";
import type { Method, TrainingData } from "../../learn/model.ts";
import type { MetricAtK } from "../evaluate/evaluate.ts";
import { lift } from "../evaluate/evaluation-figures.ts";
import { obstacle, type SelectState, tryCandidate } from "./select-state.ts";

/**
 * The methods with their rule for cold items (items that nobody has chosen yet): one place in ten of every list, or one in fifty where
 * that is reliably better on the validation part. In an old catalog, items that nobody has chosen are items that nobody wants. The cheapest
 * method decides for all methods; it is fitted once for both ways. Stand-ins may not be needed later, so none decides.
 */
export async function withColdPlaces(state: SelectState): Promise<SelectState["methods"]> {
  const { methods, context, validation, secondsLeft } = state;
  const { train } = validation;
  if (coldItems(train).length === 0) return methods;
  const candidates = Object.values(methods).flatMap((method) => {
    const isStandIn = (method.standsInFor?.(train) ?? []).length > 0;
    const params = method.warm && !isStandIn ? method.grid(train)[0] : undefined;
    return params ? [{ method, params, seconds: method.cost(train, params).seconds }] : [];
  });
  const cheapest = candidates.sort((a, b) => a.seconds - b.seconds)[0];
  if (!cheapest || obstacle(state, cheapest)) return methods;
  const often = await tryCandidate(state, cheapest, { secondsMax: secondsLeft() });
  const rare = { ...cheapest, params: { ...cheapest.params, coldEvery: COLD_EVERY_RARE } };
  const rarely = often && (await tryCandidate(state, rare, { secondsMax: secondsLeft() }));
  if (!rarely) return methods;
  // The first cold item is at place 11 or later, where a metric at 10 cannot see it.
  const metric = `ndcg@${Math.max(...context.cutOffs)}` as MetricAtK;
  const gain = lift(rarely.evaluation, often.evaluation, { metric, seed: context.seed });
  return gain.low > 0 ? Object.fromEntries(Object.entries(methods).map(withRarePlaces)) : methods;
}

const withRarePlaces = ([name, method]: [string, Method]): [string, Method] => {
  const grid = (data: TrainingData) => method.grid(data).map((params) => ({ ...params, coldEvery: COLD_EVERY_RARE }));
  return [name, method.warm ? { ...method, grid } : method];
};
