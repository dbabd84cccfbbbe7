import type { ItemIndex } from "../../../shared/ids.ts";
import { RECORD_HISTORY_MAX } from "../../../shared/user-records.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";
import { rowsWhere, type Targets } from "../../read/dataset/split.ts";

/** One list to be made and judged: what is known of a user at a moment, and what the user chose after it. */
export type EvaluationCase = {
  /** Positive items known at that moment, oldest first; empty for a new user. */
  readonly items: readonly ItemIndex[];
  readonly times: readonly number[]; // epoch seconds, aligned with items
  /** Items with any interaction before that moment, whatever the label. */
  readonly seen: ReadonlySet<ItemIndex>;
  /** Distinct; at least one. */
  readonly relevant: readonly ItemIndex[];
  /** Epoch seconds: the moment. */
  readonly nowSeconds: number;
};

/** Lists to be made and judged, built one at a time so that very many fit in memory. */
export type EvaluationCases = {
  readonly count: number;
  readonly itemCount: number;
  /** `at` is 0…count − 1. The same answer every time. */
  caseAt(at: number): EvaluationCase;
  /** Lengths of the history, where it is not cut, and of what is to be found: what counting all cases needs. */
  sizesAt(at: number): CaseSizes;
  /** The index of the user; undefined when nobody of the training part is asked for. */
  userAt(at: number): number | undefined;
  /** Whose list it is: those of one user, or of one session, are not independent of each other. */
  ownerAt(at: number): number;
};

export type CaseSizes = { readonly known: number; readonly wanted: number };

const sizesBy = (caseAt: EvaluationCases["caseAt"]) => (at: number) => {
  const { items, relevant } = caseAt(at);
  return { known: items.length, wanted: relevant.length };
};

/** Whose lists some are, each once. */
export const ownersOf = (cases: EvaluationCases, positions: Iterable<number>): Set<number> =>
  new Set(Array.from(positions, (at) => cases.ownerAt(at)));

export type CaseOptions = {
  /** Whether items the user has seen may be shown again; then they also count when they are chosen again. */
  readonly includeSeen?: boolean;
  /** The moment of every list; else that of each user's first target. */
  readonly instantSeconds?: number;
  /** Whether to leave out users without any positive in train. */
  readonly withHistoryOnly?: boolean;
};

/**
 * A case for each user who has something to find. A target that the user had already seen cannot stand in a list that
 * leaves seen items out: it is no target then, and a user without any other is no case.
 */
export function casesOfSplit(train: Interactions, targets: Targets, options: CaseOptions = {}): EvaluationCases {
  const users = usersToJudge(train, targets, options);
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
    const relevant = relevantOf(targets, user, options.includeSeen ? new Set() : seen);
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
    caseAt,
    sizesAt: sizesBy(caseAt),
    userAt: (at) => users[at],
    ownerAt: (at) => users[at]!,
  };
}

/**
 * A case for every prefix of every session: its next item is the one to find, and items of the prefix stay candidates. Of a prefix
 * the newest entries are known, as many as a record keeps.
 * Sessions are the positive rows of the users of `all`; nothing of them is in the training part.
 */
export function casesOfSessions(all: Interactions): EvaluationCases {
  const sessions = all.positive.includes(0) ? rowsWhere(all, (row) => all.positive[row] === 1) : all;
  const lastOfUser: number[] = []; // position of the entry to find
  const userOfCase: number[] = [];
  for (let user = 0; user < sessions.userCount; user++) {
    for (let at = sessions.userStart[user]! + 1; at < sessions.userStart[user + 1]!; at++) {
      lastOfUser.push(at);
      userOfCase.push(user);
    }
  }
  const caseAt = (at: number): EvaluationCase => {
    const target = lastOfUser[at]!;
    const first = Math.max(sessions.userStart[userOfCase[at]!]!, target - RECORD_HISTORY_MAX);
    return {
      items: Array.from(sessions.items.subarray(first, target)) as ItemIndex[],
      times: Array.from(sessions.times.subarray(first, target)),
      seen: new Set(),
      relevant: [sessions.items[target] as ItemIndex],
      nowSeconds: sessions.times[target]!,
    };
  };
  return {
    count: lastOfUser.length,
    itemCount: sessions.itemCount,
    caseAt,
    sizesAt: (at) => ({ known: lastOfUser[at]! - sessions.userStart[userOfCase[at]!]!, wanted: 1 }),
    userAt: () => undefined,
    ownerAt: (at) => userOfCase[at]!,
  };
}

function usersToJudge(train: Interactions, targets: Targets, options: CaseOptions): number[] {
  const users: number[] = [];
  for (let user = 0; user < train.userCount; user++) {
    if (targets.userStart[user] === targets.userStart[user + 1]) continue;
    const [first, end] = [train.userStart[user]!, train.userStart[user + 1]!];
    if (options.withHistoryOnly && !train.positive.subarray(first, end).includes(1)) continue;
    const seen = new Set<number>(options.includeSeen ? [] : train.items.subarray(first, end));
    if (relevantOf(targets, user, seen).length > 0) users.push(user);
  }
  return users;
}

function relevantOf({ userStart, items }: Targets, user: number, seen: ReadonlySet<number>): ItemIndex[] {
  const relevant = new Set<number>();
  for (let at = userStart[user]!; at < userStart[user + 1]!; at++) if (!seen.has(items[at]!)) relevant.add(items[at]!);
  return [...relevant] as ItemIndex[];
}
