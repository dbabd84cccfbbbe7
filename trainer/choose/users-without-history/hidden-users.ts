import { setImmediate } from "node:timers/promises";
import type { ItemIndex } from "../../../shared/ids.ts";
import { firstCandidates, topK } from "../../../shared/top-k.ts";
import { decodeUserValues, encodeUserValues } from "../../../shared/user-values.ts";
import {
  countValues,
  userValueRatios,
  VALUE_RATIO_GRID,
  type ValueRatioParams,
  type ValueStatistics,
} from "../../learn/attributes/user-value-ratios.ts";
import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import { popularityWithRecency } from "../../learn/popularity.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";
import { rowsWhere } from "../../read/dataset/split.ts";
import type { UserCodes, UserValueTable } from "../../read/dataset/user-value-table.ts";
import { METRICS } from "../evaluate/metrics.ts";
import { popularityOrder } from "../splits/validation.ts";

export type HiddenUsersInput = {
  /** The training part of the split. */
  readonly train: Interactions;
  readonly codes: UserCodes;
  readonly table: UserValueTable;
  /** Half-life of the popularity that orders the catalog. */
  readonly halfLifeDays: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** `fraction` is 0…1 of the lists made. */
  readonly progress?: (fraction: number) => void;
};

/** Figures of the lists that hidden users would get. Arrays over users are aligned with `users`. */
export type HiddenUsers = {
  /** Users of the training part, each hidden once; a sample when there are very many. */
  readonly users: Uint32Array;
  readonly fold: Uint8Array; // [userCount] the fold in which each user is hidden
  readonly popularity: HiddenFigures;
  /** Figures by every setting of VALUE_RATIO_GRID. */
  readonly settings: readonly HiddenFigures[];
  /** For each column of the table: whether it makes the choices of hidden users more likely, without one fold and in all folds. */
  readonly keptOfFold: readonly (readonly boolean[])[];
  readonly kept: readonly boolean[];
};

export type HiddenFigures = { readonly [Metric in HiddenMetric]: Float64Array };
export const HIDDEN_METRICS = ["ndcg@10", "recall@20"] as const;
export type HiddenMetric = (typeof HIDDEN_METRICS)[number];

const FOLDS = 5;
const LIST_LENGTH = 20;
const USERS_MAX = 5000;
/** More rows do not change which setting is better. */
const ROWS_MAX = 5_000_000;
/** Predicted seconds for all lists together. */
const EVALUATION_SECONDS_MAX = 30;
const SECONDS_PER_LIST = 3e-5;
const SECONDS_PER_LIST_AND_ITEM = 6e-9;
/** The settings that decide which attributes are kept: the best guess. */
const GUESS = VALUE_RATIO_GRID[0]!;

/**
 * Five-fold cross-validation over users. The history of each fold is hidden once: its users are ranked for by their values as learnt from
 * the other folds, and by the popularity of the other folds. All choices of the hidden users are targets. Attributes that make the choices
 * of hidden users less likely are left out; for each fold, the other folds decide.
 */
export async function evaluateHiddenUsers(input: HiddenUsersInput): Promise<HiddenUsers> {
  const { train, table, seed } = input;
  const folds = assignFolds(input);
  const numbers = Array.from({ length: FOLDS }, (_, at) => at);
  const gains = numbers.map((at) => gainsOf(hide(input, folds, at), input));
  const keptBy = (chosen: readonly number[]) =>
    table.columns.map((_, c) => chosen.reduce((sum, at) => sum + gains[at]![c]!, 0) > 0);
  const keptOfFold = numbers.map((at) => keptBy(numbers.filter((other) => other !== at)));
  const users = usersToEvaluate(folds, train.itemCount, seed);
  const empty = (): HiddenFigures => ({
    "ndcg@10": new Float64Array(users.length),
    "recall@20": new Float64Array(users.length),
  });
  const figures = { popularity: empty(), settings: VALUE_RATIO_GRID.map(empty) };
  for (const at of numbers) {
    const hidden = hide(input, folds, at);
    const places = Array.from(users.keys()).filter((i) => folds.fold[users[i]!] === at);
    await evaluateFold({ hidden, places, users, kept: keptOfFold[at]!, figures, at }, input);
  }
  input.progress?.(1);
  return { users, fold: folds.fold, ...figures, keptOfFold, kept: keptBy(numbers) };
}

