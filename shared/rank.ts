import type { Filter } from "./filter/parse-filter.ts";
import { type ReferenceValues, resolveFilter } from "./filter/resolve-filter.ts";
import type { ItemId, ItemIndex } from "./ids.ts";
import { Problem } from "./problem.ts";
import { moveToThisHour } from "./rank/at-this-hour.ts";
import { chosenAgain, repeatScores } from "./rank/chosen-again.ts";
import { joinChosen } from "./rank/chosen-or-new.ts";
import { compileShaping, type Shaping } from "./rank/compile-shaping.ts";
import { placeNewItems, withNewItems } from "./rank/new-items.ts";
import { newestScores, timesOfItems } from "./rank/newest.ts";
import { type Reason, reasonItemsMax, reasonsFor } from "./rank/reasons.ts";
import { callValues, type ReferenceSources, USER_ID } from "./rank/reference-values.ts";
import { popularityScores } from "./rank/score-scale.ts";
import { type Candidates, shape } from "./rank/shape.ts";
import { similarityScores } from "./rank/similar.ts";
import { togetherReasons, togetherScores } from "./rank/together.ts";
import { trendingScores } from "./rank/trending.ts";
import { REPEAT_HISTORY_MAX } from "./repeat-intervals.ts";
import type { History, KnownNames, Snapshot, UserRecord } from "./snapshot.ts";
import { bestOf } from "./top-k.ts";

export type RankRequest = ReferenceSources & {
  readonly limit: number;
  /** How many items of the list come before those of the answer. Absent: none. */
  readonly offset?: number | undefined;
  /** Item ids of the interactions in the request, oldest first. Ids that the model does not know are skipped and counted. */
  readonly session: readonly ItemId[];
  readonly filter: Filter | undefined;
  readonly excludeSeen: boolean;
  /** Ranks what the user has chosen before, for the user to choose it again. */
  readonly onlyChosen?: boolean | undefined;
  /** Epoch seconds, for the ages of the history. */
  readonly nowSeconds: number;
  /** Only these items are ranked. Absent: the whole catalog. */
  readonly itemIds?: readonly ItemId[] | undefined;
  /** Absent: the list is in the order of the scores. */
  readonly shaping?: Shaping | undefined;
  /** Ranks popular, trending or the newest items, whoever asks. */
  readonly strategy?: "popular" | "trending" | "newest" | undefined;
  /** Items are ranked by likeness to all of these, of which `similarTo` is the last one. Absent: to that one alone. */
  readonly basket?: readonly ItemId[] | undefined;
  /** Ranks what is chosen in addition to the basket. Absent: what is like it. */
  readonly relation?: "together" | undefined;
  /** What the answer has besides the items. */
  readonly wanted?: { readonly scores: boolean; readonly reasons: boolean } | undefined;
};

/** No history leads to such lists. */
const IMPERSONAL: ReadonlySet<RankStrategy> = new Set(["popular", "trending", "newest"]);

/** `personalized` means by the stored history or, without one, by the user's attribute values. */
export type RankStrategy = "personalized" | "session" | "popular" | "trending" | "newest" | "similar" | "together";

export type RankAnswer = {
  readonly items: ItemIndex[];
  readonly strategy: RankStrategy;
  readonly ignoredInteractions: number;
  /** The number of ids in `itemIds`, in the basket and among the pinned ones that the model does not know. */
  readonly unknownItems: number;
  /** The names of references without a value. Absent: there are none. */
  readonly missingReferences?: readonly string[];
  /** What the scores were computed from. */
  readonly history: History;
  /** If wanted: each item's score after boosts, in standard deviations above the mean of the catalog. */
  readonly scores?: readonly number[];
  /** If wanted: each item's reasons. */
  readonly reasons?: readonly (readonly Reason[])[];
};

