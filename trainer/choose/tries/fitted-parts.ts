import { partsOf } from "../../learn/blends.ts";
import {
  type FitPart,
  type FittedModel,
  heldMbOf,
  type Method,
  type Params,
  type TrainingData,
} from "../../learn/model.ts";
import { threadsSpeedUp, trainingThreads } from "../../learn/neural/training-threads.ts";
import type { Candidate } from "./candidate.ts";

/** The models that are fitted on the training part. Every part is fitted once, whichever candidates and blends use it. */
export type FittedParts = {
  readonly fit: FitPart;
  /** The parts of a candidate that have no fitted model. */
  missing(candidate: Candidate): Candidate[];
  /** Seconds that a fit would take now: predicted for the parts that have not been fitted, by how long fits took so far. */
  secondsToFit(candidate: Candidate, data?: TrainingData): number;
  /** Seconds of a fit that shares nothing, as the final fit on all data will be. */
  secondsAlone(candidate: Candidate): number;
  /** Whether a fit took all of its time, so that a longer one would give another model. */
  usedAllTime(part: Candidate): boolean;
  /** The value of a trial. Models of the best candidates are kept longest. */
  keepFor(candidate: Candidate, value: number): void;
  /** Memory of the models that are kept. */
  heldMb(): number;
};

type Entry = {
  model: FittedModel | undefined;
  readonly seconds: number;
  readonly usedAllTime: boolean;
  readonly memoryMb: number;
  value: number;
};

/** Fits of a method that took fewer seconds in total are too short to tell its pace. */
const OWN_SECONDS_MIN = 1;
/**
 * Until more is measured, a pace counts as if it had been measured over so many seconds. Otherwise one short fit, which loads a
 * library or waits for a busy machine, would let all others seem too long.
 */
const PRIOR_SECONDS = 3;
/** A network that took this fraction of its time was cut short: one that converges ends earlier. */
const ALL_TIME = 0.9;

/** The clock that fits are measured by, and the threads of networks, as in FitContext. */
type Pace = { readonly clock: () => number; readonly threads?: number | undefined };

/** @param memoryMbMax Of the models that are kept. */
export function fittedParts(train: TrainingData, { clock, threads }: Pace, memoryMbMax: number): FittedParts {
  const networkPace = 1 / threadsSpeedUp(trainingThreads(train.items.length, threads));
  const entries = new Map<string, Entry>();
  const taken = new Map<string, { seconds: number; predicted: number }>();
  const entryOf = ({ method, params }: Candidate) => entries.get(keyOf(method, params));
  const heldMb = () => [...entries.values()].reduce((sum, { model, memoryMb }) => sum + (model ? memoryMb : 0), 0);

  const fit: FitPart = async (method, data, params, context) => {
    if (method.warm || method.partMethods) return await method.fit(data, params, { ...context, fitPart: fit });
    const known = data === train ? entryOf({ method, params })?.model : undefined;
    if (known) return known;
    const begin = clock();
    const model = await method.fit(data, params, context);
    const seconds = clock() - begin;
    if (!method.fillsItsTime) {
      const own = taken.get(method.name) ?? { seconds: 0, predicted: 0 };
      const predicted = own.predicted + method.cost(data, params).seconds;
      taken.set(method.name, { seconds: own.seconds + seconds, predicted });
    }
    if (data !== train) return model;
    const memoryMb = heldMbOf(method.cost(data, params));
    const usedAllTime = method.fillsItsTime === true && seconds > ALL_TIME * context.secondsMax;
    entries.set(keyOf(method, params), { model, seconds, usedAllTime, memoryMb, value: Number.POSITIVE_INFINITY });
    forgetWorst();
    return model;
  };

  const forgetWorst = () => {
    const held = [...entries.values()].filter(({ model }) => model).sort((a, b) => a.value - b.value);
    for (const worst of held) if (heldMb() > memoryMbMax) worst.model = undefined;
  };

  /**
   * How many times longer than predicted the fits of a method take, by its own and those of all methods. Networks keep to their time, and
   * are predicted for one thread.
   */
  const paceOf = ({ name, fillsItsTime }: Method) => {
    if (fillsItsTime) return networkPace;
    const all = [...taken.values()];
    const seconds = all.reduce((sum, one) => sum + one.seconds, 0);
    const ofAll = Math.max(1, paceAfter(1, { seconds, predicted: all.reduce((sum, one) => sum + one.predicted, 0) }));
    const own = taken.get(name);
    return own && own.seconds >= OWN_SECONDS_MIN ? paceAfter(ofAll, own) : ofAll;
  };

  const predicted = ({ method, params }: Candidate, data: TrainingData) =>
    paceOf(method) * method.cost(data, params).seconds;
  const sharedOf = ({ method, params }: Candidate, data: TrainingData) => method.cost(data, params).shared;
  const sum = (parts: readonly Candidate[], secondsOf: (part: Candidate) => number) =>
    parts.reduce((all, part) => all + secondsOf(part), 0);

  const missing = (candidate: Candidate) => separateParts(candidate).filter((part) => !entryOf(part)?.model);

  return {
    fit,
    missing,
    secondsToFit(candidate, data = train) {
      const shared = sharedOf(candidate, data);
      const parts = data === train ? missing(candidate) : separateParts(candidate);
      return sum(parts, (part) => predicted(part, data)) + (shared?.isPaid ? 0 : (shared?.seconds ?? 0));
    },
    secondsAlone(candidate) {
      const seconds = (part: Candidate) => entryOf(part)?.seconds ?? predicted(part, train);
      return sum(separateParts(candidate), seconds) + (sharedOf(candidate, train)?.seconds ?? 0);
    },
    usedAllTime: (part) => entryOf(part)?.usedAllTime ?? false,
    keepFor(candidate, value) {
      for (const part of separateParts(candidate)) {
        const entry = entryOf(part);
        if (entry) entry.value = Number.isFinite(entry.value) ? Math.max(entry.value, value) : value;
      }
    },
    heldMb,
  };
}

/** The parts of a blend, without cold items; of another candidate, the candidate itself. */
export function separateParts({ method, params: { coldEvery: _, ...params } }: Candidate): Candidate[] {
  const warm = method.warm ?? method;
  if (!warm.partMethods) return [{ method: warm, params }];
  return partsOf(params).map((part) => {
    const found = warm.partMethods![part.method]!;
    return { method: found.warm ?? found, params: part.params };
  });
}

/** The pace that was known before, with what fits took since. */
const paceAfter = (pace: number, { seconds, predicted }: { readonly seconds: number; readonly predicted: number }) =>
  (PRIOR_SECONDS * pace + seconds) / (PRIOR_SECONDS + predicted);

const keyOf = (method: Method, params: Params) =>
  JSON.stringify([method.name, Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1))]);
