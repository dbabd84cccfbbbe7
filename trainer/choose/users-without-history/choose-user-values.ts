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

/** Which values are served, by their codes in the table, and how. */
export type UserValueChoice = ValueRatioParams & { readonly values: readonly number[] };

export type ChosenUserValues = {
  /** Undefined: users without a history are given what is popular. */
  readonly choice: UserValueChoice | undefined;
  readonly report: NonNullable<EvaluationReport["user_attributes"]>;
};

/** Fewer users cannot tell whether attributes help. */
export const HIDDEN_USERS_MIN = 100;
const CHOSEN_BY: HiddenMetric = "ndcg@10";

/**
 * Whether users without a history are ranked for by their values, by the evidence of users whose history was hidden: only where
 * the paired difference to popularity is above 0 by its lower bound, and nothing is lost in the longer lists. Settings are chosen
 * for each fifth of the users by the others, so that the difference is not the luck of the choice.
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
      `Only ${users.length} users have values and choices; ${HIDDEN_USERS_MIN} are needed to tell.`,
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
  columns.map(({ name, codes }, c) => ({ name: name.slice(0, 200), values: codes.size, kept: kept[c] ?? false }));

/** Of each user the figures of the setting that is best for the users of the other fifths. */
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

/** Position of the setting with the best mean over some users; of equals the first. */
function bestOf(settings: readonly HiddenFigures[], places: readonly number[]): number {
  const means = settings.map((judged) => mean(places.map((place) => judged[CHOSEN_BY][place]!)));
  return means.reduce((best, value, s) => (value > means[best]! ? s : best), 0);
}

const measured = (judged: HiddenFigures, resampling: Resampling) => {
  const intervals = bootstrapMeans(
    HIDDEN_METRICS.map((metric) => judged[metric]),
    resampling,
  );
  return Object.fromEntries(HIDDEN_METRICS.map((metric, i) => [metric, toMeasured(intervals[i]!)]));
};