/** The items for this user, best first: at most `limit`, and none that the user has seen. */
export async function rank(request: RankRequest, snapshot: Snapshot): Promise<RankAnswer> {
  const compiled = compileRequest(request, snapshot);
  const record = request.userId === undefined ? undefined : await snapshot.userRecord(request.userId);
  const { isMatch, shaping, missing } = withAttributes(compiled, { request, record, snapshot });
  const { similarTo } = request;
  const asked = similarTo === undefined ? undefined : itemsOf(request.basket ?? [similarTo], snapshot);
  const session = asked ?? knownOf(request.session, snapshot);
  const learnt = session.filter((item) => item < snapshot.itemCount);
  const user = { record, session: learnt, nowSeconds: request.nowSeconds };
  const isAgain = !asked && request.onlyChosen === true;
  const scored = await (isAgain
    ? scoreChosen({ ...user, session }, snapshot)
    : scoreOthers(request, { user, asked }, snapshot));
  const { history, strategy } = scored;
  const scores = scored.scores && withNewItems(scored.scores, snapshot);

  const mayRepeat = isAgain || (!asked && snapshot.sessions?.repeats);
  const left = { record, session: mayRepeat ? [] : session };
  const candidates = candidatesFor(request, { isMatch, ...left, only: scored.only }, snapshot);
  // Likeness by attribute values has scores for new items already.
  if (scores !== scored.scores) placeNewItems(scores!, candidates, asked?.at(-1), snapshot);
  const { limit, offset = 0 } = request;
  const shaped = shaping && shape(scores ?? popular(snapshot), { limit, offset }, candidates, shaping);
  const { isCandidate, among } = candidates;
  const end = offset + limit;
  const upToEnd = shaped?.items ?? scored.best?.(end, isCandidate) ?? bestOf(scores, end, isCandidate, among);
  const items = offset > 0 ? upToEnd.slice(offset) : upToEnd;
  const reasons = () => {
    if (strategy === "together") return togetherReasons(items, session, snapshot.together!);
    if (IMPERSONAL.has(strategy) || isAgain) return items.map(() => []); // no history led to the list
    return reasonsBy(scored, items, snapshot);
  };
  return {
    items,
    strategy,
    history,
    ignoredInteractions: asked ? 0 : request.session.length - (isAgain ? session : learnt).length,
    unknownItems: unknownIn(request, snapshot),
    ...(missing.size > 0 && { missingReferences: [...missing] }),
    ...(request.wanted?.scores && shaped && { scores: items.map(shaped.scoreOf) }),
    ...(request.wanted?.reasons && { reasons: await reasons() }),
  };
}

type Known = { readonly request: RankRequest; readonly record: UserRecord | undefined; readonly snapshot: Snapshot };

/** The compiled request with the user's attributes as the version has them, where the call sends none. */
function withAttributes(compiled: ReturnType<typeof compileRequest>, { request, record, snapshot }: Known) {
  const { userAttributes } = snapshot;
  if (!compiled.refersToUser || !record?.values?.length || !userAttributes) return compiled;
  return compileRequest({ ...request, user: { ...userAttributes(record.values), ...request.user } }, snapshot);
}

/** The items that the list may hold: without those of the session, and only those that a list is limited to. */
function candidatesFor(
  { itemIds, excludeSeen }: RankRequest,
  { isMatch, record, session, only: onlyItems }: Deciding,
  snapshot: Snapshot,
): Candidates {
  const inSession = new Set(session);
  const isSeen = (item: ItemIndex) => excludeSeen && (record?.hasSeen(item) ?? false);
  // The filter comes first: one that passes few items decides for most, so the other tests run rarely.
  const isOpen = (item: ItemIndex) => isMatch(item) && !inSession.has(item) && !isSeen(item);
  const { isHidden, itemCount, newCount = 0 } = snapshot;
  const isShown = isHidden ? (item: ItemIndex) => !isHidden(item) && isOpen(item) : isOpen;
  const only = onlyItems && new Set(onlyItems);
  const given = itemIds && new Set(knownOf(itemIds, snapshot));
  return {
    isCandidate: only ? (item) => only.has(item) && isShown(item) : isShown,
    among: given ?? only ?? itemCount + newCount,
    newCount,
  };
}

type Deciding = {
  readonly only: readonly ItemIndex[] | undefined;
  readonly isMatch: (item: ItemIndex) => boolean;
  readonly record: UserRecord | undefined;
  readonly session: readonly ItemIndex[];
};

/** Throws Problem if the strategy, the filter or the shaping does not fit the version. */
export function compileRequest(
  request: RankRequest,
  snapshot: KnownNames,
  values: ReferenceValues = callValues(request, snapshot),
) {
  if (request.strategy === "newest" && request.similarTo === undefined) timesOfItems(snapshot);
  const missing = new Set<string>();
  let refersToUser = false;
  const valueFor: ReferenceValues = (reference, attribute) => {
    refersToUser ||= reference.from === "user" && reference.name !== USER_ID; // the id is no stored attribute
    return values(reference, attribute);
  };
  const isMatch = request.filter
    ? snapshot.compileFilter(resolveFilter(request.filter, valueFor, missing))
    : () => true;
  const isShaped = request.shaping !== undefined || request.wanted?.scores;
  const shaping = isShaped
    ? compileShaping(request.shaping ?? {}, { ...request, valueFor, missing }, snapshot)
    : undefined;
  return { isMatch, shaping, missing, refersToUser };
}

