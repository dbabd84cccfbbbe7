import { SESSION_MAX } from "../../../shared/api.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { ItemHours } from "../../../shared/item-hours.ts";
import type { SessionRules } from "../../../shared/manifest.ts";
import { historyOf } from "../../../shared/rank.ts";
import type { RepeatIntervals } from "../../../shared/repeat-intervals.ts";
import type { History } from "../../../shared/snapshot.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";
import { rowsWhere, type Targets } from "../../read/dataset/split.ts";

/** One list to make and evaluate: the history of a user at one moment, and what the user chose after it. */
export type EvaluationCase = {
  /** Positive items before that moment, the oldest first; empty for a new user. */
  readonly items: readonly ItemIndex[];
  readonly times: readonly number[]; // epoch seconds, aligned with items
  /** Items with any interaction before that moment, whatever the label. */
  readonly seen: ReadonlySet<ItemIndex>;
  /** The targets: distinct items, at least one. */
  readonly relevant: readonly ItemIndex[];
  /** The moment, in epoch seconds. */
  readonly nowSeconds: number;
};

/** Lists to make and evaluate. Cases are built one at a time, so that many fit into memory. */
export type EvaluationCases = {
  /** Cases of sessions: `items` are sent in the request, as a caller without a user id sends them. Absent: they are stored of a user. */
  readonly sessions?: SessionRules;
  readonly count: number;
  readonly itemCount: number;
  /** Items from this index on are in no list. Absent: all may be. */
  readonly listedCount?: number | undefined;
  /** How items are chosen again, by the training part. Absent: lists do not depend on it. */
  readonly repeats?: RepeatIntervals | undefined;
  /** At which time of the day items are chosen, by the training part. Absent: lists do not depend on it. */
  readonly hours?: ItemHours | undefined;
  /** `at` is 0…count − 1. The same answer every time. */
  caseAt(at: number): EvaluationCase;
  /** Lengths of the uncut history and of the targets, which is cheaper than the whole case. */
  sizesAt(at: number): CaseSizes;
  /** The index of the user; undefined for a session, which is no user of the training part. */
  userAt(at: number): number | undefined;
  /** The user or session that the list belongs to. Lists of one owner are not independent of each other. */
  ownerAt(at: number): number;
};

export type CaseSizes = { readonly known: number; readonly wanted: number };

/** What a model is given of a case, as rank() would give it. */
export function historyOfCase(
  { items, times, nowSeconds }: EvaluationCase,
  { of, historyMax }: { readonly of: EvaluationCases; readonly historyMax: number },
): History {
  const record = of.sessions ? undefined : { items, times, hasSeen: () => false };
  return historyOf(record, of.sessions ? items : [], { nowSeconds, historyMax });
}

export const sizesBy = (caseAt: EvaluationCases["caseAt"]) => (at: number) => {
  const { items, relevant } = caseAt(at);
  return { known: items.length, wanted: relevant.length };
};

/** The distinct owners of some lists. */
export const ownersOf = (cases: EvaluationCases, positions: Iterable<number>): Set<number> =>
  new Set(Array.from(positions, (at) => cases.ownerAt(at)));

export type CaseOptions = {
  /** Whether items that the user has seen may be shown again; then they are targets too. */
  readonly includeSeen?: boolean;
  /** The moment of every list. Absent: the moment of each user's first target. */
  readonly instantSeconds?: number;
  /** Whether to leave out users without a positive in the training part. */
  readonly withHistoryOnly?: boolean;
};

/**
 * A case for each user with a target. An item that the user had already seen cannot be in a list without seen items, so it is no target,
 * nor is an item that is in no list;
 * a user without another target is no case.
 */
export function casesOfSplit(train: Interactions, targets: Targets, options: CaseOptions = {}): EvaluationCases {
  const users = usersWithTargets(train, targets, options);
  const listedCount = listedCountOf(train);
  const caseAt = (at: number): EvaluationCase => {
    const user = users[at]!;
    const [first, end] = [train.userStart[user]!, train.userStart[user + 1]!];
    const items: ItemIndex[] = [];
    const times: number[] = [];
    for (let i = first; i < end; i++) {
      if (!train.positive[i]) continue;
      items.push(train.items[i] as ItemIndex);
      times.push(train.times[i]!);
    }
    const seen = new Set(train.items.subarray(first, end) as Iterable<number> as Iterable<ItemIndex>);
    const relevant = relevantAmong(targetsOf(targets, user), { seen, listedCount, ...options });
    return {
      items,
      times,
      seen,
      relevant,
      nowSeconds: options.instantSeconds ?? targets.times[targets.userStart[user]!]!,
    };
  };
  return {
    count: users.length,
    itemCount: train.itemCount,
    listedCount: train.listedCount,
    caseAt,
    sizesAt: sizesBy(caseAt),
    userAt: (at) => users[at],
    ownerAt: (at) => users[at]!,
  };
}

