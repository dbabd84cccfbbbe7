import { placedAsIn, warmOf } from "../../learn/attributes/cold-start.ts";
import type { Method, Params } from "../../learn/model.ts";
import { type BlendPart, blend } from "../../learn/scoring/blend.ts";
import { type BlendRecipe, costOfParts, fitParts } from "../../learn/scoring/blend-recipe.ts";

export const BLEND = "blend";

/** One part of a blend: a method with its settings and its weight. */
export type PartChoice = { readonly method: string; readonly params: Params; readonly share: number };

/**
 * The settings of a blend as one flat table of numbers, so that a blend is recorded, compared and fitted again like any other method:
 * `0.ease.share` (the weight), `0.ease.lambda`, `1.item_knn.share`, …
 */
export function blendParams(parts: readonly PartChoice[]): Params {
  const entries = parts.flatMap(({ method, params, share }, i) =>
    Object.entries({ share, ...params }).map(([name, value]) => [`${i}.${method}.${name}`, value] as const),
  );
  return Object.fromEntries(entries);
}

/** Reads the parts that blendParams wrote. Throws for settings of another form. */
export function partsOf(params: Params): PartChoice[] {
  const parts: { method: string; share: number; params: Record<string, number> }[] = [];
  for (const [key, value] of Object.entries(params)) {
    const [, index, method, name] = /^(\d+)\.([^.]+)\.(.+)$/.exec(key) ?? [];
    if (index === undefined || method === undefined || name === undefined) {
      throw new Error(`A blend's settings are like "0.ease.lambda"; found ${JSON.stringify(key)}.`);
    }
    parts[Number(index)] ??= { method, share: 0, params: {} };
    const part = parts[Number(index)]!;
    if (name === "share") part.share = value;
    else part.params[name] = value;
  }
  const gap = Array.from(parts.keys()).find((index) => parts[index] === undefined);
  if (gap !== undefined) throw new Error(`A blend's settings have no part ${gap}.`);
  return parts;
}

/** The method with a name: one of the table, or the blend of methods of the table. Undefined for an unknown name. */
export function methodNamed(name: string, methods: Readonly<Record<string, Method>>): Method | undefined {
  return methods[name] ?? (name === BLEND ? blendOf(methods) : undefined);
}

/** The unknown method of a choice or of a part of its blend; `blend` if its settings cannot be read. Undefined when all are known. */
export function unknownMethod(
  { method, params }: { readonly method: string; readonly params: Params },
  methods: Readonly<Record<string, Method>>,
): string | undefined {
  if (methodNamed(method, methods) === undefined) return method;
  if (method !== BLEND) return undefined;
  try {
    const parts = partsOf(params);
    return parts.length === 0 ? BLEND : parts.find((part) => !methods[part.method])?.method;
  } catch {
    return BLEND;
  }
}

/** One model from fitted parts. Cold items are placed once, in the lists of the blend, because every part would place them again. */
export function blendOfFitted(params: Params, parts: readonly BlendPart[]) {
  const warm = parts.map(({ model, weight }) => ({ model: warmOf(model), weight }));
  return placedAsIn(
    parts.map(({ model }) => model),
    blend(BLEND, params, warm),
  );
}

function blendOf(methods: Readonly<Record<string, Method>>): Method {
  const recipesFor = (params: Params): BlendRecipe[] =>
    partsOf(params).map(({ method: name, params: own, share }) => {
      const method = methods[name];
      if (!method) throw new Error(`The blend has a part of the method ${JSON.stringify(name)}, which is not known.`);
      return { method, params: own, weight: share };
    });
  return {
    name: BLEND,
    grid: () => [],
    cost: (data, params) => costOfParts(data, recipesFor(params)),
    fit: async (data, params, context) => blendOfFitted(params, await fitParts(data, recipesFor(params), context)),
  };
}