/** The codes of the values of some columns, ascending. */
export function valuesOf({ columns }: UserValueTable, kept: readonly boolean[]): number[] {
  const codes = columns.flatMap((column, c) => (kept[c] ? [...column.codes.values()] : []));
  return codes.sort((a, b) => a - b);
}

/** The fold of users who are left out: neither hidden nor learnt from. */
const NO_FOLD = 255;

type Folds = {
  readonly fold: Uint8Array; // [userCount]
  /** Users with values and at least one positive. */
  readonly eligible: Uint32Array;
  readonly userOfRow: Uint32Array;
};

function assignFolds({ train, codes, seed }: HiddenUsersInput): Folds {
  const { userCount, userStart, positive } = train;
  const random = seededRandom(seed, 71);
  const fraction = ROWS_MAX / Math.max(1, train.items.length);
  const fold = new Uint8Array(userCount);
  const userOfRow = new Uint32Array(train.items.length);
  const eligible: number[] = [];
  for (let user = 0; user < userCount; user++) {
    const at = Math.floor(FOLDS * random());
    fold[user] = fraction >= 1 || random() < fraction ? at : NO_FOLD;
    const [from, to] = [userStart[user]!, userStart[user + 1]!];
    userOfRow.fill(user, from, to);
    const hasValues = codes.start[user + 1]! > codes.start[user]!;
    if (fold[user] !== NO_FOLD && hasValues && positive.subarray(from, to).includes(1)) eligible.push(user);
  }
  return { fold, eligible: Uint32Array.from(eligible), userOfRow };
}

function usersToEvaluate({ eligible }: Folds, itemCount: number, seed: number): Uint32Array {
  const seconds = VALUE_RATIO_GRID.length * (SECONDS_PER_LIST + SECONDS_PER_LIST_AND_ITEM * itemCount);
  const usersMax = Math.min(USERS_MAX, Math.max(500, Math.floor(EVALUATION_SECONDS_MAX / seconds)));
  return samplePositions(eligible.length, usersMax, seededRandom(seed, 73)).map((i) => eligible[i]!);
}

/** One fold hidden: statistics and popularity of the other users, with the catalog in the order of that popularity. */
type Hidden = {
  readonly all: Interactions;
  readonly statistics: ValueStatistics;
  readonly popularity: Float64Array; // [itemCount]
  readonly eligible: readonly number[];
};

function hide({ train, codes, table, halfLifeDays, seed }: HiddenUsersInput, folds: Folds, at: number): Hidden {
  const { fold, userOfRow } = folds;
  const isShown = (row: number) => fold[userOfRow[row]!] !== at && fold[userOfRow[row]!] !== NO_FOLD;
  const order = popularityOrder(rowsWhere(train, isShown), halfLifeDays, seed);
  const newIndex = new Int32Array(order.length);
  for (const [to, from] of order.entries()) newIndex[from] = to;
  const all = { ...train, items: train.items.map((item) => newIndex[item]!) };
  const shown = rowsWhere(all, isShown);
  return {
    all,
    statistics: countValues(shown, codes, table.valueCount),
    popularity: popularityWithRecency(shown, halfLifeDays),
    eligible: Array.from(folds.eligible).filter((user) => fold[user] === at),
  };
}

/** The distinct positive items of a user. */
function chosenBy({ userStart, items, positive }: Interactions, user: number): Set<ItemIndex> {
  const chosen = new Set<ItemIndex>();
  for (let row = userStart[user]!; row < userStart[user + 1]!; row++)
    if (positive[row]) chosen.add(items[row] as ItemIndex);
  return chosen;
}

