import { setImmediate } from "node:timers/promises";
import type { ItemIndex } from "../../../shared/ids.ts";
import { POPULARITY } from "../../../shared/manifest.ts";
import { topK } from "../../../shared/top-k.ts";
import { BLEND, blendParams, methodNamed, partsOf } from "../../learn/blends.ts";
import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import { spreadOf } from "../../learn/scoring/blend.ts";
import { openScorer, type Scorer } from "../../learn/scoring/onnx-scorer.ts";
import { historyOfCase } from "../evaluate/evaluation-cases.ts";
import { restrictedTo } from "../evaluate/evaluation-figures.ts";
import { METRICS, type MetricName } from "../evaluate/metrics.ts";
import { type Candidate, choiceOf, isSameChoice } from "./candidate.ts";
import { separateParts } from "./fitted-parts.ts";
import {
  addTrial,
  finalFitSeconds,
  finalFitSecondsMax,
  memoryMbLeft,
  type SelectState,
  tryCandidate,
} from "./select-state.ts";
import { meanOf, type Trial } from "./trial.ts";

/** Weights that are tried for a part, relative to the largest other weight. */
const WEIGHTS = [0, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6] as const;
/** Fitted models that are considered as parts, and parts of a blend. */
const MODELS_MAX = 8;
const PARTS_MAX = 5;
const STEPS_MAX = 12;
/** Half-lives of popularity as a part. */
const TREND_DAYS = [7, 30] as const;
/** Relative gain that every change of a weight must reach: each part makes the model more expensive to serve. */
const GAIN_MIN = 0.003;
const LISTS_MAX = 1500;
const LISTS_MIN = 100;
/** Items of each model's list that can enter the list of a blend. */
const RIVALS = 100;

/**
 * Tries the best weighted sum of models that are already fitted. The search begins at the best trial, which may be a blend, and changes
 * the weight that gains most (as greedy selection, Caruana et al. 2004). It uses half of the cases at most; on the others, the
 * result must be better than the best trial, because the best of many sums looks better than it is on the cases that picked it.
 *
 * Networks that were cut short take no part: the final fit trains them longer, and then other weights suit (LOG.md, "All of the time for
 * the choice").
 */
export async function tryBlend(state: SelectState): Promise<void> {
  const { tried, metric, positions, context, methods, secondsLeft } = state;
  const best = tried[0];
  if (!best) return;
  const wanted = modelsToBlend(state).filter((part) => !context.parts.usedAllTime(part));
  const affordable = Math.floor(secondsLeft() / 3 / (wanted.length * best.secondsPerList));
  const count = Math.min(LISTS_MAX, Math.floor(positions.length / 2), affordable);
  if (wanted.length < 2 || count < Math.min(LISTS_MIN, positions.length / 2)) return;
  const searched = samplePositions(positions.length, count, seededRandom(context.seed, 53)).map((i) => positions[i]!);
  const first = separateParts(best);
  const scored = await scoreLists(wanted, searched, { partsMin: Math.max(2, first.length), state });
  if (!scored) return;
  const { parts, lists } = scored;
  const ownShares = best.method.partMethods ? partsOf(best.params).map(({ share }) => share) : [1];
  const start = parts.map((part) => ownShares[first.findIndex((own) => isSame(own, part))] ?? 0);
  const isAllowed = (weights: readonly number[]) => {
    const used = parts.filter((_, part) => weights[part]! > 0);
    return used.length <= PARTS_MAX && finalFitSeconds(state, used) <= finalFitSecondsMax(state);
  };
  const weights = await climb(start, isAllowed, (weights) => meanValue(lists, weights, metric));
  const largest = Math.max(...weights);
  const choices = parts
    .map(({ method, params }, part) => ({ method: method.name, params, share: round(weights[part]! / largest) }))
    .filter(({ share }) => share > 0);
  if (choices.length < 2 || weights.every((weight, part) => weight === start[part])) return;
  const { coldEvery } = best.params;
  const params = { ...blendParams(choices), ...(coldEvery === undefined ? {} : { coldEvery }) };
  const trial = await tryCandidate(
    state,
    { method: methodNamed(BLEND, methods)!, params },
    { secondsMax: secondsLeft() },
  );
  if (!trial) return;
  const isSearched = new Set(searched);
  const fresh = positions.filter((position) => !isSearched.has(position));
  const meanOn = (one: Trial) => meanOf(restrictedTo(one.evaluation, fresh), metric);
  if (meanOn(trial) > meanOn(best) * (1 + GAIN_MIN)) addTrial(state, trial);
}

const isSame = (a: Candidate, b: Candidate) => isSameChoice(choiceOf(a), choiceOf(b));
const round = (share: number) => Number(share.toPrecision(3));

/**
 * The parts of the best trial, then those of the next ones, then one of each other method, as far as they are fitted; and popularity in the
 * last weeks.
 */
function modelsToBlend(state: SelectState): Candidate[] {
  const { tried, context, methods } = state;
  const models: Candidate[] = [];
  const isFitted = (part: Candidate) => context.parts.missing(part).length === 0;
  for (const part of tried.flatMap(separateParts).filter(isFitted))
    if (!models.some((model) => isSame(model, part))) models.push(part);
  for (const part of droppedTrials(state).flatMap(separateParts).filter(isFitted))
    if (!models.some(({ method }) => method.name === part.method.name)) models.push(part);
  const popularity = methods[POPULARITY];
  const trends = popularity ? TREND_DAYS.map((halfLifeDays) => ({ method: popularity, params: { halfLifeDays } })) : [];
  return [...models.slice(0, MODELS_MAX), ...trends];
}