/** The largest number of times that a request runs the model; with a recipe, what reasons take is about one run more. */
export function runsMaxOf({ wanted }: Pick<RankRequest, "wanted">, itemCount: number, hasRecipe: boolean): number {
  if (!wanted?.reasons) return 1;
  return hasRecipe ? 2 : 3 + reasonItemsMax(itemCount);
}

type Scored = {
  /** Undefined: all items score the same, and the catalog's order is used, which is popularity with recency. */
  readonly scores: Float32Array | undefined;
  /** What the scores were computed from. */
  readonly history: History;
  readonly strategy: RankStrategy;
  /** The only items that the list may have. Absent: all. */
  readonly only?: readonly ItemIndex[];
  /** See the snapshot's `bestOf`. */
  readonly best?: Snapshot["bestOf"];
  /** Items whose score says how likely they are to be chosen again. Absent: none. */
  readonly again?: ReadonlyMap<ItemIndex, number>;
};

const POPULAR: Scored = { scores: undefined, history: { items: [], agesDays: [] }, strategy: "popular" };

/** Scores by what goes with the items asked for, by likeness to them, by popularity, growth or age alone, or for the user. */
async function scoreOthers(
  { strategy, relation, excludeSeen }: RankRequest,
  { user, asked }: { readonly user: UserState; readonly asked: readonly ItemIndex[] | undefined },
  snapshot: Snapshot,
): Promise<Scored> {
  if (asked) return (relation && scoreTogether(asked, snapshot)) ?? scoreLikeness(asked, snapshot);
  if (strategy === "newest") return scoreNewest(user, snapshot);
  if (strategy === "trending") return scoreTrending(user, snapshot);
  if (strategy === "popular") return POPULAR;
  const scored = atThisHour(await scoreForUser(user, snapshot), user, snapshot);
  return excludeSeen ? scored : withChosen(scored, user, snapshot);
}

function scoreNewest({ nowSeconds }: UserState, snapshot: Snapshot): Scored {
  const scores = newestScores(snapshot, nowSeconds);
  snapshot.onTable?.(scores);
  return { ...POPULAR, scores, strategy: "newest" };
}

/** Where nothing has grown, the list is one of popular items. */
function scoreTrending({ nowSeconds }: UserState, snapshot: Snapshot): Scored {
  const { scores, isTrending } = trendingScores(snapshot, nowSeconds);
  snapshot.onTable?.(scores);
  return { ...POPULAR, scores, strategy: isTrending ? "trending" : "popular" };
}

/** Scores for what the user has chosen, and these items. */
function scoreChosen({ record, session, nowSeconds }: UserState, snapshot: Snapshot): Scored {
  const history = historyOf(record, session, { nowSeconds, historyMax: REPEAT_HISTORY_MAX });
  const { itemCount, newCount = 0 } = snapshot;
  const again = chosenAgain(history, itemCount + newCount, snapshot.repeatIntervals);
  snapshot.onTable?.(again.scores);
  return { scores: again.scores, only: again.chosen, history, strategy: strategyOf(record, session, {}) };
}

type UserState = {
  readonly record: UserRecord | undefined;
  readonly session: readonly ItemIndex[];
  readonly nowSeconds: number;
};

async function scoreForUser(user: UserState, snapshot: Snapshot): Promise<Scored> {
  const { session, nowSeconds } = user;
  // A model of sessions is evaluated on sessions alone, so a stored history before them would not be what was measured.
  const record = snapshot.sessions && session.length > 0 ? undefined : learntOf(user.record, snapshot);
  const history = historyOf(record, session, { nowSeconds, historyMax: snapshot.historyMax });
  const isEmpty = history.items.length === 0;
  const byValues = isEmpty && record?.values?.length ? snapshot.scoreByValues?.(record.values) : undefined;
  if (byValues) return { scores: byValues, history, strategy: "personalized" };
  const strategy = strategyOf(record, session, snapshot);
  if (isEmpty) return { scores: undefined, history, strategy };
  return { scores: await snapshot.score(history), best: snapshot.bestOf, history, strategy };
}

/** What is chosen at this time of the day comes earlier, where that makes better lists. */
function atThisHour(scored: Scored, { record, nowSeconds }: UserState, snapshot: Snapshot): Scored {
  const { itemHours, isHidden } = snapshot;
  const isNew = (item: ItemIndex) => !isHidden?.(item) && !record?.hasSeen(item);
  if (scored.scores && itemHours) moveToThisHour(scored.scores, itemHours, { nowSeconds, isNew });
  return scored;
}