/**
 * A case for every prefix of every session: its next item is the target. The history is the newest part of the prefix, as long as a
 * request may be. If items do not repeat, those of the history are neither shown nor targets. Sessions are the positive rows of the users
 * of `all`; none of these rows is in the training part.
 */
export function casesOfSessions(all: Interactions, { repeats }: SessionRules): EvaluationCases {
  const sessions = all.positive.includes(0) ? rowsWhere(all, (row) => all.positive[row] === 1) : all;
  const targetOfCase: number[] = []; // row of the target
  const userOfCase: number[] = [];
  const listedCount = listedCountOf(all);
  const firstOf = (user: number, target: number) => Math.max(sessions.userStart[user]!, target - SESSION_MAX);
  const prefixOf = (user: number, target: number) => sessions.items.subarray(firstOf(user, target), target);
  for (let user = 0; user < sessions.userCount; user++) {
    for (let at = sessions.userStart[user]! + 1; at < sessions.userStart[user + 1]!; at++) {
      if (sessions.items[at]! >= listedCount) continue;
      if (!repeats && prefixOf(user, at).includes(sessions.items[at]!)) continue;
      targetOfCase.push(at);
      userOfCase.push(user);
    }
  }
  const caseAt = (at: number): EvaluationCase => {
    const target = targetOfCase[at]!;
    const items = Array.from(prefixOf(userOfCase[at]!, target)) as ItemIndex[];
    return {
      items,
      times: Array.from(sessions.times.subarray(firstOf(userOfCase[at]!, target), target)),
      seen: new Set(repeats ? [] : items),
      relevant: [sessions.items[target] as ItemIndex],
      nowSeconds: sessions.times[target]!,
    };
  };
  return {
    sessions: { repeats },
    count: targetOfCase.length,
    itemCount: sessions.itemCount,
    listedCount: all.listedCount,
    caseAt,
    sizesAt: (at) => ({ known: targetOfCase[at]! - sessions.userStart[userOfCase[at]!]!, wanted: 1 }),
    userAt: () => undefined,
    ownerAt: (at) => userOfCase[at]!,
  };
}

function usersWithTargets(train: Interactions, targets: Targets, options: CaseOptions): number[] {
  const users: number[] = [];
  for (let user = 0; user < train.userCount; user++) {
    if (targets.userStart[user] === targets.userStart[user + 1]) continue;
    const [first, end] = [train.userStart[user]!, train.userStart[user + 1]!];
    if (options.withHistoryOnly && !train.positive.subarray(first, end).includes(1)) continue;
    const seen = new Set<number>(options.includeSeen ? [] : train.items.subarray(first, end));
    const rules = { seen, listedCount: listedCountOf(train), ...options };
    if (relevantAmong(targetsOf(targets, user), rules).length > 0) users.push(user);
  }
  return users;
}

export const listedCountOf = ({ listedCount, itemCount }: Interactions) => listedCount ?? itemCount;

const targetsOf = ({ userStart, items }: Targets, user: number) => items.subarray(userStart[user], userStart[user + 1]);

export type RelevanceRules = {
  readonly seen: ReadonlySet<number>;
  readonly includeSeen?: boolean;
  readonly listedCount: number;
};

/** Whether a list could show an item, so that it can be relevant. */
export const isShowable = (item: number, { seen, includeSeen, listedCount }: RelevanceRules): boolean =>
  item < listedCount && (includeSeen || !seen.has(item));

/** The distinct ones of these items that a list could show. */
export const relevantAmong = (items: Int32Array, rules: RelevanceRules): ItemIndex[] =>
  [...new Set(items)].filter((item) => isShowable(item, rules)) as ItemIndex[];