/** What was dropped after a trial on all training users, the best first: a method far from the best may know what the others do not. */
function droppedTrials({ discarded, metric, methods }: SelectState): Candidate[] {
  return discarded
    .filter(({ method, trainFraction }) => trainFraction === 1 && method !== POPULARITY)
    .flatMap(({ method, params, evaluation }) =>
      evaluation ? [{ method: methodNamed(method, methods)!, params, value: meanOf(evaluation, metric) }] : [],
    )
    .sort((a, b) => b.value - a.value);
}

/** The scores that the models give to the best items of each of them, for one history. */
type ScoredList = {
  readonly items: readonly ItemIndex[];
  /** For each model, the scores of these items, divided by the spread of its scores over the catalog. */
  readonly scores: readonly Float32Array[];
  readonly relevant: ReadonlySet<ItemIndex>;
};

type OpenModel = { readonly historyMax: number; readonly scorer: Scorer };

/** Memory of an exported model and its session, as a multiple of the weights. */
const COPIES = 2.5;

/** Adds to `opened` the models in their served form, as many as the memory allows, the best first. */
async function openModels(parts: readonly Candidate[], state: SelectState, opened: OpenModel[]): Promise<void> {
  const { context, validation } = state;
  const fitting = { ...context, random: seededRandom(context.seed, 17), secondsMax: state.secondsLeft() };
  for (const { method, params } of parts) {
    const model = await context.parts.fit(method, validation.train, params, fitting); // all are fitted
    const exported = model.export(context.budget);
    const bytes = exported.weights.reduce((sum, { bytes }) => sum + bytes.length, 0);
    if ((COPIES * bytes) / 1e6 > memoryMbLeft(context)) return;
    opened.push({ historyMax: model.historyMax, scorer: await openScorer(exported, validation.train.itemCount) });
  }
}

/**
 * Scores lists by each model in its served form; undefined if the memory allows fewer than `partsMin`. Cases without a history are left
 * out, because no model ranks for them.
 */
async function scoreLists(
  wanted: readonly Candidate[],
  positions: Uint32Array,
  { partsMin, state }: { readonly partsMin: number; readonly state: SelectState },
) {
  const { context, validation } = state;
  const { cases } = validation.split;
  const models: OpenModel[] = [];
  const lists: ScoredList[] = [];
  try {
    await openModels(wanted, state, models);
    if (models.length < partsMin) return undefined;
    for (const [i, at] of positions.entries()) {
      const one = cases.caseAt(at);
      const { items, seen, relevant } = one;
      if (items.length === 0) continue;
      const all = await Promise.all(
        models.map(async ({ historyMax, scorer }) => {
          const scores = await scorer.score(historyOfCase(one, { of: cases, historyMax }));
          const spread = spreadOf(scores);
          return scores.map((score) => score / spread);
        }),
      );
      const isCandidate = (item: ItemIndex) => context.includeSeen || !seen.has(item);
      const pool = new Set(all.flatMap((scores) => topK(scores, RIVALS, isCandidate)));
      const rivals = [...pool].sort((a, b) => a - b); // equal scores stay in the order of the catalog
      const scores = all.map((own) => Float32Array.from(rivals, (item) => own[item]!));
      lists.push({ items: rivals, scores, relevant: new Set(relevant) });
      if (i % 50 > 0) continue;
      context.signal.throwIfAborted();
      context.progress(i / positions.length, "blend: scoring for the search of weights");
    }
  } finally {
    await Promise.all(models.map(({ scorer }) => scorer.close()));
  }
  return { parts: wanted.slice(0, models.length), lists };
}

/** The mean of a metric over lists that are ranked by a weighted sum. */
function meanValue(lists: readonly ScoredList[], weights: readonly number[], metric: string): number {
  const [name, k] = metric.split("@") as [MetricName, string];
  let total = 0;
  for (const { items, scores, relevant } of lists) {
    const sum = new Float32Array(items.length);
    for (const [m, weight] of weights.entries()) {
      if (weight === 0) continue;
      const own = scores[m]!;
      for (let i = 0; i < sum.length; i++) sum[i]! += weight * own[i]!;
    }
    const ranked = topK(sum, Number(k)).map((i) => items[i]!);
    total += METRICS[name](ranked, relevant, Number(k));
  }
  return total / Math.max(1, lists.length);
}

/** Changes one weight at a time, always the one that gains most, until none gains enough. */
async function climb(
  start: readonly number[],
  isAllowed: (weights: readonly number[]) => boolean,
  meanValue: (weights: readonly number[]) => number,
): Promise<readonly number[]> {
  let [weights, value] = [start, meanValue(start)];
  for (let step = 0; step < STEPS_MAX; step++) {
    let next = { weights, value: value * (1 + GAIN_MIN) };
    for (const part of weights.keys()) {
      const largest = Math.max(...weights.filter((_, other) => other !== part));
      if (largest === 0) continue;
      for (const weight of WEIGHTS) {
        const changed = weights.with(part, weight * largest);
        const gained = isAllowed(changed) ? meanValue(changed) : 0;
        if (gained > next.value) next = { weights: changed, value: gained };
      }
      await setImmediate();
    }
    if (next.weights === weights) break;
    ({ weights, value } = next);
  }
  return weights;
}
