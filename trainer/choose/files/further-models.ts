import { POPULARITY } from "../../../shared/manifest.ts";
import type { Method, TrainingData } from "../../learn/model.ts";
import { methodNamed } from "../choosing/blend-method.ts";
import type { Choice } from "../choosing/choice.ts";
import { secondsPerList } from "../choosing/pace.ts";
import type { Selection } from "../select.ts";
import { interactionBytes } from "../splits/sample-users.ts";

/** A model that was asked for and has no figures; names as in the command's contract. */
export type NotMeasured = { readonly name: string; readonly reason: string };

type Methods = Readonly<Record<string, Method>>;

/**
 * Methods that no settings could be chosen for, since there are too few cases to judge or they did not get their turn: each with
 * its best guess. Those that failed meanwhile are not tried again.
 */
export function untuned(
  { families, report }: Pick<Selection, "families" | "report">,
  methods: Methods,
  data: TrainingData,
): { readonly choices: readonly Choice[]; readonly notMeasured: readonly NotMeasured[] } {
  const choices: Choice[] = [];
  const notMeasured: NotMeasured[] = [];
  for (const { name, grid } of Object.values(methods)) {
    if (families.some(({ method }) => method === name)) continue;
    const failed = report.candidates.find(({ method, outcome }) => method === name && outcome === "failed");
    const [params] = grid(data);
    if (failed) notMeasured.push({ name, reason: failed.reason });
    else if (params) choices.push({ method: name, params });
    else
      notMeasured.push({
        name,
        reason: "it has no settings for data like these: they are too few, or have nothing that it needs",
      });
  }
  return { choices, notMeasured };
}

/** Cheap ones first, popularity before all: what they leave of their share is the others'. */
export function cheapFirst(choices: readonly Choice[], methods: Methods, data: TrainingData): Choice[] {
  const seconds = (choice: Choice) =>
    choice.method === POPULARITY ? 0 : (costOf(choice, methods, data)?.seconds ?? 0);
  return choices.toSorted((a, b) => seconds(a) - seconds(b));
}

/** Why a fit cannot be had with the seconds and the memory that there are, by prediction; undefined when it can. */
export function tooMuchFor(
  choice: Choice,
  methods: Methods,
  {
    data,
    secondsLeft,
    memoryMbMax,
  }: { readonly data: TrainingData; readonly secondsLeft: number; readonly memoryMbMax: number },
): string | undefined {
  if (secondsLeft <= 0) return "no time was left for it";
  const cost = costOf(choice, methods, data);
  const memoryMb = Math.max(0, memoryMbMax - (2 * interactionBytes(data)) / 1e6);
  if (cost === undefined) return undefined;
  if (cost.memoryMb > memoryMb)
    return `it needs about ${Math.round(cost.memoryMb)} MB to fit, and may use ${Math.round(memoryMb)} MB`;
  if (cost.seconds > secondsLeft)
    return `it needs about ${Math.round(cost.seconds)} s to fit, and ${secondsLeft.toFixed(1)} s are left`;
  return undefined;
}

export const costOf = ({ method, params }: Choice, methods: Methods, data: TrainingData) =>
  methodNamed(method, methods)?.cost(data, params);

/**
 * What the next of `count` fits is told that it may take, at least its predicted `leastSeconds`, and when it is stopped: no fit can
 * take more than is left for all.
 */
export function shareOf(secondsLeft: number, count: number, leastSeconds = 0) {
  const secondsMax = Math.min(secondsLeft, Math.max(leastSeconds, secondsLeft / count));
  return { secondsMax, secondsHard: Math.min(secondsLeft, 2 * secondsMax) };
}

/** Lists that each model is judged on: more are sampled, so that by prediction it takes no longer than all the fitting may. */
export const listsWithin = (secondsMax: number, itemCount: number): number =>
  Math.min(LISTS_MAX, Math.max(LISTS_LEAST, Math.floor(secondsMax / secondsPerList(itemCount))));
const LISTS_MAX = 200_000;
const LISTS_LEAST = 20_000;
