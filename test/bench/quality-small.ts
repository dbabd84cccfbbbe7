import { mean } from "../../trainer/choose/evaluate/bootstrap.ts";
import { casesOfSplit, type EvaluationCases } from "../../trainer/choose/evaluate/evaluation-cases.ts";
import { selectModel } from "../../trainer/choose/select.ts";
import type { Protocol } from "../../trainer/choose/splits/choose-split.ts";
import type { Choice } from "../../trainer/choose/tries/candidate.ts";
import { methodNamed } from "../../trainer/learn/blends.ts";
import { METHODS } from "../../trainer/learn/methods.ts";
import type { TrainingData } from "../../trainer/learn/model.ts";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import type { Dataset } from "../../trainer/read/dataset/dataset.ts";
import { reorderItems } from "../../trainer/read/dataset/reorder-items.ts";
import { leaveLastOut, rowsWhere } from "../../trainer/read/dataset/split.ts";
import { byFallingScore, countPerItem } from "../fixtures/by-popularity.ts";
import { type RealDataSet, readRealData } from "../fixtures/real-data.ts";
import { compared, type Figure } from "./bench.ts";
import { BUDGET, benchContext, judge } from "./quality-judge.ts";
import { firstItems } from "./quality-tasks.ts";

/** Sample sizes, in rows. */
export const SMALL_TASKS = [1000, 5000] as const;

export const SMALL_SET = "ml-100k" satisfies RealDataSet;
const K = 10;

export type SmallOptions = {
  readonly seeds: number;
  /** Seconds to choose a model for one sample. */
  readonly seconds: number;
  readonly say: (line: string) => void;
};

/**
 * The automatic choice on small random samples against popularity on the same sample, with each user's newest row held
 * out. Means over seeds.
 */
export async function smallFigures(rows: number, { seeds, seconds, say }: SmallOptions): Promise<Figure[]> {
  const { dataset } = await readRealData(SMALL_SET, { everyRowPositive: true, tieOrder: "row" });
  const chosen: number[] = [];
  const popular: number[] = [];
  for (let seed = 1; seed <= seeds; seed++) {
    const sample = sampleOf(dataset, rows, seed);
    const { refit, test } = leaveLastOut(sample);
    const train = { ...sample, ...refit };
    const cases = casesOfSplit(refit, test);
    const choice = await choiceOn(train, { seed, secondsMax: seconds });
    chosen.push(await ndcgOf(choice, train, cases));
    popular.push(await ndcgOf({ method: "popularity", params: { halfLifeDays: 0 } }, train, cases));
    const figures = `${chosen.at(-1)!.toFixed(4)} against ${popular.at(-1)!.toFixed(4)} of popularity`;
    say(`  ${rows} rows, seed ${seed}: ${choice.method}, ndcg ${figures}, ${cases.count} lists`);
  }
  const name = `quality.${SMALL_SET}.${rows}-rows`;
  const worse = chosen.filter((value, i) => value < popular[i]!).length;
  return [
    compared(`${name}.chosen.ndcg@${K}`, "share", mean(chosen), mean(popular)),
    { name: `${name}.chosen.below_popularity`, value: worse / seeds, unit: "share of seeds" },
  ];
}

/** Random rows with their items, sorted by falling count. */
function sampleOf(dataset: Dataset, rows: number, seed: number): Dataset {
  const random = seededRandom(seed, 5);
  const lot = Float64Array.from(dataset.items, random);
  const least = lot.slice().sort()[rows] ?? 1;
  const sample = { ...dataset, ...rowsWhere(dataset, (row) => lot[row]! < least) };
  const counts = countPerItem(sample);
  const ordered = reorderItems(sample, byFallingScore(counts));
  return firstItems(ordered, counts.filter((count) => count > 0).length);
}

type ChoiceOptions = {
  readonly seed: number;
  readonly secondsMax: number;
  readonly protocol?: Protocol;
};

/** The automatic choice of a method. */
export async function choiceOn(
  dataset: Dataset,
  { seed, secondsMax, protocol = "next-item" }: ChoiceOptions,
): Promise<Choice> {
  const { chosen } = await selectModel({
    dataset,
    methods: METHODS,
    protocol,
    metric: `ndcg@${K}`,
    secondsMax,
    memoryMbMax: 4000,
    budget: BUDGET,
    seed,
    signal: new AbortController().signal,
    clock: () => performance.now() / 1000,
    progress: () => undefined,
  });
  return chosen;
}

async function ndcgOf({ method, params }: Choice, data: TrainingData, cases: EvaluationCases): Promise<number> {
  const fitted = await methodNamed(method, METHODS)!.fit(data, params, benchContext(seededRandom(1)));
  return (await judge(fitted, cases, { k: K })).ndcg;
}
