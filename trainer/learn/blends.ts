/** Blends: weighted sums of the scores of several methods. The standard blends and those that the chooser finds are the same mechanism. */
import { withColdItems } from "./attributes/cold-start.ts";
import {
  type Cost,
  clockOf,
  type FitContext,
  type FittedModel,
  fitOrReuse,
  heldMbOf,
  type Method,
  type Params,
  type TrainingData,
} from "./model.ts";
import { isDense, isSmall } from "./sasrec.ts";
import { blend } from "./scoring/blend.ts";
import { farAndNear } from "./sequential-ridge.ts";
import { besidePooled } from "./sharpened-filter.ts";

export const BLEND = "blend";

type Methods = Readonly<Record<string, Method>>;

/** One part of a blend: a method with its settings and the weight of its scores. */
export type PartChoice = { readonly method: string; readonly params: Params; readonly share: number };

/**
 * The settings of a blend as one flat table of numbers, so that a blend is recorded, compared and fitted again like any other method:
 * `0.local_ridge.share` (the weight), `0.local_ridge.lambda`, `1.graph_filter.share`, …
 */
export function blendParams(parts: readonly PartChoice[]): Params {
  const entries = parts.flatMap(({ method, params, share }, i) =>
    Object.entries({ share, ...params }).map(([name, value]) => [`${i}.${method}.${name}`, value] as const),
  );
  return Object.fromEntries(entries);
}

