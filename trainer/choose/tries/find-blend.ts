import type { Method } from "../../learn/model.ts";
import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import type { MetricAtK } from "../evaluate/evaluate.ts";
import { restrictedTo } from "../evaluate/evaluation-figures.ts";
import type { Validation } from "../splits/validation.ts";
import { BLEND, blendOfFitted, blendParams, methodNamed } from "./blend-method.ts";
import { evaluateFitted, meanOf, type Trial, type TrialContext } from "./trial.ts";

export type BlendTask = {
  /** Trials fitted on the same data and evaluated on the early cases, the best first. */
  readonly trials: readonly Trial[];
  readonly methods: Readonly<Record<string, Method>>;
  readonly validation: Validation;
  readonly metric: MetricAtK;
  /** When the search stops with the best blend so far, by the clock of the context. */
  readonly deadline: number;
  /** Upper bound of the fit seconds of all parts together, because the chosen blend is fitted again. */
  readonly fitSecondsMax: number;
};

type Part = { readonly trial: Trial; readonly share: number };
type Mix = { readonly parts: readonly Part[]; readonly value: number };

/** Weights that are tried for a further part; the first part has weight 1. The optimum is flat, so few weights are enough. */
const WEIGHTS = [0.3, 0.6, 0.15, 1] as const;
const PARTS_MAX = 3;
const PARTNERS_MAX = 5;
const SEARCH_LISTS = 1000;
/** Relative gain that a further part must reach, since it makes the model more expensive to serve. */
const GAIN_MIN = 0.005;

/**
 * Finds the best blend of models that are already fitted, evaluated on the early cases. Parts are added to the best model one at a time
 * (greedy forward selection, Caruana et al. 2004); the search uses a sample of the cases. Undefined when no blend gains enough.
 */
export async function findBlend(task: BlendTask, context: TrialContext): Promise<Trial | undefined> {
  const { validation, metric } = task;
  // The live version may be a blend; its parts were also tried by themselves.
  const usable = task.trials.filter(({ method, fitted }) => method.name !== BLEND && fitted);
  const best = usable[0];
  if (!best || usable.length < 2) return undefined;
  const early = validation.earlyPositions;
  const some = samplePositions(early.length, SEARCH_LISTS, seededRandom(context.seed, 53)).map((i) => early[i]!);
  const start = { parts: [{ trial: best, share: 1 }], value: meanOf(restrictedTo(best.evaluation, some), metric) };

  let mix: Mix = start;
  // The search leaves enough time for the final evaluation of its result.
  const last = evaluationSecondsOf([best, ...usable.slice(1, PARTS_MAX)], early.length);
  const search = { ...task, positions: some, deadline: task.deadline - last };
  while (mix.parts.length < PARTS_MAX && context.clock() < search.deadline) {
    const further = await addPart(mix, usable, search, context);
    if (further.value < mix.value * (1 + GAIN_MIN)) break;
    mix = further;
  }
  if (mix.parts.length === 1) return undefined;
  const trial = await evaluateMix(mix.parts, { ...task, positions: early }, context);
  const fresh = unsearched(early, some);
  const meanOn = (own: Trial) => meanOf(restrictedTo(own.evaluation, fresh), metric);
  return meanOn(trial) > meanOn(best) * (1 + GAIN_MIN) ? trial : undefined;
}

/**
 * The cases on which a blend is compared with its best part: cases that the search has not used, because the best of dozens of mixes
 * looks better than it is on the cases that picked it. If too few unused cases remain, all cases.
 */
export function unsearched(early: Uint32Array, searched: Uint32Array): Uint32Array {
  const seen = new Set(searched);
  const fresh = early.filter((position) => !seen.has(position));
  return fresh.length >= searched.length ? fresh : early;
}

/** Predicted seconds of evaluating a blend of these trials: every part scores every list. */
const evaluationSecondsOf = (trials: readonly Trial[], lists: number): number =>
  lists * trials.reduce((sum, { secondsPerList }) => sum + secondsPerList, 0);

const fitSecondsOf = (parts: readonly Part[]): number => parts.reduce((sum, { trial }) => sum + trial.fitSeconds, 0);

type Search = BlendTask & { readonly positions: Uint32Array };

/** The mix with one more part: first the best partner at one weight, then the best weight for that partner. */
async function addPart(mix: Mix, usable: readonly Trial[], search: Search, context: TrialContext): Promise<Mix> {
  const fitSeconds = fitSecondsOf(mix.parts);
  const partners = usable
    .filter((trial) => !mix.parts.some((part) => part.trial === trial))
    .filter((trial) => fitSeconds + trial.fitSeconds <= search.fitSecondsMax)
    .slice(0, PARTNERS_MAX);
  const total = partners.length + WEIGHTS.length - 1;
  let best: Mix = { parts: mix.parts, value: Number.NEGATIVE_INFINITY };
  let tried = 0;
  const tryWith = async (trial: Trial, share: number) => {
    const own = evaluationSecondsOf([...mix.parts.map((part) => part.trial), trial], search.positions.length);
    if (context.clock() + own >= search.deadline) return;
    const progress = (done: number, detail: string) => context.progress((tried + done) / total, detail);
    const parts = [...mix.parts, { trial, share }];
    const value = meanOf((await evaluateMix(parts, search, { ...context, progress })).evaluation, search.metric);
    tried++;
    if (value > best.value) best = { parts, value };
  };
  for (const partner of partners) await tryWith(partner, WEIGHTS[0]);
  const partner = best.parts.at(-1)?.trial;
  if (partner && best.parts.length > mix.parts.length)
    for (const share of WEIGHTS.slice(1)) await tryWith(partner, share);
  return best;
}

async function evaluateMix(parts: readonly Part[], { methods, validation, positions }: Search, context: TrialContext) {
  const params = blendParams(
    parts.map(({ trial, share }) => ({ method: trial.method.name, params: trial.params, share })),
  );
  const models = parts.map(({ trial, share }) => ({ model: trial.fitted!, weight: share }));
  const fitted = blendOfFitted(params, models);
  const fitSeconds = fitSecondsOf(parts);
  const candidate = { method: methodNamed(BLEND, methods)!, params };
  const { cases } = validation.split;
  return await evaluateFitted({ candidate, fitted, fitSeconds }, { cases, positions, trainFraction: 1 }, context);
}
