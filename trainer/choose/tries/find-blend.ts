import type { Method } from "../../learn/model.ts";
import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import type { MetricAtK } from "../evaluate/evaluate.ts";
import { restrictedTo } from "../evaluate/evaluation-figures.ts";
import type { Validation } from "../splits/validation.ts";
import { BLEND, blendOfFitted, blendParams, methodNamed } from "./blend-method.ts";
import { judgeFitted, meanOf, type Trial, type TrialContext } from "./trial.ts";

export type BlendTask = {
  /** Fitted on the same data and judged on the early cases, the best first. */
  readonly trials: readonly Trial[];
  readonly methods: Readonly<Record<string, Method>>;
  readonly validation: Validation;
  readonly metric: MetricAtK;
  /** When the search ends with what it has, on the clock of the context. */
  readonly deadline: number;
  /** Of the fits of all parts together, as they took: what is chosen is fitted again. */
  readonly fitSecondsMax: number;
};

type Part = { readonly trial: Trial; readonly share: number };
type Mix = { readonly parts: readonly Part[]; readonly value: number };

/** Shares of a further part, those before it together counting 1 at first; the optimum is flat, so few are enough. */
const SHARES = [0.3, 0.6, 0.15, 1] as const;
const PARTS_MAX = 3;
const PARTNERS_MAX = 5;
const SEARCH_LISTS = 1000;
/** A part must earn what it costs to serve. */
const GAIN_MIN = 0.005;

/**
 * The best blend of models already fitted, judged on the early cases: parts are added one at a time to the best model (greedy forward
 * selection, Caruana et al. 2004), searched on some of the cases. Undefined when no blend gains enough.
 */
export async function findBlend(task: BlendTask, context: TrialContext): Promise<Trial | undefined> {
  const { validation, metric } = task;
  // The live version may be a blend: its parts were tried by themselves.
  const usable = task.trials.filter(({ method, fitted }) => method.name !== BLEND && fitted);
  const best = usable[0];
  if (!best || usable.length < 2) return undefined;
  const early = validation.earlyPositions;
  const some = samplePositions(early.length, SEARCH_LISTS, seededRandom(context.seed, 53)).map((i) => early[i]!);
  const start = { parts: [{ trial: best, share: 1 }], value: meanOf(restrictedTo(best.evaluation, some), metric) };

  let mix: Mix = start;
  // The search leaves the time that the last judging of what it finds will take.
  const last = judgeSeconds([best, ...usable.slice(1, PARTS_MAX)], early.length);
  const search = { ...task, positions: some, deadline: task.deadline - last };
  while (mix.parts.length < PARTS_MAX && context.clock() < search.deadline) {
    const further = await addPart(mix, usable, search, context);
    if (further.value < mix.value * (1 + GAIN_MIN)) break;
    mix = further;
  }
  if (mix.parts.length === 1) return undefined;
  const trial = await judgeMix(mix.parts, { ...task, positions: early }, context);
  const fresh = unsearched(early, some);
  const meanOn = (own: Trial) => meanOf(restrictedTo(own.evaluation, fresh), metric);
  return meanOn(trial) > meanOn(best) * (1 + GAIN_MIN) ? trial : undefined;
}

/**
 * The cases on which a blend is compared with its best part: those that the search has not seen, as the best of dozens of mixes looks
 * better than it is on those that it was picked by; all where few others are left.
 */
export function unsearched(early: Uint32Array, searched: Uint32Array): Uint32Array {
  const seen = new Set(searched);
  const fresh = early.filter((position) => !seen.has(position));
  return fresh.length >= searched.length ? fresh : early;
}

/** Of one blend of these: its parts are all scored for every list. */
const judgeSeconds = (trials: readonly Trial[], lists: number): number =>
  lists * trials.reduce((sum, { secondsPerList }) => sum + secondsPerList, 0);

const fitSecondsOf = (parts: readonly Part[]): number => parts.reduce((sum, { trial }) => sum + trial.fitSeconds, 0);

type Search = BlendTask & { readonly positions: Uint32Array };

/** The mix with one part more: the best partner at one share, then the best share of that partner. */
async function addPart(mix: Mix, usable: readonly Trial[], search: Search, context: TrialContext): Promise<Mix> {
  const fitSeconds = fitSecondsOf(mix.parts);
  const partners = usable
    .filter((trial) => !mix.parts.some((part) => part.trial === trial))
    .filter((trial) => fitSeconds + trial.fitSeconds <= search.fitSecondsMax)
    .slice(0, PARTNERS_MAX);
  const total = partners.length + SHARES.length - 1;
  let best: Mix = { parts: mix.parts, value: Number.NEGATIVE_INFINITY };
  let tried = 0;
  const tryWith = async (trial: Trial, share: number) => {
    const own = judgeSeconds([...mix.parts.map((part) => part.trial), trial], search.positions.length);
    if (context.clock() + own >= search.deadline) return;
    const progress = (done: number, detail: string) => context.progress((tried + done) / total, detail);
    const parts = [...mix.parts, { trial, share }];
    const value = meanOf((await judgeMix(parts, search, { ...context, progress })).evaluation, search.metric);
    tried++;
    if (value > best.value) best = { parts, value };
  };
  for (const partner of partners) await tryWith(partner, SHARES[0]);
  const partner = best.parts.at(-1)?.trial;
  if (partner && best.parts.length > mix.parts.length)
    for (const share of SHARES.slice(1)) await tryWith(partner, share);
  return best;
}

async function judgeMix(parts: readonly Part[], { methods, validation, positions }: Search, context: TrialContext) {
  const params = blendParams(
    parts.map(({ trial, share }) => ({ method: trial.method.name, params: trial.params, share })),
  );
  const models = parts.map(({ trial, share }) => ({ model: trial.fitted!, weight: share }));
  const fitted = blendOfFitted(params, models);
  const fitSeconds = fitSecondsOf(parts);
  const candidate = { method: methodNamed(BLEND, methods)!, params };
  const { cases } = validation.split;
  return await judgeFitted({ candidate, fitted, fitSeconds }, { cases, positions, trainShare: 1 }, context);
}
