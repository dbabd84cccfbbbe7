import { clipped } from "../../../shared/clipped.ts";
import type { EvaluationReport } from "../../../shared/evaluation-report.ts";
import { VALUE_RATIO_GRID, type ValueRatioParams } from "../../learn/attributes/user-value-ratios.ts";
import type { UserValueTable } from "../../read/dataset/user-value-table.ts";
import {
  bootstrapMeans,
  type Interval,
  mean,
  pairedDifference,
  type Resampling,
  toMeasured,
} from "../evaluate/bootstrap.ts";
import { signed } from "../evaluate/evaluation-figures.ts";
import {
  evaluateHiddenUsers,
  HIDDEN_METRICS,
  type HiddenFigures,
  type HiddenMetric,
  type HiddenUsers,
  type HiddenUsersInput,
  valuesOf,
} from "./hidden-users.ts";

/** The values that are served, by their codes in the table, with the settings. */
export type UserValueChoice = ValueRatioParams & { readonly values: readonly number[] };

export type ChosenUserValues = {
  /** Undefined: users without a history get the popular items. */
  readonly choice: UserValueChoice | undefined;
  readonly report: NonNullable<EvaluationReport["user_attributes"]>;
};

/** With fewer users it cannot be measured whether attributes help. */
export const HIDDEN_USERS_MIN = 100;
const CHOSEN_BY: HiddenMetric = "ndcg@10";

/**
 * Decides whether attribute values rank for users without a history. The evidence is from users whose history was hidden: the paired
 * difference to popularity must have a lower bound above 0, and longer lists must not get worse. Settings for each fold of the users are
 * chosen by the other folds, so that the difference is not the luck of the choice.
 */
export async function chooseUserValues(input: HiddenUsersInput): Promise<ChosenUserValues> {
  const { table } = input;
  const resampling: Resampling = { seed: input.seed, kept: [] };
  if (table.valueCount === 0)
    return refused(input, "No value of an attribute is shared by enough users to learn from.");
  const hidden = await evaluateHiddenUsers(input);
  const { users, kept, popularity } = hidden;
  if (users.length < HIDDEN_USERS_MIN)
    return refused(
      input,
      `Only ${users.length} users have values and choices; ${HIDDEN_USERS_MIN} are needed to measure it.`,
    );
  const own = crossFitted(hidden);
  const lifts = HIDDEN_METRICS.map(
    (metric) => [metric, pairedDifference(own[metric], popularity[metric], resampling)] as const,
  );
  const byMetric = Object.fromEntries(lifts) as Record<HiddenMetric, Interval>;
  const values = valuesOf(table, kept);
  const verdict = verdictOf(byMetric, values.length, users.length);
  const params = bestOf(hidden.settings, Array.from(users.keys()));
  return {
    choice: verdict.served ? { ...VALUE_RATIO_GRID[params]!, values } : undefined,
    report: {
      ...verdict,
      users_hidden: users.length,
      attributes: attributesOf(table, kept),
      params: verdict.served ? { ...VALUE_RATIO_GRID[params]! } : {},
      metrics: measured(own, resampling),
      popularity: measured(popularity, resampling),
      lift: Object.fromEntries(lifts.map(([metric, lift]) => [metric, toMeasured(lift)])),
    },
  };
}

function verdictOf(lifts: Record<HiddenMetric, Interval>, valueCount: number, users: number) {
  const { value, low, high } = lifts[CHOSEN_BY];
  const own = `${CHOSEN_BY} differs from popularity's by ${signed(value)} (${signed(low)} to ${signed(high)}) on ${users} users whose history was hidden`;
  if (valueCount === 0)
    return { served: false, reason: `No attribute makes the choices of hidden users more likely: ${own}.` };
  if (!(low > 0)) return { served: false, reason: `Attributes are not reliably better than popularity: ${own}.` };
  const longer = lifts["recall@20"];
  if (longer.high < 0)
    return { served: false, reason: `Attributes lose in longer lists (recall@20 ${signed(longer.value)}): ${own}.` };
  return { served: true, reason: `Users without a history are ranked for by attributes: ${own}.` };
}

function refused({ table }: HiddenUsersInput, reason: string): ChosenUserValues {
  const attributes = attributesOf(table, []);
  const none = { metrics: {}, popularity: {}, lift: {}, params: {} };
  return { choice: undefined, report: { served: false, reason, users_hidden: 0, attributes, ...none } };
}

const attributesOf = ({ columns }: UserValueTable, kept: readonly boolean[]) =>
  columns.map(({ name, codes }, c) => ({ name: clipped(name, 200), values: codes.size, kept: kept[c] ?? false }));

/** Cross-fitted figures: each user has the figures of the setting that is best for the users of the other folds. */
function crossFitted({ users, fold, settings }: HiddenUsers): HiddenFigures {
  const own = { "ndcg@10": new Float64Array(users.length), "recall@20": new Float64Array(users.length) };
  const places = Array.from(users.keys());
  for (const at of new Set(Array.from(users, (user) => fold[user]!))) {
    const others = places.filter((place) => fold[users[place]!] !== at);
    const best = settings[bestOf(settings, others)]!;
    for (const place of places) {
      if (fold[users[place]!] !== at) continue;
      for (const metric of HIDDEN_METRICS) own[metric][place] = best[metric][place]!;
    }
  }
  return own;
}

/** Index of the setting with the best mean over some users; the first of equal ones. */
function bestOf(settings: readonly HiddenFigures[], places: readonly number[]): number {
  const means = settings.map((figures) => mean(places.map((place) => figures[CHOSEN_BY][place]!)));
  return means.reduce((best, value, s) => (value > means[best]! ? s : best), 0);
}

const measured = (figures: HiddenFigures, resampling: Resampling) => {
  const intervals = bootstrapMeans(
    HIDDEN_METRICS.map((metric) => figures[metric]),
    resampling,
  );
  return Object.fromEntries(HIDDEN_METRICS.map((metric, i) => [metric, toMeasured(intervals[i]!)]));
};
