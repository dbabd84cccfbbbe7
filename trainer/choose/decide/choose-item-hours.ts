import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import { itemHours } from "../../learn/statistics/item-hours.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";
import { mean } from "../evaluate/bootstrap.ts";
import { cutOffOf, type Evaluation, evaluate, type MetricAtK, secondsPerList } from "../evaluate/evaluate.ts";
import { lift } from "../evaluate/evaluation-figures.ts";
import type { Served } from "../evaluate/offline-snapshot.ts";
import { planSplit, type SplitOptions, type ValidationSplit } from "../splits/choose-split.ts";

/** Lists that are compared. Nothing is learnt from them, so they may be few. */
const CASES = { least: 300, most: 4000 };
/** Length of the lists: the evidence is in all places, and the first ten alone say less with as many users. */
const LENGTH = 100;
/** Part of the seconds for choosing that the lists of both kinds may take, if these are more than the least. */
const TIME_FRACTION = 0.05;

/** The metric of lists of new items, by the model alone and at the time of the day of each choice. */
export type JudgedHours = { readonly plain: number; readonly atThisHour: number };

type Options = Pick<SplitOptions, "protocol" | "seed"> & {
  /** Whether the choice is by lists with seen items, so that its cases have them among their targets. */
  readonly includeSeen?: boolean | undefined;
  readonly metric: MetricAtK;
  readonly secondsMax: number;
  readonly signal: AbortSignal;
  readonly memoryMbMax: number;
};

/** Compares lists with and without the times of the day at which items are chosen. Undefined where these are not reliably better. */
export async function chooseItemHours(
  served: Served,
  { dataset, split }: { readonly dataset: Interactions; readonly split: ValidationSplit },
  { protocol, includeSeen, metric, secondsMax, seed, signal, memoryMbMax }: Options,
): Promise<JudgedHours | undefined> {
  const isInTime = protocol !== "sessions" && protocol !== "set";
  const hours = isInTime ? itemHours(split.train) : undefined;
  if (!hours) return undefined;
  // Cases of `service` are all at one instant, and those of `live` each at its own time.
  const timed = protocol === "service" ? "live" : protocol;
  const isOther = timed !== protocol || includeSeen;
  const { cases } = isOther ? planSplit(dataset, { protocol: timed, seed, includeSeen: false })(dataset) : split;
  const affordable = Math.floor((TIME_FRACTION * secondsMax) / (2 * secondsPerList(cases.itemCount)));
  const count = Math.max(CASES.least, Math.min(CASES.most, affordable));
  const positions = samplePositions(cases.count, count, seededRandom(seed, 89));
  const options = { signal, memoryMbMax, positions, cutOffs: [cutOffOf(metric), LENGTH] };
  const plain = await evaluate(cases, served, options);
  const timely = await evaluate({ ...cases, hours }, served, options);
  const meanOf = ({ values }: Evaluation) => mean(values.get(metric)!);
  const found = { plain: meanOf(plain), atThisHour: meanOf(timely) };
  const isBetter = lift(timely, plain, { metric: `ndcg@${LENGTH}`, seed }).low > 0 && found.atThisHour > found.plain;
  return isBetter ? found : undefined;
}