/** What the user has chosen before gets the score that its odds of being chosen again deserve, where the version knows them. */
function withChosen(scored: Scored, { record, session, nowSeconds }: UserState, snapshot: Snapshot): Scored {
  const { repeatIntervals: repeats, sessions, isHidden } = snapshot;
  if (!scored.scores || !repeats?.weights || !repeats.odds || sessions) return scored;
  const stored = learntOf(record, snapshot);
  if (!stored?.items.length) return scored;
  const history = historyOf(stored, session, { nowSeconds, historyMax: REPEAT_HISTORY_MAX });
  const again = repeatScores(history, repeats, repeats.weights);
  joinChosen(scored.scores, again, { odds: repeats.odds, isHidden });
  return { ...scored, strategy: "personalized", again };
}

/** What may be chosen again is its own reason. With a model that ignores the user, no history led to other items. */
async function reasonsBy(
  { history, again }: Scored,
  items: readonly ItemIndex[],
  snapshot: Snapshot,
): Promise<Reason[][]> {
  const reasons = again && snapshot.personalizes === false ? [] : await reasonsFor(items, history, snapshot);
  return items.map((item, i) => (again?.has(item) ? [{ item, share: 1 }] : (reasons[i] ?? [])));
}

/** A record without what the user did with new items, which the model cannot read. */
function learntOf(record: UserRecord | undefined, { itemCount, newCount }: Snapshot): UserRecord | undefined {
  if (!record || !newCount) return record;
  const kept = [...record.items.keys()].filter((at) => record.items[at]! < itemCount);
  return { ...record, items: kept.map((at) => record.items[at]!), times: kept.map((at) => record.times[at]!) };
}

const historyOfItems = (items: readonly ItemIndex[]): History => ({ items, agesDays: items.map(() => 0) });

async function scoreLikeness(asked: readonly ItemIndex[], snapshot: Snapshot): Promise<Scored> {
  const scores = await similarityScores(asked, snapshot);
  return { scores, history: historyOfItems(asked), strategy: scores ? "similar" : "popular" };
}

/** Scores for what goes with these items, and what this is. */
function scoreTogether(asked: readonly ItemIndex[], snapshot: Snapshot): Scored | undefined {
  const found = togetherScores(asked, snapshot);
  if (!found) return undefined;
  snapshot.onTable?.(found.scores);
  return { ...found, history: historyOfItems(asked), strategy: "together" };
}

/** The items with these ids, each once. Throws Problem item_not_found if the model knows none of them. */
function itemsOf(ids: readonly ItemId[], snapshot: Snapshot): ItemIndex[] {
  const items = [...new Set(knownOf(ids, snapshot))];
  if (items.length > 0) return items;
  const code = "item_not_found";
  const [pointer, message] =
    ids.length > 1 ? ["/item_ids", "has no id of an item"] : ["/item_id", "is not the id of an item"];
  const names = ids.map((id) => JSON.stringify(id)).join(", ");
  const detail = ids.length > 1 ? "one of these ids" : `the id ${names}`;
  throw new Problem(code, `The model has no item with ${detail}.`, { errors: [{ pointer, code, message }] });
}

const knownOf = (ids: readonly ItemId[], snapshot: Snapshot) => ids.flatMap((id) => snapshot.indexOf(id) ?? []);

function unknownIn({ itemIds = [], shaping, basket = [] }: RankRequest, snapshot: Snapshot): number {
  const named = [...itemIds, ...(shaping?.pinned ?? []), ...basket];
  return named.length - knownOf(named, snapshot).length;
}

function popular({ itemCount, newCount = 0, onTable }: Snapshot): Float32Array {
  const scores = popularityScores(itemCount + newCount);
  onTable?.(scores);
  return scores;
}

/** The newest `historyMax` entries of the stored history followed by the session. */
export function historyOf(
  record: UserRecord | undefined,
  session: readonly ItemIndex[],
  { nowSeconds, historyMax }: { readonly nowSeconds: number; readonly historyMax: number },
): History {
  const stored = record ? record.times.map((time) => Math.max(0, nowSeconds - time) / 86_400) : [];
  const items = [...(record?.items ?? []), ...session];
  const agesDays = [...stored, ...session.map(() => 0)];
  const first = Math.max(0, items.length - historyMax);
  return { items: items.slice(first), agesDays: agesDays.slice(first) };
}

function strategyOf(
  record: UserRecord | undefined,
  session: readonly ItemIndex[],
  { personalizes }: Pick<Snapshot, "personalizes">,
): RankStrategy {
  if (personalizes === false) return "popular";
  if (record && record.items.length > 0) return "personalized";
  return session.length > 0 ? "session" : "popular";
}
