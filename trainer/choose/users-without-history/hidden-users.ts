import type { ItemIndex, UserId } from "../../../shared/ids.ts";
import { rank } from "../../../shared/rank.ts";
import type { Snapshot } from "../../../shared/snapshot.ts";
import { decodeUserValues, encodeUserValues, type UserValueRatios } from "../../../shared/user-values.ts";
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
  /** What may be learnt from: of a temporal split the part before its instant. */
  readonly train: Interactions;
  readonly codes: UserCodes;
  readonly table: UserValueTable;
  /** Of popularity, as it orders the catalog. */
  readonly halfLifeDays: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** `share` 0…1 of the lists made. */
  readonly progress?: (share: number) => void;
};

/** The lists that hidden users would be given. Arrays over users are aligned with `users`. */
export type HiddenUsers = {
  /** Users of the training part, each hidden once; a sample of very many. */
  readonly users: Uint32Array;
  readonly fold: Uint8Array; // [userCount] in which fifth each is hidden
  readonly popularity: HiddenFigures;
  /** Of every setting of VALUE_RATIO_GRID. */
  readonly settings: readonly HiddenFigures[];
  /** Of every column of the table: whether it makes choices of the users of the other fifths, or of all, more likely. */
  readonly keptOfFold: readonly (readonly boolean[])[];
  readonly kept: readonly boolean[];
};

export type HiddenFigures = { readonly [Metric in HiddenMetric]: Float64Array };
export const HIDDEN_METRICS = ["ndcg@10", "recall@20"] as const;
export type HiddenMetric = (typeof HIDDEN_METRICS)[number];

const FOLDS = 5;
const LIST_LENGTH = 20;
const USERS_MAX = 5000;
/** Rows beyond tell nothing new about which setting is better. */
const ROWS_MAX = 5_000_000;
/** Of all lists together, as predicted. */
const EVALUATION_SECONDS_MAX = 30;
const SECONDS_PER_LIST = 3e-5;
const SECONDS_PER_LIST_AND_ITEM = 6e-9;
/** By which attributes are looked at: the best guess. */
const GUESS = VALUE_RATIO_GRID[0]!;

/**
 * Every fifth of the users hidden once, ranked for by their values as the others teach, and judged by all that they chose; next to
 * the popularity of the others. Attributes that make hidden users' choices less likely are left out, decided for each fifth by the
 * users of the others.
 */
export async function evaluateHiddenUsers(input: HiddenUsersInput): Promise<HiddenUsers> {
  const { train, table, seed } = input;
  const parted = partUsers(input);
  const folds = Array.from({ length: FOLDS }, (_, at) => at);
  const gains = folds.map((at) => gainsOf(hide(input, parted, at), input));
  const keptBy = (chosen: readonly number[]) =>
    table.columns.map((_, c) => chosen.reduce((sum, at) => sum + gains[at]![c]!, 0) > 0);
  const keptOfFold = folds.map((at) => keptBy(folds.filter((other) => other !== at)));
  const users = usersToEvaluate(parted, train.itemCount, seed);
  const empty = (): HiddenFigures => ({
    "ndcg@10": new Float64Array(users.length),
    "recall@20": new Float64Array(users.length),
  });
  const judged = { popularity: empty(), settings: VALUE_RATIO_GRID.map(empty) };
  for (const at of folds) {
    const hidden = hide(input, parted, at);
    const places = Array.from(users.keys()).filter((i) => parted.fold[users[i]!] === at);
    await evaluateFold({ hidden, places, users, kept: keptOfFold[at]!, judged, at }, input);
  }
  input.progress?.(1);
  return { users, fold: parted.fold, ...judged, keptOfFold, kept: keptBy(folds) };
}

/** The codes of the values of some columns, ascending. */
export function valuesOf({ columns }: UserValueTable, kept: readonly boolean[]): number[] {
  const codes = columns.flatMap((column, c) => (kept[c] ? [...column.codes.values()] : []));
  return codes.sort((a, b) => a - b);
}

/** Not in any fifth: left out, neither hidden nor learnt from. */
const NOWHERE = 255;

type Parted = {
  readonly fold: Uint8Array; // [userCount]
  /** Users with values and something to find. */
  readonly eligible: Uint32Array;
  readonly userOfRow: Uint32Array;
};

function partUsers({ train, codes, seed }: HiddenUsersInput): Parted {
  const { userCount, userStart, positive } = train;
  const random = seededRandom(seed, 71);
  const share = ROWS_MAX / Math.max(1, train.items.length);
  const fold = new Uint8Array(userCount);
  const userOfRow = new Uint32Array(train.items.length);
  const eligible: number[] = [];
  for (let user = 0; user < userCount; user++) {
    const at = Math.floor(FOLDS * random());
    fold[user] = share >= 1 || random() < share ? at : NOWHERE;
    const [from, to] = [userStart[user]!, userStart[user + 1]!];
    userOfRow.fill(user, from, to);
    const hasValues = codes.start[user + 1]! > codes.start[user]!;
    if (fold[user] !== NOWHERE && hasValues && positive.subarray(from, to).includes(1)) eligible.push(user);
  }
  return { fold, eligible: Uint32Array.from(eligible), userOfRow };
}

