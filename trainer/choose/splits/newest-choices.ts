import type { ItemIndex } from "../../../shared/ids.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";
import { rowsWhere } from "../../read/dataset/split.ts";
import type { EvaluationCases } from "../evaluate/evaluation-cases.ts";

/** Cases that a split should have. With fewer users, several choices of each user are held out. */
const CASES_WANTED = 3000;
/** With fewer users, several choices of each add no evidence. */
const USERS_MIN = 200;
const DEPTH_MAX = 5;
/** At most one of this many choices of a user is held out. */
const CHOICES_PER_HELD_OUT = 4;
const POSITIVES_MIN = 3;

/** How many of each user's newest positive interactions to hold out, 1 to 5: more when there are few users. */
export function depthFor(all: Interactions): number {
  let users = 0;
  for (let user = 0; user < all.userCount; user++) if (positivesOf(all, user).length >= POSITIVES_MIN) users++;
  return users < USERS_MIN ? 1 : Math.min(DEPTH_MAX, Math.ceil(CASES_WANTED / users));
}

/**
 * Holds out each user's newest positive interactions, up to `depth`, with a case for each of them. The history of a case is everything
 * right before it, so it may be newer than the training part: a served model also gets the history of the moment of the request.
 */
export function newestChoices(
  all: Interactions,
  { depth, includeSeen }: { readonly depth: number; readonly includeSeen: boolean },
): { readonly train: Interactions; readonly cases: EvaluationCases } {
  const ends = all.userStart.slice(1);
  const userOfCase: number[] = [];
  const rowOfCase: number[] = [];
  for (let user = 0; user < all.userCount; user++) {
    const positives = positivesOf(all, user);
    const held =
      positives.length < POSITIVES_MIN ? 0 : Math.min(depth, Math.ceil(positives.length / CHOICES_PER_HELD_OUT));
    if (held === 0) continue;
    ends[user] = positives.at(-held)!;
    for (const row of positives.slice(-held)) {
      if (!includeSeen && all.items.subarray(all.userStart[user], row).includes(all.items[row]!)) continue;
      userOfCase.push(user);
      rowOfCase.push(row);
    }
  }
  const isTrain = new Uint8Array(all.items.length);
  for (let user = 0; user < all.userCount; user++) isTrain.fill(1, all.userStart[user], ends[user]);
  return {
    train: rowsWhere(all, (row) => isTrain[row] === 1),
    cases: casesRightBefore(all, { userOfCase, rowOfCase }),
  };
}

/** With more choices of one user, the lists would say more about few users. */
const CHOICES_PER_USER = 5;

/**
 * Holds out what users chose from an instant on, with a case for some choices of each. The history of a case is everything right before
 * it, as a model that listens to events gets it.
 */
export function liveChoices(
  all: Interactions,
  { instantSeconds, includeSeen }: { readonly instantSeconds: number; readonly includeSeen: boolean },
): { readonly train: Interactions; readonly cases: EvaluationCases } {
  const userOfCase: number[] = [];
  const rowOfCase: number[] = [];
  for (let user = 0; user < all.userCount; user++) {
    const later = newRowsFrom(all, user, { instantSeconds, includeSeen });
    const count = Math.min(CHOICES_PER_USER, later.length);
    for (let i = 0; i < count; i++) {
      userOfCase.push(user);
      rowOfCase.push(later[Math.floor((i * later.length) / count)]!); // evenly spread
    }
  }
  const train = rowsWhere(all, (row) => all.times[row]! < instantSeconds);
  return { train, cases: casesRightBefore(all, { userOfCase, rowOfCase }) };
}

/** Rows of the positive interactions of a user from an instant on, without repeated items unless these may be shown again. */
function newRowsFrom(
  { itemCount, listedCount, userStart, items, times, positive }: Interactions,
  user: number,
  { instantSeconds, includeSeen }: { readonly instantSeconds: number; readonly includeSeen: boolean },
): number[] {
  const [first, end] = [userStart[user]!, userStart[user + 1]!];
  if (first === end || times[end - 1]! < instantSeconds) return [];
  const rows: number[] = [];
  const seen = new Set<number>();
  for (let row = first; row < end; row++) {
    const isListed = items[row]! < (listedCount ?? itemCount);
    if (isListed && positive[row] && times[row]! >= instantSeconds && (includeSeen || !seen.has(items[row]!)))
      rows.push(row);
    seen.add(items[row]!);
  }
  return rows;
}

type Choices = { readonly userOfCase: readonly number[]; readonly rowOfCase: readonly number[] };

/** A case for each of these rows, with everything that its user did before. */
function casesRightBefore(all: Interactions, { userOfCase, rowOfCase }: Choices): EvaluationCases {
  const caseAt = (at: number) => {
    const [first, row] = [all.userStart[userOfCase[at]!]!, rowOfCase[at]!];
    const known = positivesOf(all, userOfCase[at]!).filter((own) => own < row);
    return {
      items: known.map((own) => all.items[own] as ItemIndex),
      times: known.map((own) => all.times[own]!),
      seen: new Set(all.items.subarray(first, row) as Iterable<number> as Iterable<ItemIndex>),
      relevant: [all.items[row] as ItemIndex],
      nowSeconds: all.times[row]!,
    };
  };
  return {
    count: rowOfCase.length,
    itemCount: all.itemCount,
    ...(all.listedCount !== undefined && { listedCount: all.listedCount }),
    caseAt,
    sizesAt: (at) => ({ known: caseAt(at).items.length, wanted: 1 }),
    userAt: (at) => userOfCase[at],
    ownerAt: (at) => userOfCase[at]!,
  };
}

/** Rows of a user's positive interactions, the oldest first. */
function positivesOf({ userStart, positive }: Interactions, user: number): number[] {
  const rows: number[] = [];
  for (let row = userStart[user]!; row < userStart[user + 1]!; row++) if (positive[row]) rows.push(row);
  return rows;
}
