import type { ItemIndex, UserId } from "../../../shared/ids.ts";
import { type RankRequest, rank } from "../../../shared/rank.ts";
import type { KnownNames, Snapshot } from "../../../shared/snapshot.ts";
import type { Scorer } from "../../learn/scoring/onnx-scorer.ts";
import { openSpreadingScorer, SCORER_THREADS } from "../../learn/scoring/scorer-threads.ts";
import type { EvaluationCases } from "./evaluation-cases.ts";
import { METRICS, type MetricName } from "./metrics.ts";
import { offlineSnapshot, type Served } from "./offline-snapshot.ts";

export type EvaluateOptions = {
  /** Cut-offs of the metrics; the longest is the length of the lists. */
  readonly cutOffs: readonly number[];
  readonly includeSeen?: boolean;
  /** The cases to evaluate, ascending. Absent: all. */
  readonly positions?: Uint32Array;
  readonly signal: AbortSignal;
  /** Memory of the whole run; a tenth of it may be used for scoring sessions on further threads. Absent: no limit. */
  readonly memoryMbMax?: number;
  /** `fraction` is 0…1 of the lists made. */
  readonly progress?: (fraction: number) => void;
};

/** Every list that a model made, with its metrics. Arrays over lists are aligned with `positions`. */
export type Evaluation = {
  readonly positions: Uint32Array; // [listCount] the case of each list
  readonly owners: Uint32Array; // [listCount] the user or session of each list; lists of one owner are not independent
  readonly cutOffs: readonly number[];
  readonly listLength: number;
  readonly lists: Int32Array; // [listCount * listLength] item indices, best first; −1 where a list ended
  /** By name and cut-off, such as `ndcg@10`: [listCount]. */
  readonly values: ReadonlyMap<MetricAtK, Float64Array>;
};
export type MetricAtK = `${MetricName}@${number}`;
export const cutOffOf = (metric: MetricAtK): number => Number(metric.split("@")[1]);

/** The part of a rank call that is the same for every case. */
export type ListRequest = Pick<RankRequest, "limit" | "filter" | "excludeSeen" | "onlyChosen" | "strategy" | "shaping">;

export type EvaluateRequestsOptions = Omit<EvaluateOptions, "includeSeen"> & {
  /** Ids and attributes of the items, for filters and shaping. */
  readonly names?: KnownNames;
  /** Once true, no further list is begun. */
  readonly isTimeUp?: () => boolean;
};

/**
 * Makes and measures the lists that the served form of a model would answer: scored by the exported ONNX file and ranked by the function
 * that the edge calls.
 *
 * Throws the signal's reason when it is aborted, and an Error when the model's scores are not finite numbers.
 */
export async function evaluate(cases: EvaluationCases, served: Served, options: EvaluateOptions): Promise<Evaluation> {
  const limit = Math.max(...options.cutOffs);
  const request = { limit, excludeSeen: !options.includeSeen, filter: undefined };
  const [evaluation] = await evaluateRequests(cases, served, [request], options);
  return evaluation!;
}

/** The same for several requests, with one evaluation each. The lists of a case are made from one run of the model. */
export async function evaluateRequests(
  cases: EvaluationCases,
  served: Served,
  requests: readonly ListRequest[],
  options: EvaluateRequestsOptions,
): Promise<Evaluation[]> {
  const task = { exported: served.exported, itemCount: cases.itemCount };
  const { positions, names, memoryMbMax = Number.POSITIVE_INFINITY } = options;
  const seconds = (positions?.length ?? cases.count) * secondsPerList(cases.itemCount);
  const scorer = await openSpreadingScorer(task, seconds, SCORER_MEMORY_FRACTION * memoryMbMax);
  try {
    const snapshot = offlineSnapshot(cases, checked(scorer), served, names);
    return await makeLists(cases, snapshot, requests, options);
  } finally {
    await scorer.close();
  }
}

