import type { RankParameters } from "../shared/api.ts";
import { attributesOf } from "../shared/attribute-values.ts";
import { rankIdOf } from "../shared/events/rank-id.ts";
import { type ItemIndex, itemIdToJson } from "../shared/ids.ts";
import type { RankAnswer } from "../shared/rank.ts";
import type { LoadedVersion } from "./versions/load-version.ts";

/** The beginning of a UUID, with 60 random bits. A whole one would make the name longer than an event may send. */
const RANDOM_CHARACTERS = 18;

/** Limit on the characters of x-missing-references. */
const MISSING_CHARACTERS_MAX = 1000;

/** Scores, shares and ages are rounded to four decimals. */
const rounded = (value: number) => Math.round(value * 1e4) / 1e4;

type Ranked = {
  readonly parameters: RankParameters;
  readonly ranked: RankAnswer;
  /** Headers that the steps before have made. */
  readonly headers: Readonly<Record<string, string>>;
  /** The arm of the model's experiment. */
  readonly arm: string | undefined;
};

export type AnswerParts = {
  readonly headers: Readonly<Record<string, string>>;
  /** An array of item ids or, if the call asks for more, an object. */
  readonly body: object;
  /** How the call was answered, for the log. */
  readonly logged: Readonly<Record<string, string | number>>;
};

/** The answer to a rank call. */
export function answerParts(loaded: LoadedVersion, { parameters, ranked, headers, arm }: Ranked): AnswerParts {
  const { strategy, items, ignoredInteractions, unknownItems, missingReferences } = ranked;
  const { version } = loaded.target.live;
  const rankId = rankIdOf(version, crypto.randomUUID().slice(0, RANDOM_CHARACTERS));
  const { itemIds, basket, shaping } = parameters;
  const hasNames = (itemIds ?? basket ?? shaping?.pinned) !== undefined;
  return {
    headers: {
      ...headers,
      "x-rank-id": rankId,
      "x-model-version": version,
      "x-rank-strategy": strategy,
      ...(arm !== undefined && { "x-arm": arm }),
      "x-ignored-interactions": String(ignoredInteractions),
      ...(hasNames && { "x-unknown-items": String(unknownItems) }),
      ...missingHeader(missingReferences),
    },
    body: bodyOf(loaded, { parameters, ranked, rankId, arm }),
    logged: { version, rank_id: rankId, strategy, item_count: items.length },
  };
}

/** The header that names references without a value, if there are any. */
export function missingHeader(names: Iterable<string> = []): Readonly<Record<string, string>> {
  const text = [...names].join(", ").slice(0, MISSING_CHARACTERS_MAX);
  return text === "" ? {} : { "x-missing-references": text };
}

type Answered = Pick<Ranked, "parameters" | "ranked" | "arm"> & { readonly rankId: string };

function bodyOf(loaded: LoadedVersion, { parameters, ranked, rankId, arm }: Answered): object {
  const { items, history } = ranked;
  const isShown = ({ item }: { readonly item: ItemIndex }) => !loaded.isHidden?.(item);
  const idOf = (item: ItemIndex) => itemIdToJson(loaded.catalog.idAt(item), loaded.catalog.itemIdType);
  if (parameters.details === undefined) return items.map(idOf);
  const isWanted = new Set(parameters.details);
  const metadataOf = (item: ItemIndex) =>
    isWanted.has("metadata") && { metadata: loaded.attributes ? attributesOf(loaded.attributes, item) : {} };
  return {
    items: items.map((item, i) => ({
      item_id: idOf(item),
      ...(isWanted.has("scores") && { score: rounded(ranked.scores![i]!) }),
      ...metadataOf(item),
      ...(isWanted.has("reasons") && {
        reasons: ranked
          .reasons![i]!.filter(isShown)
          .map((reason) => ({ item_id: idOf(reason.item), share: rounded(reason.share) })),
      }),
    })),
    ...(isWanted.has("history") && {
      history: history.items
        .map((item, i) => ({ item, ageDays: history.agesDays[i]! }))
        .filter(isShown)
        .map(({ item, ageDays }) => ({ item_id: idOf(item), age_days: rounded(ageDays), ...metadataOf(item) }))
        .reverse(),
    }),
    rank_id: rankId,
    version: loaded.target.live.version,
    strategy: ranked.strategy,
    scenario: parameters.scenario ?? null,
    arm: arm ?? null,
    ignored_interactions: ranked.ignoredInteractions,
    unknown_items: ranked.unknownItems,
  };
}
