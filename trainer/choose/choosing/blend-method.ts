import { placedAsIn, warmOf } from "../../learn/attributes/cold-start.ts";
import type { Method, Params } from "../../learn/model.ts";
import { type BlendPart, type BlendRecipe, blend, fitParts } from "../../learn/scoring/blend.ts";
import { ownSeconds } from "./pace.ts";

export const BLEND = "blend";

/** A method with its settings, and how much its opinion counts in a blend. */
export type PartChoice = { readonly method: string; readonly params: Params; readonly share: number };

/**
 * The settings of a blend as one flat table of numbers, so that it is recorded, compared and fitted again like any other method:
 * `0.ease.share`, `0.ease.lambda`, `1.item_knn.share`, …
 */
export function blendParams(parts: readonly PartChoice[]): Params {
  const entries = parts.flatMap(({ method, params, share }, i) =>
    Object.entries({ share, ...params }).map(([name, value]) => [`${i}.${method}.${name}`, value] as const),
  );
  return Object.fromEntries(entries);
}

/** The parts that blendParams wrote. Throws when the settings are of another form. */
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

/** The method of a name: one of the table, or the blend of some of them. Undefined for a name that is not known. */
export function methodNamed(name: string, methods: Readonly<Record<string, Method>>): Method | undefined {
  return methods[name] ?? (name === BLEND ? blendOf(methods) : undefined);
}

/** The name of a choice's method, or of a part of a blend, that is not known; the blend's own where its settings cannot be read. */
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

/** Fitted models as one. Cold items are placed once, in the lists of the whole: every part would give them places of its own. */
export function blendOfFitted(params: Params, parts: readonly BlendPart[]) {
  const warm = parts.map(({ model, share }) => ({ model: warmOf(model), share }));
  return placedAsIn(
    parts.map(({ model }) => model),
    blend(BLEND, params, warm),
  );
}

function blendOf(methods: Readonly<Record<string, Method>>): Method {
  const recipesOf = (params: Params): BlendRecipe[] =>
    partsOf(params).map(({ method: name, params: own, share }) => {
      const method = methods[name];
      if (!method) throw new Error(`The blend has a part of the method ${JSON.stringify(name)}, which is not known.`);
      return { method, params: own, share };
    });
  return {
    name: BLEND,
    grid: () => [],
    cost(data, params) {
      const costs = recipesOf(params).map(({ method, params: own }) => method.cost(data, own));
      const shared = costs.map((cost) => cost.shared).find((one) => one !== undefined);
      return {
        seconds: costs.reduce((sum, cost) => sum + ownSeconds(cost), shared?.seconds ?? 0),
        memoryMb: costs.reduce((sum, { memoryMb }) => sum + memoryMb, 0),
        ...(shared && { shared }),
      };
    },
    async fit(data, params, context) {
      const recipes = recipesOf(params);
      const parts: BlendPart[] = [];
      for (const [i, recipe] of recipes.entries()) {
        // By what each is predicted to take: a network beside closed forms has nearly all of the time.
        const secondsOf = ({ method, params: own }: BlendRecipe) => Math.max(1e-3, ownSeconds(method.cost(data, own)));
        const share = secondsOf(recipe) / recipes.reduce((sum, other) => sum + secondsOf(other), 0);
        const progress = (done: number, detail: string) => context.progress((i + done) / recipes.length, detail);
        const partContext = { ...context, progress, secondsMax: context.secondsMax * share };
        parts.push(...(await fitParts(data, [recipe], partContext)));
      }
      return blendOfFitted(params, parts);
    },
  };
}
