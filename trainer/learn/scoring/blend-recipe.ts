import { type Cost, type FitContext, type Method, ownSeconds, type Params, type TrainingData } from "../model.ts";
import { type BlendPart, blend } from "./blend.ts";

/** A part of a blend before it is fitted. A part of weight 0 is neither fitted nor served. */
export type BlendRecipe = { readonly method: Method; readonly params: Params; readonly weight: number };

export type RecipeBlend<P extends Params> = Pick<Method<P>, "name" | "grid" | "parts"> & {
  readonly recipesFor: (data: TrainingData, params: P) => readonly BlendRecipe[];
};

/** A method that fits the parts that its settings describe, one after the other, and sums their scores. */
export function recipeBlend<P extends Params>({ recipesFor, ...rest }: RecipeBlend<P>): Method<P> {
  return {
    ...rest,
    cost: (data, params) => costOfParts(data, recipesFor(data, params)),
    fit: async (data, params, context) =>
      blend(rest.name, params, await fitParts(data, recipesFor(data, params), context)),
  };
}

const used = (recipes: readonly BlendRecipe[]) => recipes.filter(({ weight }) => weight > 0);

/** Parts are fitted one after the other; a fitted part is assumed to keep half of its peak memory. */
export function costOfParts(data: TrainingData, recipes: readonly BlendRecipe[]): Cost {
  const costs = used(recipes).map(({ method, params }) => method.cost(data, params));
  const shared = costs.map((cost) => cost.shared).find((one) => one !== undefined);
  const memory = costs.map(({ memoryMb }) => memoryMb);
  return {
    seconds: costs.reduce((sum, cost) => sum + ownSeconds(cost), shared?.seconds ?? 0),
    memoryMb: memory.reduce((sum, peak) => sum + peak / 2, Math.max(0, ...memory) / 2),
    ...(shared && { shared }),
  };
}

/** Fits the parts one after the other. Each gets a fraction of the time, in proportion to its predicted seconds. */
export async function fitParts(
  data: TrainingData,
  recipes: readonly BlendRecipe[],
  context: FitContext,
): Promise<BlendPart[]> {
  const kept = used(recipes);
  const seconds = kept.map(({ method, params }) => Math.max(1e-3, ownSeconds(method.cost(data, params))));
  const total = seconds.reduce((sum, one) => sum + one, 0);
  const parts: BlendPart[] = [];
  for (const [i, { method, params, weight }] of kept.entries()) {
    const progress = (fraction: number, detail: string) =>
      context.progress((i + fraction) / kept.length, `${method.name}: ${detail}`);
    const secondsMax = (context.secondsMax * seconds[i]!) / total;
    parts.push({ model: await method.fit(data, params, { ...context, progress, secondsMax }), weight });
  }
  return parts;
}
