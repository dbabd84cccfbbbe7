/**
 * The part `again` of the bench of lists: what users choose again, ranked by what training learns of it, by most recent and by most
 * frequent first. Histories are a user's newest 500 rows, and only repeated items are wanted.
 *
 * - Sessions of clicks: learnt on the first half and judged on the second, where each click on an item of the session is a case. Figures
 *   are how often the item stands first, and among the first three.
 * - Orders, such as of groceries: learnt on all visits but a user's next one, which is a case. Figures are how often the first item is
 *   in that order, and recall and NDCG of ten items.
 */
import type { ItemIndex } from "../../shared/ids.ts";
import { chosenAgain } from "../../shared/rank/chosen-again.ts";
import { decodeRepeatIntervals, encodeRepeatIntervals, type RepeatIntervals } from "../../shared/repeat-intervals.ts";
import { repeatIntervals } from "../../trainer/learn/statistics/repeat-intervals.ts";
import type { Interactions } from "../../trainer/read/dataset/dataset.ts";
import { compared, type Figure } from "./bench.ts";

const DAY = 86_400;
const HISTORY = 500;
const LIST = 10;
const REFERENCES = { recent: "most recent first", frequent: "most frequent first" };

type Choice = { readonly item: number; readonly time: number };
type Case = { readonly past: readonly Choice[]; readonly now: number; readonly wanted: ReadonlySet<number> };
type Rule = (one: Case) => readonly number[];
/** What a list is worth to somebody who wants these items. */
type Measure = (list: readonly number[], wanted: ReadonlySet<number>) => number;

const hit =
  (count: number): Measure =>
  (list, wanted) =>
    Number(list.slice(0, count).some((item) => wanted.has(item)));
const recall: Measure = (list, wanted) => list.slice(0, LIST).filter((item) => wanted.has(item)).length / wanted.size;
const ndcg: Measure = (list, wanted) => {
  const gains = (hits: readonly boolean[]) => hits.reduce((sum, isHit, i) => sum + Number(isHit) / Math.log2(i + 2), 0);
  const best = Array<boolean>(Math.min(LIST, wanted.size)).fill(true);
  return gains(list.slice(0, LIST).map((item) => wanted.has(item))) / gains(best);
};

export function againInSessions(sessions: Interactions): Figure[] {
  const histories = Array.from({ length: sessions.userCount }, (_, session) => choicesOf(sessions, session))
    .filter(({ length }) => length > 0)
    .sort((a, b) => a[0]!.time - b[0]!.time);
  const half = histories.length >> 1;
  const learnt = interactionsOf(histories.slice(0, half), sessions.itemCount);
  const cases = histories
    .slice(half)
    .flatMap((history) => history.map(({ item, time }, at) => caseOf(history.slice(0, at), time, [item])));
  return figuresOf("lists.again", { "hit@1": hit(1), "hit@3": hit(3) }, rulesBy(learnt), cases);
}

export function againInOrders({
  train,
  test,
}: {
  readonly train: Interactions;
  readonly test: Interactions;
}): Figure[] {
  const cases = Array.from({ length: test.userCount }, (_, user) => {
    const [past, later] = [choicesOf(train, user), choicesOf(test, user)];
    const now = later[0]?.time ?? 0;
    const visit = later.filter(({ time }) => time === now).map(({ item }) => item);
    return caseOf(past, now, visit);
  });
  const measures = { "hit@1": hit(1), [`recall@${LIST}`]: recall, [`NDCG@${LIST}`]: ndcg };
  return figuresOf("lists.again.orders", measures, rulesBy(train), cases);
}

const choicesOf = ({ userStart, items, times }: Interactions, user: number): Choice[] =>
  Array.from(items.subarray(userStart[user], userStart[user + 1]), (item, i) => ({
    item,
    time: times[userStart[user]! + i]!,
  }));

function caseOf(history: readonly Choice[], now: number, chosen: readonly number[]): Case {
  const past = history.slice(-HISTORY);
  const own = new Set(past.map(({ item }) => item));
  return { past, now, wanted: new Set(own.size < 2 ? [] : chosen.filter((item) => own.has(item))) };
}

function rulesBy(learnt: Interactions): Readonly<Record<string, Rule>> {
  const repeats = decodeRepeatIntervals(encodeRepeatIntervals(repeatIntervals(learnt)!));
  return { own: ownRule(repeats, learnt.itemCount), recent: latestFirst, frequent: mostFrequentFirst };
}

const ownRule =
  (repeats: RepeatIntervals, itemCount: number): Rule =>
  ({ past, now }) => {
    const items = past.map(({ item }) => item as ItemIndex);
    const agesDays = past.map(({ time }) => (now - time) / DAY);
    const { scores, chosen } = chosenAgain({ items, agesDays }, itemCount, repeats);
    return chosen.sort((a, b) => scores[b]! - scores[a]!);
  };

const latestFirst: Rule = ({ past }) => [...new Set(past.map(({ item }) => item).toReversed())];

/** Equally often, the latest first. */
const mostFrequentFirst: Rule = (one) => {
  const counts = new Map<number, number>();
  for (const { item } of one.past) counts.set(item, (counts.get(item) ?? 0) + 1);
  return [...latestFirst(one)].sort((a, b) => counts.get(b)! - counts.get(a)!);
};

function figuresOf(
  name: string,
  measures: Readonly<Record<string, Measure>>,
  rules: Readonly<Record<string, Rule>>,
  cases: readonly Case[],
): Figure[] {
  const judged = cases.filter(({ wanted }) => wanted.size > 0);
  const meanOf = (measure: Measure, lists: readonly (readonly number[])[]) =>
    lists.reduce((sum, list, i) => sum + measure(list, judged[i]!.wanted), 0) / lists.length;
  const lists = Object.fromEntries(Object.entries(rules).map(([rule, listOf]) => [rule, judged.map(listOf)]));
  return Object.entries(measures).flatMap(([measure, worth]) =>
    Object.entries(REFERENCES).map(([rule, words]) =>
      compared(`${name}.${measure}, against ${words}`, "share", meanOf(worth, lists.own!), meanOf(worth, lists[rule]!)),
    ),
  );
}

function interactionsOf(histories: readonly (readonly Choice[])[], itemCount: number): Interactions {
  const rows = histories.flat();
  const userStart = new Uint32Array(histories.length + 1);
  for (const [user, history] of histories.entries()) userStart[user + 1] = userStart[user]! + history.length;
  return {
    ...{ userCount: histories.length, itemCount, userStart, ratings: null },
    items: Int32Array.from(rows, ({ item }) => item),
    times: Uint32Array.from(rows, ({ time }) => time),
    positive: new Uint8Array(rows.length).fill(1),
  };
}
