/** Visits at which users chose items again, from which the weights of a history's features are learnt. */
import type { ItemIndex } from "../../../shared/ids.ts";
import { repeatFeatures } from "../../../shared/rank/repeat-features.ts";
import { REPEAT_HISTORY_MAX, type RepeatsOf } from "../../../shared/repeat-intervals.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";
import type { RepeatCase } from "./repeat-weights.ts";
import { visitStarts } from "./visits.ts";

/** With one visit of each user, weights for groceries rank up to 1 % worse. More visits would leave less for the statistics. */
const VISITS_MAX = 3;
/** They take 60 MB at most. Ten times as many rank half a percent better on one of two data sets of groceries. */
const CASES_MAX = 2000;
/** At most so many users, evenly spread, are looked at for cases. */
const USERS_MAX = 20_000;
const DAY_SECONDS = 86_400;

/** A user's newest visits: all rows from `before` on. */
export type HeldOut = {
  readonly user: number;
  readonly before: number;
  /** The visits that are cases, each as the rows from `start` up to `end`. */
  readonly visits: readonly Visit[];
};
type Visit = { readonly start: number; readonly end: number };

/**
 * The newest visits, at most three and half of a user's visits, of users for whom one of them is a case: at least two items were chosen
 * before it, and it has one of them. Users are evenly spread, with 2,000 cases in all at most. Users rise.
 */
export function heldOutVisits(data: Interactions): HeldOut[] {
  const step = Math.ceil(data.userCount / USERS_MAX);
  const found: HeldOut[] = [];
  for (let user = 0; user < data.userCount; user += step) {
    const newest = newestVisits(data, user);
    const visits = newest.filter((visit) => isCase(data, user, visit));
    if (visits.length > 0) found.push({ user, before: newest[0]!.start, visits });
  }
  const share = CASES_MAX / found.reduce((sum, { visits }) => sum + visits.length, 0);
  const spread = share >= 1 ? found : found.filter((_, i) => Math.floor((i + 1) * share) > Math.floor(i * share));
  let cases = 0;
  return spread.filter(({ visits }) => {
    cases += visits.length;
    return cases <= CASES_MAX;
  });
}

function newestVisits(data: Interactions, user: number): Visit[] {
  const starts = visitStarts(data, user);
  const newest = starts.slice(starts.length - Math.min(VISITS_MAX, starts.length >> 1));
  return newest.map((start, i) => ({ start, end: newest[i + 1] ?? data.userStart[user + 1]! }));
}

function isCase(data: Interactions, user: number, visit: Visit): boolean {
  const wanted = itemsOf(data, visit);
  let newest: number | undefined;
  let [areSeveral, isRepeated] = [false, false];
  for (const row of historyBefore(data, user, visit.start)) {
    const item = data.items[row]!;
    newest ??= item;
    areSeveral ||= item !== newest;
    isRepeated ||= wanted.has(item);
    if (areSeveral && isRepeated) return true;
  }
  return false;
}

function itemsOf({ items, positive }: Interactions, { start, end }: Visit): Set<number> {
  const chosen = new Set<number>();
  for (let row = start; row < end; row++) if (positive[row]) chosen.add(items[row]!);
  return chosen;
}

/** The newest positive rows before a visit, newest first. */
function* historyBefore({ userStart, positive }: Interactions, user: number, start: number): Generator<number> {
  let count = 0;
  for (let row = start - 1; row >= userStart[user]! && count < REPEAT_HISTORY_MAX; row--) {
    if (!positive[row]) continue;
    count++;
    yield row;
  }
}

/** The cases with their features at the time of the visit. */
export function casesIn(data: Interactions, heldOut: readonly HeldOut[], repeats: RepeatsOf): RepeatCase[] {
  return heldOut.flatMap(({ user, visits }) =>
    visits.map((visit) => {
      const rows = [...historyBefore(data, user, visit.start)].reverse();
      const now = data.times[visit.start]!;
      const history = {
        items: rows.map((row) => data.items[row]! as ItemIndex),
        agesDays: rows.map((row) => (now - data.times[row]!) / DAY_SECONDS),
      };
      const { chosen, features } = repeatFeatures(history, repeats);
      const wanted = itemsOf(data, visit);
      return { features, isWanted: Uint8Array.from(chosen, (item) => Number(wanted.has(item))) };
    }),
  );
}