/** Reads the parts that blendParams wrote. Throws for settings of another form. */
export function partsOf({ coldEvery: _, ...params }: Params): PartChoice[] {
  const parts: { method: string; share: number; params: Record<string, number> }[] = [];
  for (const [key, value] of Object.entries(params)) {
    const [, index, method, name] = /^(\d+)\.([^.]+)\.(.+)$/.exec(key) ?? [];
    if (index === undefined || method === undefined || name === undefined) {
      throw new Error(`A blend's settings are like "0.local_ridge.lambda"; found ${JSON.stringify(key)}.`);
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

/**
 * A blend of methods of a table. Its parts are fitted one after the other, and cold items are placed once, in the lists of the sum.
 *
 * @param recipes The parts of each guess, the best first. A guess with an undefined part suits other data.
 */
export function blendOf(
  methods: Methods,
  name = BLEND,
  recipes: (data: TrainingData) => readonly (readonly (PartChoice | undefined)[])[] = () => [],
): Method {
  const fittedParts = (params: Params) =>
    partsOf(params).map(({ method, params, share }) => {
      const found = methods[method];
      if (!found) throw new Error(`The blend has a part of the method ${JSON.stringify(method)}, which is not known.`);
      return { method: found.warm ?? found, params, share };
    });
  return withColdItems({
    name,
    partMethods: methods,
    grid(data) {
      return recipes(data).flatMap((parts) => {
        const known = parts.filter((part) => part !== undefined);
        return known.length === parts.length ? [blendParams(known)] : [];
      });
    },
    smaller(params) {
      const given = partsOf(params);
      const smaller = given.map((part) => ({
        ...part,
        params: methods[part.method]?.smaller?.(part.params) ?? part.params,
      }));
      if (smaller.every((part, i) => part.params === given[i]!.params)) return undefined;
      return { ...params, ...blendParams(smaller) };
    },
    cost: (data, params) => costOfParts(fittedParts(params).map((part) => part.method.cost(data, part.params))),
    async fit(data, params, context) {
      const parts = fittedParts(params);
      const models = await fitParts(data, parts, context);
      return blend(
        name,
        params,
        parts.map(({ share }, i) => ({ model: models[i]!, weight: share })),
      );
    },
  });
}

/** The method with a name: one of the table, or the blend of methods of the table. Undefined for an unknown name. */
export function methodNamed(name: string, methods: Methods): Method | undefined {
  if (methods[name] || name !== BLEND) return methods[name];
  const parts: Methods[] = Object.values(methods).map(({ partMethods }) => partMethods ?? {});
  return blendOf(Object.assign({}, ...parts, methods));
}

/** The unknown method of a choice or of a part of its blend; the blend if its settings cannot be read. Undefined: all are known. */
export function unknownMethod(
  { method, params }: { readonly method: string; readonly params: Params },
  methods: Methods,
): string | undefined {
  const known = methodNamed(method, methods);
  if (!known?.partMethods) return known ? undefined : method;
  try {
    const parts = partsOf(params);
    return parts.length === 0 ? method : parts.find((part) => !known.partMethods![part.method])?.method;
  } catch {
    return method;
  }
}

/** Parts are fitted one after the other, each beside the fitted ones. */
function costOfParts(costs: readonly Cost[]): Cost {
  const heldMb = costs.reduce((sum, cost) => sum + heldMbOf(cost), 0);
  return {
    seconds: costs.reduce((sum, { seconds }) => sum + seconds, 0),
    memoryMb: heldMb + Math.max(0, ...costs.map((cost) => cost.memoryMb - heldMbOf(cost))),
    heldMb,
  };
}

type Part = { readonly method: Method; readonly params: Params };

/**
 * Fits the parts one after the other. Networks come last and divide the time that the others left, but each gets at least what its shortest
 * worthwhile training takes.
 */
async function fitParts(data: TrainingData, parts: readonly Part[], context: FitContext) {
  const clock = clockOf(context);
  const end = clock() + context.secondsMax;
  const models = new Map<Part, FittedModel>();
  const networks = parts.filter(({ method }) => method.fillsItsTime);
  const inOrder = [...parts.filter((part) => !networks.includes(part)), ...networks];
  for (const [i, part] of inOrder.entries()) {
    const { method, params } = part;
    const progress = (fraction: number, detail: string) =>
      context.progress((i + fraction) / parts.length, `${method.name}: ${detail}`);
    const secondsLeft = (end - clock()) / (parts.length - i);
    const secondsMax = Math.max(method.cost(data, params).seconds, secondsLeft);
    models.set(part, await fitOrReuse(method, data, params, { ...context, progress, secondsMax }));
  }
  return parts.map((part) => models.get(part)!);
}

/** Up to this number of items the exact solutions are quick; beyond it, each item is regressed on its neighbours. */
const EXACT_ITEMS_MAX = 6000;
/**
 * Weights beside a network, of the far and the near ridge and, on dense data, of a graph filter and of factors (LOG.md, "Equal times in
 * random order", "Weights of the ridges beside a network" and "Networks on small data").
 */
const BESIDE_NETWORK = {
  small: { ridges: [0.15, 0.09], nearAlone: 0.36 },
  sparse: { ridges: [0.05, 0.03], nearAlone: 0.12 },
  dense: { ridges: [0.02, 0.02], filter: 0.03, factors: 0.03 },
} as const;
/**
 * Weights beside the ridge. Most scores of the ridge are 0 on sparse data, so that its best scores are many times their spread (LOG.md,
 * "Two hops on yelp2018").
 */
const BESIDE_RIDGE = { sharpened: 2, pooled: 15 } as const;
/** Weight beside the sharpened filter, where a ridge gains nothing more (LOG.md, "A plateau beside the pooled model"). */
const POOLED_BESIDE_SHARPENED = 4;
/** Weight of the local ridge beside a walk, and its decay. More costs the ranks of repeated items (LOG.md, "Flatter session walks"). */
const RIDGE_BESIDE_WALK = { share: 0.1, recentScale: 4 };

/**
 * The standard blends, of the best guesses of their parts: `set_blend` for sets, `pooled_blend` for large sparse sets, `session_blend`
 * for sessions with repeated items, and `neural_blend` for the next item where data and time are enough for a network. Their parts
 * make different errors. Further blends are searched in `choose/tries/find-blend.ts`.
 */
export function standardBlends(methods: Methods): Method[] {
  const guess = (method: string, share: number) => (data: TrainingData) => {
    const params = methods[method]!.grid(data)[0];
    return params && { method, params, share };
  };
  const isExact = ({ itemCount }: TrainingData) => itemCount <= EXACT_ITEMS_MAX;
  const ridges = (data: TrainingData, shares: readonly [far: number, near: number]): PartChoice[] =>
    farAndNear(data).map((params, i) => {
      const share = shares[i]!;
      return isExact(data)
        ? { method: "sequential_ridge", params, share }
        : { method: "sequential_local_ridge", params: { ...params, neighbours: 300 }, share };
    });
  const [local, filter, factors] = [guess("local_ridge", 1), guess("graph_filter", 0.6), guess("implicit_als", 0.6)];
  const sharpened = (share: number) => guess("sharpened_filter", share); // undefined on dense data
  const network = guess("sasrec", 1);
  const walk = guess("session_walk", 1);
  const localBesideWalk = (data: TrainingData) => {
    const { share, recentScale } = RIDGE_BESIDE_WALK;
    const found = guess("local_ridge", share)(data);
    return found && { ...found, params: { ...found.params, recentScale } };
  };
  return [
    blendOf(methods, "set_blend", (data) => {
      const beside = sharpened(BESIDE_RIDGE.sharpened)(data);
      return [beside ? [local(data), beside] : [local(data), filter(data), factors(data)]];
    }),
    blendOf(methods, "pooled_blend", (data) => {
      const beside = sharpened(1)(data);
      return [
        beside
          ? [guess("pooled_history", POOLED_BESIDE_SHARPENED)(data), { ...beside, params: besidePooled(data) }]
          : [guess("pooled_history", BESIDE_RIDGE.pooled)(data), local(data)],
      ];
    }),
    blendOf(methods, "session_blend", (data) => [[walk(data), localBesideWalk(data)]]),
    blendOf(methods, "neural_blend", (data) => {
      const { small, sparse, dense } = BESIDE_NETWORK;
      if (isDense(data) && !isSmall(data)) {
        const others = [guess("graph_filter", dense.filter)(data), guess("implicit_als", dense.factors)(data)];
        return [[network(data), ...ridges(data, dense.ridges), ...others]];
      }
      const shares = isSmall(data) ? small : sparse;
      const [far, near] = ridges(data, shares.ridges);
      // Where no time is left for the far ridge, the near one has often been tried on its own.
      return [
        [network(data), far, near],
        [network(data), { ...near!, share: shares.nearAlone }],
      ];
    }),
  ];
}
