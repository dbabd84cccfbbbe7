import type { ItemIndex } from "../../../shared/ids.ts";
import { visitStarts } from "../../learn/statistics/visits.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";
import { rowsWhere } from "../../read/dataset/split.ts";
import {
  type EvaluationCases,
  isShowable,
  listedCountOf,
  relevantAmong,
  sizesBy,
} from "../evaluate/evaluation-cases.ts";

/** Cases that a split should have. With fewer users, several choices of each user are held out. */
const CASES_WANTED = 3000;
/** With fewer users, several choices of each add no evidence. */
const USERS_MIN = 200;
const DEPTH_MAX = 5;
/** At most one of this many choices of a user is held out. */
const CHOICES_PER_HELD_OUT = 4;
const POSITIVES_MIN = 3;
/** A user's last order needs one before it. */
const ORDERS_MIN = 2;

/** How many of each user's newest positive interactions to hold out, 1 to 5: more when there are few users. */
export function depthFor(all: Interactions): number {
  let users = 0;
  for (let user = 0; user < all.userCount; user++) if (positivesOf(all, user).length >= POSITIVES_MIN) users++;
  return users < USERS_MIN ? 1 : Math.min(DEPTH_MAX, Math.ceil(CASES_WANTED / users));
}

export type ChoiceOptions = {
  readonly includeSeen: boolean;
  /** Whether a choice is an order: all positive interactions of a user at one time (orders.ts). */
  readonly inOrders?: boolean;
};

/**
 * Holds out each user's newest choices, up to `depth`, with a case for each of them. The history of a case is everything
 * right before it, so it may be newer than the training part: a served model also gets the history of the moment of the request.
 */
export function newestChoices(
  all: Interactions,
  { depth, ...options }: ChoiceOptions & { readonly depth: number },
): { readonly train: Interactions; readonly cases: EvaluationCases } {
  const least = options.inOrders ? ORDERS_MIN : POSITIVES_MIN;
  const ends = all.userStart.slice(1);
  const held = noChoices();
  for (let user = 0; user < all.userCount; user++) {
    const choices = choicesOf(all, user, options);
    const count = choices.length < least ? 0 : Math.min(depth, Math.ceil(choices.length / CHOICES_PER_HELD_OUT));
    if (count === 0) continue;
    ends[user] = choices.at(-count)!.start;
    for (const choice of choices.slice(-count)) if (choice.isNew) addChoice(held, user, choice);
  }
  const isTrain = new Uint8Array(all.items.length);
  for (let user = 0; user < all.userCount; user++) isTrain.fill(1, all.userStart[user], ends[user]);
  return { train: rowsWhere(all, (row) => isTrain[row] === 1), cases: casesRightBefore(all, held, options) };
}

/** With more choices of one user, the lists would say more about few users. */
const CHOICES_PER_USER = 5;

/**
 * Holds out what users chose from an instant on, with a case for some choices of each. The history of a case is everything right before
 * it, as a model that listens to events gets it.
 */
export function liveChoices(
  all: Interactions,
  { instantSeconds, ...options }: ChoiceOptions & { readonly instantSeconds: number },
): { readonly train: Interactions; readonly cases: EvaluationCases } {
  const held = noChoices();
  for (let user = 0; user < all.userCount; user++) {
    const [first, end] = [all.userStart[user]!, all.userStart[user + 1]!];
    if (first === end || all.times[end - 1]! < instantSeconds) continue;
    const choices = choicesOf(all, user, options);
    const later = choices.filter(({ start, isNew }) => isNew && all.times[start]! >= instantSeconds);
    const count = Math.min(CHOICES_PER_USER, later.length);
    for (let i = 0; i < count; i++) addChoice(held, user, later[Math.floor((i * later.length) / count)]!); // evenly spread
  }
  const train = rowsWhere(all, (row) => all.times[row]! < instantSeconds);
  return { train, cases: casesRightBefore(all, held, options) };
}

/** The positive rows from `start` up to `end`: one, or an order. */
type Choice = {
  readonly start: number;
  readonly end: number;
  /** Whether it has an item that a list right before it could show. */
  readonly isNew: boolean;
};

/** A user's choices, the oldest first. */
function choicesOf(all: Interactions, user: number, { includeSeen, inOrders }: ChoiceOptions): Choice[] {
  const { userStart, items, positive } = all;
  const starts = inOrders ? visitStarts(all, user) : positivesOf(all, user);
  const rules = { seen: new Set<number>(), includeSeen, listedCount: listedCountOf(all) };
  let seenUpTo = userStart[user]!;
  return starts.map((start, i) => {
    const end = starts[i + 1] ?? userStart[user + 1]!;
    for (; seenUpTo < start; seenUpTo++) rules.seen.add(items[seenUpTo]!);
    let isNew = false;
    for (let row = start; row < end && !isNew; row++) isNew = positive[row] === 1 && isShowable(items[row]!, rules);
    return { start, end, isNew };
  });
}

/** Choices of users, as columns. */
type Choices = { readonly users: number[]; readonly starts: number[]; readonly ends: number[] };

const noChoices = (): Choices => ({ users: [], starts: [], ends: [] });

function addChoice({ users, starts, ends }: Choices, user: number, { start, end }: Choice): void {
  users.push(user);
  starts.push(start);
  ends.push(end);
}

/** A case for each of these choices, with everything that its user did before. */
function casesRightBefore(
  all: Interactions,
  { users, starts, ends }: Choices,
  { includeSeen }: ChoiceOptions,
): EvaluationCases {
  const { userStart, items, times, positive } = all;
  const caseAt = (at: number) => {
    const [first, start, end] = [userStart[users[at]!]!, starts[at]!, ends[at]!];
    const known = positivesOf(all, users[at]!).filter((row) => row < start);
    const chosen = items.subarray(start, end).filter((_, i) => positive[start + i]);
    const seen = new Set(items.subarray(first, start) as Iterable<number> as Iterable<ItemIndex>);
    return {
      items: known.map((row) => items[row] as ItemIndex),
      times: known.map((row) => times[row]!),
      seen,
      relevant: relevantAmong(chosen, { seen, includeSeen, listedCount: listedCountOf(all) }),
      nowSeconds: times[start]!,
    };
  };
  return {
    count: users.length,
    itemCount: all.itemCount,
    ...(all.listedCount !== undefined && { listedCount: all.listedCount }),
    caseAt,
    sizesAt: sizesBy(caseAt),
    userAt: (at) => users[at],
    ownerAt: (at) => users[at]!,
  };
}

/** Rows of a user's positive interactions, the oldest first. */
function positivesOf({ userStart, positive }: Interactions, user: number): number[] {
  const rows: number[] = [];
  for (let row = userStart[user]!; row < userStart[user + 1]!; row++) if (positive[row]) rows.push(row);
  return rows;
}