/** For each column, how much its values add to the log likelihood of the hidden users' choices. */
function gainsOf({ all, statistics, popularity, eligible }: Hidden, { table, codes }: HiddenUsersInput): number[] {
  const values = Array.from({ length: table.valueCount }, (_, value) => value);
  const { base, ratios } = userValueRatios(statistics, popularity, { ...GUESS, values });
  const normalizers = ratios.map((row) => logMeanRatio(base, row));
  const columnOf = new Map(table.columns.flatMap((column, c) => [...column.codes.values()].map((code) => [code, c])));
  const gains = table.columns.map(() => 0);
  for (const user of eligible) {
    const chosen = [...chosenBy(all, user)].filter((item) => item < base.length);
    for (const value of codes.codes.subarray(codes.start[user], codes.start[user + 1])) {
      const own = chosen.reduce((sum, item) => sum + ratios[value]![item]! - normalizers[value]!, 0);
      gains[columnOf.get(value)!]! += own;
    }
  }
  return gains;
}

/** log Σ p · e^ratio ÷ Σ p, p = e^base. */
function logMeanRatio(base: Float32Array, ratios: Float32Array): number {
  let [weighted, sum] = [0, 0];
  for (let item = 0; item < base.length; item++) {
    const weight = Math.exp(base[item]! - base[0]!);
    weighted += weight * Math.exp(ratios[item]!);
    sum += weight;
  }
  return Math.log(weighted / sum);
}

type FoldToEvaluate = {
  readonly hidden: Hidden;
  readonly at: number;
  /** Indices in `users` of the hidden users. */
  readonly places: readonly number[];
  readonly users: Uint32Array;
  readonly kept: readonly boolean[];
  readonly figures: Pick<HiddenUsers, "popularity" | "settings">;
};

async function evaluateFold(fold: FoldToEvaluate, input: HiddenUsersInput): Promise<void> {
  const { hidden, places, users, kept, figures, at } = fold;
  const { codes, table } = input;
  const values = valuesOf(table, kept);
  const newCode = new Map(values.map((value, code) => [value, code]));
  const valuesOfUser = (user: number) =>
    Array.from(codes.codes.subarray(codes.start[user], codes.start[user + 1])).flatMap((v) => newCode.get(v) ?? []);
  const scorers = VALUE_RATIO_GRID.map((params) =>
    values.length === 0 ? undefined : scorerOf(hidden, { ...params, values }),
  );
  const popular = firstCandidates(hidden.all.itemCount, LIST_LENGTH, () => true);
  const addFigures = (place: number, list: readonly ItemIndex[], into: HiddenFigures) => {
    const chosen = chosenBy(hidden.all, users[place]!);
    into["ndcg@10"][place] = METRICS.ndcg(list, chosen, 10);
    into["recall@20"][place] = METRICS.recall(list, chosen, LIST_LENGTH);
  };
  for (const [i, place] of places.entries()) {
    if (i % PROGRESS_EVERY === 0) {
      input.progress?.((at + i / places.length) / FOLDS);
      await setImmediate();
      input.signal.throwIfAborted();
    }
    addFigures(place, popular, figures.popularity);
    const own = valuesOfUser(users[place]!);
    for (const [s, score] of scorers.entries()) {
      addFigures(place, score && own.length > 0 ? topK(score(own), LIST_LENGTH) : popular, figures.settings[s]!);
    }
  }
}

const PROGRESS_EVERY = 50;

/** Scores by attribute values, read from the served bytes, so that lists contain what the edge would serve. */
function scorerOf(
  { statistics, popularity }: Hidden,
  params: ValueRatioParams & { readonly values: readonly number[] },
) {
  const ratios = userValueRatios(statistics, popularity, params);
  return decodeUserValues(encodeUserValues({ ...ratios, itemCount: ratios.base.length })).score;
}