async function makeLists(
  cases: EvaluationCases,
  snapshot: Snapshot,
  requests: readonly ListRequest[],
  options: EvaluateRequestsOptions,
): Promise<Evaluation[]> {
  const { cutOffs, isTimeUp } = options;
  const positions = options.positions ?? Uint32Array.from({ length: cases.count }, (_, at) => at);
  const made = requests.map(() => emptyEvaluation(positions, cutOffs));
  const makeListsOf = async (i: number) => {
    const at = positions[i]!;
    const { items: known, relevant, nowSeconds } = cases.caseAt(at);
    const who = cases.sessions
      ? { userId: undefined, session: known.map(snapshot.idAt) }
      : { userId: String(at) as UserId, session: [] };
    const isRelevant = new Set(relevant);
    const scored = requests.length > 1 ? scoredOnce(snapshot) : snapshot;
    for (const [r, { limit, filter, excludeSeen, onlyChosen, strategy, shaping }] of requests.entries()) {
      const request = { ...who, limit, filter, excludeSeen, onlyChosen, strategy, shaping, nowSeconds };
      const { items } = await rank(request, scored);
      const { lists, listLength, values } = made[r]!;
      lists.set(items.slice(0, listLength), i * listLength);
      for (const k of cutOffs)
        for (const name of METRIC_NAMES) values.get(`${name}@${k}`)![i] = METRICS[name](items, isRelevant, k);
    }
  };
  let next = 0;
  const makeNextLists = async () => {
    while (next < positions.length && !isTimeUp?.()) {
      if (next % PROGRESS_EVERY === 0) {
        options.signal.throwIfAborted();
        options.progress?.(next / positions.length);
      }
      await makeListsOf(next++);
    }
  };
  // If one worker fails, `next` past the end stops the others, so that all have ended before the scoring session is closed.
  const stopped = (error: unknown) => {
    next = positions.length;
    throw error;
  };
  const ends = await Promise.allSettled(Array.from({ length: CONCURRENCY }, () => makeNextLists().catch(stopped)));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  options.progress?.(1);
  const owners = positions.subarray(0, next).map((at) => cases.ownerAt(at));
  return made.map((evaluation) => ({ ...firstLists(evaluation, next), owners }));
}

function emptyEvaluation(positions: Uint32Array, cutOffs: readonly number[]): Omit<Evaluation, "owners"> {
  const listLength = Math.max(...cutOffs);
  const lists = new Int32Array(positions.length * listLength).fill(-1);
  const names = cutOffs.flatMap((k) => METRIC_NAMES.map((name): MetricAtK => `${name}@${k}`));
  const values = new Map(names.map((name) => [name, new Float64Array(positions.length)]));
  return { positions, cutOffs, listLength, lists, values };
}

function firstLists(evaluation: Omit<Evaluation, "owners">, count: number): Omit<Evaluation, "owners"> {
  const { positions, lists, listLength, values } = evaluation;
  if (count === positions.length) return evaluation;
  return {
    ...evaluation,
    positions: positions.subarray(0, count),
    lists: lists.subarray(0, count * listLength),
    values: new Map([...values].map(([name, all]) => [name, all.subarray(0, count)])),
  };
}

/** The snapshot for several requests of one user at one time: the model runs once, and each request gets a copy of the scores. */
function scoredOnce(snapshot: Snapshot): Snapshot {
  let scores: Promise<Float32Array> | undefined;
  const score: Snapshot["score"] = async (history) => {
    scores ??= snapshot.score(history);
    return (await scores).slice();
  };
  return { ...snapshot, score };
}

/** Predicted seconds of scoring and ranking one list: measured 0.3 ms and 15 ns for each item. */
export const secondsPerList = (itemCount: number): number => 3e-4 + 1.5e-8 * itemCount;

/** How often each item is among the first k of a list: [itemCount]. */
export function timesShown(evaluation: Evaluation, itemCount: number, k: number): Uint32Array {
  const { lists, listLength } = evaluation;
  const shown = new Uint32Array(itemCount);
  for (let first = 0; first < lists.length; first += listLength) {
    for (let i = first; i < first + Math.min(k, listLength); i++) if (lists[i]! >= 0) shown[lists[i]!]!++;
  }
  return shown;
}

/** The list at index i of the evaluation, the best item first. */
export function listOf({ lists, listLength }: Evaluation, i: number): ItemIndex[] {
  return Array.from(lists.subarray(i * listLength, (i + 1) * listLength)).filter((item) => item >= 0) as ItemIndex[];
}

const METRIC_NAMES = Object.keys(METRICS) as MetricName[];
const PROGRESS_EVERY = 50;
/** Fraction of the run's memory for scoring sessions. */
const SCORER_MEMORY_FRACTION = 0.1;
/** Lists in progress at the same time: all scorer threads are busy while this thread ranks. */
const CONCURRENCY = 2 * SCORER_THREADS;
const CHECKED_LISTS = 100;

/** A scorer that checks its first scores: a model with NaN scores would otherwise only give short lists. */
function checked(scorer: Scorer): Scorer {
  let scored = 0;
  return {
    ...scorer,
    async score(history) {
      const scores = await scorer.score(history);
      if (scored++ < CHECKED_LISTS && !scores.every(Number.isFinite)) {
        throw new Error(`The model's scores are not all finite for a history of ${history.items.length} items.`);
      }
      return scores;
    },
  };
}