function usersToEvaluate({ eligible }: Parted, itemCount: number, seed: number): Uint32Array {
  const seconds = VALUE_RATIO_GRID.length * (SECONDS_PER_LIST + SECONDS_PER_LIST_AND_ITEM * itemCount);
  const usersMax = Math.min(USERS_MAX, Math.max(500, Math.floor(EVALUATION_SECONDS_MAX / seconds)));
  return samplePositions(eligible.length, usersMax, seededRandom(seed, 73)).map((i) => eligible[i]!);
}

/** The others' choices under the order of their own popularity, and the hidden users'. */
type Hidden = {
  readonly all: Interactions;
  readonly statistics: ValueStatistics;
  readonly popularity: Float64Array; // [itemCount]
  readonly eligible: readonly number[];
};

function hide({ train, codes, table, halfLifeDays, seed }: HiddenUsersInput, parted: Parted, at: number): Hidden {
  const { fold, userOfRow } = parted;
  const isShown = (row: number) => fold[userOfRow[row]!] !== at && fold[userOfRow[row]!] !== NOWHERE;
  const order = popularityOrder(rowsWhere(train, isShown), halfLifeDays, seed);
  const newIndex = new Int32Array(order.length);
  for (const [to, from] of order.entries()) newIndex[from] = to;
  const all = { ...train, items: train.items.map((item) => newIndex[item]!) };
  const shown = rowsWhere(all, isShown);
  return {
    all,
    statistics: countValues(shown, codes, table.valueCount),
    popularity: popularityWithRecency(shown, halfLifeDays),
    eligible: Array.from(parted.eligible).filter((user) => fold[user] === at),
  };
}

/** Distinct positives of a user. */
function chosenBy({ userStart, items, positive }: Interactions, user: number): Set<ItemIndex> {
  const chosen = new Set<ItemIndex>();
  for (let row = userStart[user]!; row < userStart[user + 1]!; row++)
    if (positive[row]) chosen.add(items[row] as ItemIndex);
  return chosen;
}

/** Of every column: the sum over hidden users of what its values add to the log likelihood of their choices. */
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
  let [weighed, sum] = [0, 0];
  for (let item = 0; item < base.length; item++) {
    const share = Math.exp(base[item]! - base[0]!);
    weighed += share * Math.exp(ratios[item]!);
    sum += share;
  }
  return Math.log(weighed / sum);
}

type FoldToEvaluate = {
  readonly hidden: Hidden;
  readonly at: number;
  /** Positions in `users` of those hidden. */
  readonly places: readonly number[];
  readonly users: Uint32Array;
  readonly kept: readonly boolean[];
  readonly judged: Pick<HiddenUsers, "popularity" | "settings">;
};

async function evaluateFold(fold: FoldToEvaluate, input: HiddenUsersInput): Promise<void> {
  const { hidden, places, users, kept, judged, at } = fold;
  const { codes, table } = input;
  const values = valuesOf(table, kept);
  const newCode = new Map(values.map((value, code) => [value, code]));
  const valuesOfUser = (user: number) =>
    Array.from(codes.codes.subarray(codes.start[user], codes.start[user + 1])).flatMap((v) => newCode.get(v) ?? []);
  const snapshots = VALUE_RATIO_GRID.map((params) => snapshotOf(hidden, { ...params, values }));
  const judge = async (place: number, snapshot: Snapshot, into: HiddenFigures, own: readonly number[]) => {
    const list = await listFor(own, snapshot);
    const chosen = chosenBy(hidden.all, users[place]!);
    into["ndcg@10"][place] = METRICS.ndcg(list, chosen, 10);
    into["recall@20"][place] = METRICS.recall(list, chosen, LIST_LENGTH);
  };
  for (const [i, place] of places.entries()) {
    input.signal.throwIfAborted();
    if (i % PROGRESS_EVERY === 0) input.progress?.((at + i / places.length) / FOLDS);
    await judge(place, snapshots[0]!, judged.popularity, []);
    for (const [s, snapshot] of snapshots.entries())
      await judge(place, snapshot, judged.settings[s]!, valuesOfUser(users[place]!));
  }
}

const PROGRESS_EVERY = 50;

/** A version that knows nothing but values, from its served bytes: only the catalog's head can reach these lists. */
function snapshotOf(
  { statistics, popularity }: Hidden,
  params: ValueRatioParams & { readonly values: readonly number[] },
): Snapshot {
  const ratios = userValueRatios(statistics, popularity, params);
  const score = params.values.length === 0 ? undefined : scoreOf(ratios);
  return {
    version: "offline",
    itemCount: ratios.base.length,
    itemIdType: "integer",
    historyMax: 1,
    indexOf: () => undefined,
    idAt: () => neverAsked(),
    userRecord: async (user) => ({ items: [], times: [], values: codesOf(user), hasSeen: () => false }),
    score: () => neverAsked(),
    scoreByValues: score,
    compileFilter: () => neverAsked(),
  };
}

const scoreOf = (ratios: UserValueRatios) =>
  decodeUserValues(encodeUserValues({ ...ratios, itemCount: ratios.base.length })).score;

function neverAsked(): never {
  throw new Error("Users without a history are ranked for by values or popularity alone.");
}

/** Users are named by their codes. */
const codesOf = (user: UserId): number[] => (user.length === 0 ? [] : user.split(" ").map(Number));

async function listFor(values: readonly number[], snapshot: Snapshot): Promise<ItemIndex[]> {
  const userId = values.join(" ") as UserId;
  const request = { userId, limit: LIST_LENGTH, session: [], filter: undefined, excludeSeen: true, nowSeconds: 0 };
  return (await rank(request, snapshot)).items;
}
