import type { Filter } from "./filter/parse-filter.ts";
import type { ItemId, ItemIndex, UserId } from "./ids.ts";
import type { History, Snapshot, UserRecord } from "./snapshot.ts";
import { firstCandidates, topK } from "./top-k.ts";

export type RankRequest = {
  readonly userId: UserId | undefined;
  readonly limit: number;
  /** Item ids of the interactions in the request, oldest first. Ids that the model does not know are skipped and counted. */
  readonly session: readonly ItemId[];
  readonly filter: Filter | undefined;
  readonly excludeSeen: boolean;
  /** Epoch seconds, for the ages of the history. */
  readonly nowSeconds: number;
};

/** `personalized` means by the stored history or, without one, by the user's attribute values. */
export type RankStrategy = "personalized" | "session" | "popular";

export type RankAnswer = {
  readonly items: ItemIndex[];
  readonly strategy: RankStrategy;
  readonly ignoredInteractions: number;
};

/** The items for this user, best first: at most `limit`, and none that the user has seen. */
export async function rank(request: RankRequest, snapshot: Snapshot): Promise<RankAnswer> {
  const isMatch = request.filter ? snapshot.compileFilter(request.filter) : () => true; // throws if the filter does not fit
  const session = request.session.flatMap((id) => snapshot.indexOf(id) ?? []);
  const record = request.userId === undefined ? undefined : await snapshot.userRecord(request.userId);
  const history = historyOf(record, session, { nowSeconds: request.nowSeconds, historyMax: snapshot.historyMax });

  const byValues = history.items.length === 0 && record?.values?.length ? snapshot.scoreByValues : undefined;
  const scores = byValues ? byValues(record!.values!) : await scoresOf(history, snapshot);

  const inSession = new Set(session);
  const isSeen = (item: ItemIndex) => request.excludeSeen && (record?.hasSeen(item) ?? false);
  // The filter comes first: one that passes few items decides for most, so the other tests run rarely.
  const isCandidate = (item: ItemIndex) => isMatch(item) && !inSession.has(item) && !isSeen(item);
  const items = scores
    ? topK(scores, request.limit, isCandidate)
    : firstCandidates(snapshot.itemCount, request.limit, isCandidate);
  const strategy = byValues ? "personalized" : strategyOf(record, session, snapshot);
  return { items, strategy, ignoredInteractions: request.session.length - session.length };
}

/** Undefined for an empty history. Then all items score the same, and the catalog's order is used: popularity with recency. */
const scoresOf = async (history: History, snapshot: Snapshot): Promise<Float32Array | undefined> =>
  history.items.length > 0 ? await snapshot.score(history) : undefined;

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
  { personalizes }: Snapshot,
): RankStrategy {
  if (personalizes === false) return "popular";
  if (record && record.items.length > 0) return "personalized";
  return session.length > 0 ? "session" : "popular";
}
