/**
 * Whether the automatic choice is right, and whether its report promises what later comes true:
 *
 *     npm run bench -- choice [--tasks=ml-100k.set,…] [--seconds=180] [--speed=half] [--lists=10000] [--fit-seconds=300]
 *
 * One choice from the training part of each data set. Then the chosen model and every other method are fitted on the whole training part,
 * with the best settings that the choice found, otherwise with their best guess. All make the same lists of the test part.
 *
 * - The best of these is the best in hindsight. The chosen model should reach 99 % of its NDCG. The interval of the paired difference says
 *   whether a smaller figure is more than the luck of the test part.
 * - Every candidate that some `coverage_min` would choose is beside the chosen one: NDCG, coverage and popularity percentile as factors,
 *   as the report promises them, and on the test part.
 *
 * Seconds are CPU seconds of all threads; with `--speed=half` everything takes twice as many. Models that are predicted to take longer
 * than `--fit-seconds` are left out of the comparison, and named.
 */
import { secondsForFinalFit } from "../../trainer/choose/budget.ts";
import { mean } from "../../trainer/choose/evaluate/bootstrap.ts";
import { type Evaluation, evaluate, type MetricAtK } from "../../trainer/choose/evaluate/evaluate.ts";
import { lift, listShape } from "../../trainer/choose/evaluate/evaluation-figures.ts";
import { positivesOf } from "../../trainer/choose/report/report.ts";
import { type Selection, selectModel } from "../../trainer/choose/select.ts";
import { type Choice, isSameChoice } from "../../trainer/choose/tries/candidate.ts";
import { fittedParts } from "../../trainer/choose/tries/fitted-parts.ts";
import { methodNamed } from "../../trainer/learn/blends.ts";
import { METHODS } from "../../trainer/learn/methods.ts";
import { fitOrReuse } from "../../trainer/learn/model.ts";
import { samplePositions, seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { type Bench, type BenchContext, compared, type Figure } from "./bench.ts";
import { type ChoiceTask, choiceTask } from "./choice-tasks.ts";
import { frontierOf } from "./frontier.ts";
import { BUDGET, benchContext } from "./quality-judge.ts";

const TASKS = "ml-100k.set,ml-100k.next-item,retailrocket.sessions,amazon-beauty.next-item-described";
const SEED = 7;
const HINDSIGHT_FRACTION_LEAST = 0.99;
const REPORT_EVERY_SECONDS = 60;

type ChoiceOptions = Pick<BenchContext, "say"> & {
  readonly seconds: number;
  /** How many times as long everything takes on the machine that is measured. */
  readonly slowness: number;
  readonly listsMax: number;
  readonly fitSecondsMax: number;
};

export const choice: Bench = async ({ say, fail, flags }) => {
  const options = {
    seconds: Number(flags.get("seconds") ?? 180),
    slowness: flags.get("speed") === "half" ? 2 : 1,
    listsMax: Number(flags.get("lists") ?? 10_000),
    fitSecondsMax: Number(flags.get("fit-seconds") ?? 300),
    say,
  };
  const figures: Figure[] = [];
  for (const name of (flags.get("tasks") ?? TASKS).split(",")) {
    const task = await choiceTask(name);
    if (task) figures.push(...(await figuresOf(task, { ...options, name: `choice.${name}` })));
    else fail(`There is no task ${JSON.stringify(name)}.`);
  }
  return figures;
};

type Named = ChoiceOptions & { readonly name: string };

async function figuresOf(task: ChoiceTask, options: Named): Promise<Figure[]> {
  const { name, say, seconds } = options;
  const metric = `ndcg@${task.k}` as MetricAtK;
  const begin = cpuSeconds();
  const selection = await choose(task, metric, options);
  say(
    `  ${name}: ${textOf(selection.chosen)} after ${(options.slowness * (cpuSeconds() - begin)).toFixed(0)} of ${seconds} s`,
  );
  const judged = await judgeAll(task, selection, options);
  const own = judged[0]!;
  const ndcgOf = ({ evaluation }: Judged) => mean(evaluation.values.get(metric)!);
  for (const one of [...judged].sort((a, b) => ndcgOf(b) - ndcgOf(a)))
    say(
      `    test ${ndcgOf(one).toFixed(4)}, coverage ${one.lists[`coverage@${task.k}`]!.toFixed(3)}: ${textOf(one.choice)}`,
    );
  const best = judged.reduce((a, b) => (ndcgOf(b) > ndcgOf(a) ? b : a));
  const { low, high } = lift(own.evaluation, best.evaluation, { metric, seed: SEED });
  const share = (difference: number) => difference / ndcgOf(best);
  say(
    `    chosen ÷ best − 1: ${share(ndcgOf(own) - ndcgOf(best)).toFixed(4)} (${share(low).toFixed(4)} to ${share(high).toFixed(4)})`,
  );
  return [
    { name: `${name}.chosen.${metric}`, value: ndcgOf(own), unit: "share" },
    { name: `${name}.hindsight.${metric}`, value: ndcgOf(best), unit: "share" },
    compared(`${name}.chosen_of_hindsight`, "share", ndcgOf(own) / ndcgOf(best), HINDSIGHT_FRACTION_LEAST),
    ...tradeFigures(selection, judged, { name, metric, k: task.k, say }),
  ];
}

async function choose(task: ChoiceTask, metric: MetricAtK, { seconds, slowness, say }: Named): Promise<Selection> {
  let reportedAt = 0;
  return await selectModel({
    ...{ dataset: task.dataset, methods: METHODS, protocol: task.protocol, metric, secondsMax: seconds, seed: SEED },
    ...{ includeSeen: task.protocol === "sessions", memoryMbMax: 8000, budget: BUDGET },
    signal: new AbortController().signal,
    clock: () => slowness * cpuSeconds(),
    threads: 1,
    progress: (share, detail) => {
      const now = cpuSeconds();
      if (now < reportedAt + REPORT_EVERY_SECONDS) return;
      reportedAt = now;
      say(`    ${(100 * share).toFixed(0)} %: ${detail}`);
    },
  });
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

type Judged = {
  readonly choice: Choice;
  readonly evaluation: Evaluation;
  readonly lists: ReturnType<typeof listShape>;
};

/** The chosen model first, within the time that the service would give it; then every other one, which may take as long as it wants. */
async function judgeAll({ dataset, cases, k }: ChoiceTask, selection: Selection, options: Named): Promise<Judged[]> {
  const { slowness, listsMax, fitSecondsMax, say } = options;
  const clock = () => slowness * cpuSeconds();
  const positions = samplePositions(cases.count, listsMax, seededRandom(SEED, 3));
  const counts = positivesOf(dataset);
  const parts = fittedParts(dataset, { clock: cpuSeconds, threads: 1 }, 4000);
  const { signal, ...limits } = benchContext(seededRandom(SEED));
  const judge = async (choice: Choice, time: { secondsMax: number; fitPart?: typeof parts.fit }): Promise<Judged> => {
    const method = methodNamed(choice.method, METHODS)!;
    const context = { ...limits, random: seededRandom(SEED), signal, clock, ...time };
    const { historyMax, ...fitted } = await fitOrReuse(method, dataset, choice.params, context);
    const served = { exported: fitted.export(BUDGET), historyMax };
    const evaluation = await evaluate(cases, served, {
      cutOffs: [k],
      signal,
      positions,
      includeSeen: !!cases.sessions,
    });
    return { choice, evaluation, lists: listShape(evaluation, counts) };
  };
  const all: Judged[] = [await judge(selection.chosen, { secondsMax: secondsForFinalFit(selection.report.seconds) })];
  const { candidates, chosen_by } = selection.report;
  const guesses = Object.values(METHODS).flatMap(({ name: method, grid }) =>
    grid(dataset)
      .slice(0, 1)
      .map((params) => ({ method, params })),
  );
  const tuned = [...frontierOf(candidates, chosen_by), ...selection.families];
  const untuned = guesses.filter((guess) => !tuned.some(({ method }) => method === guess.method));
  for (const one of [...tuned, ...untuned]) {
    if (all.some(({ choice }) => isSameChoice(choice, one))) continue;
    const method = methodNamed(one.method, METHODS)!;
    const needed = parts.secondsToFit({ method, params: one.params });
    if (needed > fitSecondsMax) say(`    not measured, ${needed.toFixed(0)} s: ${textOf(one)}`);
    else all.push(await judge({ method: one.method, params: one.params }, { secondsMax: 3600, fitPart: parts.fit }));
  }
  return all;
}

const textOf = ({ method, params }: Choice) => `${method} ${JSON.stringify(params)}`;

type TradeOptions = Pick<BenchContext, "say"> & { readonly name: string; readonly metric: string; readonly k: number };

/** What every other candidate on the frontier would change, as the report says and on the test part. */
function tradeFigures({ report, chosen }: Selection, judged: readonly Judged[], options: TradeOptions): Figure[] {
  const { name, metric, k, say } = options;
  const frontier = frontierOf(report.candidates, metric);
  const promised = (one: (typeof frontier)[number], figure: string) => one.lists[figure] ?? one.metrics[figure]!.value!;
  const real = ({ evaluation, lists }: Judged, figure: string) =>
    lists[figure] ?? mean(evaluation.values.get(figure as MetricAtK)!);
  const [own, ownJudged] = [frontier.find((one) => isSameChoice(one, chosen)), judged[0]!];
  if (!own) return [];
  const compare = [metric, `coverage@${k}`, `popularity_percentile@${k}`];
  for (const figure of compare)
    say(
      `    chosen: ${figure} ${promised(own, figure).toFixed(4)} promised, ${real(ownJudged, figure).toFixed(4)} on the test part`,
    );
  const judgedOf = (one: Choice) => judged.find(({ choice }) => isSameChoice(choice, one));
  return frontier.flatMap((one, i) => {
    const test = judgedOf(one);
    if (!test || one === own) return [];
    return compare.map((figure) => {
      const [before, now] = [
        promised(one, figure) / promised(own, figure),
        real(test, figure) / real(ownJudged, figure),
      ];
      say(`    ${one.method} instead: ${figure} × ${before.toFixed(3)} promised, × ${now.toFixed(3)} on the test part`);
      return compared(`${name}.trade.${i}.${one.method}.${figure}`, "of the chosen", now, before);
    });
  });
}
