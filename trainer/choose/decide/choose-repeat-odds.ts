import { repeatScores } from "../../../shared/rank/chosen-again.ts";
import { historyOf } from "../../../shared/rank.ts";
import {
  openRepeats,
  PLACES_MAX,
  REPEAT_HISTORY_MAX,
  type RepeatOdds,
  type RepeatTable,
} from "../../../shared/repeat-intervals.ts";
import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import { repeatIntervals } from "../../learn/statistics/repeat-intervals.ts";
import { fitRepeatOdds, type RepeatOutcome } from "../../learn/statistics/repeat-odds.ts";
import { hasRepeats } from "../../learn/statistics/valued-histories.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";
import { mean } from "../evaluate/bootstrap.ts";
import {
  cutOffOf,
  type Evaluation,
  evaluateRequests,
  listOf,
  type MetricAtK,
  secondsPerList,
} from "../evaluate/evaluate.ts";
import type { EvaluationCases } from "../evaluate/evaluation-cases.ts";
import { lift } from "../evaluate/evaluation-figures.ts";
import type { Served } from "../evaluate/offline-snapshot.ts";
import { planSplit, type SplitOptions, type ValidationSplit } from "../splits/choose-split.ts";

/** Lists from which the odds are learnt, and on which they are judged: with eleven numbers, that flatters them little. */
const CASES = { least: 300, most: 2000 };
/** Part of the seconds for choosing that the lists of both kinds may take, if these are more than the least. */
const TIME_FRACTION = 0.05;

export type JudgedOdds = {
  readonly odds: RepeatOdds;
  /** The metric of lists with seen items, by the model alone and with these odds. */
  readonly plain: number;
  readonly joined: number;
};

type Options = Pick<SplitOptions, "protocol" | "seed"> & {
  /** Whether the choice is by lists with seen items, so that its cases have them among their targets. */
  readonly includeSeen?: boolean | undefined;
  readonly metric: MetricAtK;
  readonly secondsMax: number;
  readonly signal: AbortSignal;
  readonly memoryMbMax: number;
};

/**
 * Learns how likely users choose again, and which place a new choice had in the model's own lists. Undefined where lists with seen items
 * are not reliably better by these odds than by the model alone, as those of a model that knows repeated clicks itself.
 */
export async function chooseRepeatOdds(
  served: Served,
  { dataset, split }: { readonly dataset: Interactions; readonly split: ValidationSplit },
  { protocol, includeSeen, metric, secondsMax, seed, signal, memoryMbMax }: Options,
): Promise<JudgedOdds | undefined> {
  const isInTime = protocol !== "sessions" && protocol !== "set";
  const table = isInTime && hasRepeats(split.train) ? repeatIntervals(split.train) : undefined;
  if (!table) return undefined;
  const { cases } = includeSeen ? split : planSplit(dataset, { protocol, seed, includeSeen: true })(dataset);
  const affordable = Math.floor((TIME_FRACTION * secondsMax) / (2 * secondsPerList(cases.itemCount)));
  const count = Math.max(CASES.least, Math.min(CASES.most, affordable));
  const positions = samplePositions(cases.count, count, seededRandom(seed, 83));
  const k = cutOffOf(metric);
  const options = { signal, memoryMbMax, positions, cutOffs: [k, PLACES_MAX] };
  const withSeen = { limit: k, excludeSeen: false, filter: undefined };
  const requests = [withSeen, { ...withSeen, limit: PLACES_MAX, excludeSeen: true }];
  const [plain, fresh] = (await evaluateRequests(cases, served, requests, options)) as [Evaluation, Evaluation];
  const odds = fitRepeatOdds(outcomesOf(cases, fresh, table));
  if (!odds) return undefined;
  const joining = { ...cases, repeats: openRepeats({ ...table, odds }) };
  const [joined] = (await evaluateRequests(joining, served, [withSeen], options)) as [Evaluation];
  if (lift(joined, plain, { metric, seed }).low <= 0) return undefined;
  const [plainValue, joinedValue] = [plain, joined].map(({ values }) => mean(values.get(metric)!)) as [number, number];
  return { odds, plain: plainValue, joined: joinedValue };
}

/** What users with a history chose: again, and at which places of their lists of new items. */
function outcomesOf(cases: EvaluationCases, fresh: Evaluation, table: RepeatTable): RepeatOutcome[] {
  const repeats = openRepeats(table);
  return Array.from(fresh.positions).flatMap((at, i) => {
    const { relevant, seen, nowSeconds, ...record } = cases.caseAt(at);
    if (record.items.length === 0) return [];
    const history = historyOf({ ...record, hasSeen: () => false }, [], { nowSeconds, historyMax: REPEAT_HISTORY_MAX });
    const scores = repeatScores(history, repeats, table.weights);
    const list = listOf(fresh, i);
    const placeOf = (place: number) => (place < 0 ? Number.POSITIVE_INFINITY : place + 1);
    return {
      again: [...scores.values()],
      repeated: relevant.filter((item) => scores.has(item)).length,
      places: relevant.filter((item) => !seen.has(item)).map((item) => placeOf(list.indexOf(item))),
    };
  });
}
