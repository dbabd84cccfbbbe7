import type { ItemIndex } from "../../../shared/ids.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";
import { rowsWhere } from "../../read/dataset/split.ts";
import type { EvaluationCases } from "../evaluate/evaluation-cases.ts";

/** Users from which one choice of each is evidence enough; with fewer, further ones of each are asked for. */
const CASES_WANTED = 3000;
/** Fewer users are no evidence, however often they are asked. */
const USERS_MIN = 200;
const DEPTH_MAX = 5;
/** At most one of so many choices of a user is held out. */
const SHARE_OF_USER = 4;
const POSITIVES_MIN = 3;

/** How many of each user's newest positive interactions are to be held out, 1 to 5: more where users are few. */
export function depthFor(all: Interactions): number {
  let users = 0;
  for (let user = 0; user < all.userCount; user++) if (positivesOf(all, user).length >= POSITIVES_MIN) users++;
  return users < USERS_MIN ? 1 : Math.min(DEPTH_MAX, Math.ceil(CASES_WANTED / users));
}

/**
 * The newest positive interactions of each user held out, up to `depth`, and a case for each of them: what was known right before it,
 * newer than the training part though some of it is. Models take the history as it is at a request, so they can be asked so.
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
    const held = positives.length < POSITIVES_MIN ? 0 : Math.min(depth, Math.ceil(positives.length / SHARE_OF_USER));
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
  const cases: EvaluationCases = {
    count: rowOfCase.length,
    itemCount: all.itemCount,
    caseAt,
    sizesAt: (at) => ({ known: caseAt(at).items.length, wanted: 1 }),
    userAt: (at) => userOfCase[at],
    ownerAt: (at) => userOfCase[at]!,
  };
  return { train: rowsWhere(all, (row) => isTrain[row] === 1), cases };
}

/** Rows of a user's positive interactions, oldest first. */
function positivesOf({ userStart, positive }: Interactions, user: number): number[] {
  const rows: number[] = [];
  for (let row = userStart[user]!; row < userStart[user + 1]!; row++) if (positive[row]) rows.push(row);
  return rows;
}
