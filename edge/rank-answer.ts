import type { Context } from "hono";
import type { RankParameters } from "../shared/api.ts";
import { attributesOf } from "../shared/attribute-values.ts";
import { rankIdOf } from "../shared/events/rank-id.ts";
import { type ItemIndex, itemIdToJson } from "../shared/ids.ts";
import type { RankAnswer } from "../shared/rank.ts";
import type { EdgeEnv } from "./isolate.ts";
import type { LoadedVersion } from "./versions/load-version.ts";

/** The beginning of a UUID, with 60 random bits. A whole one would make the name longer than an event may send. */
const RANDOM_CHARACTERS = 18;

/** Scores, shares and ages are rounded to four decimals. */
const rounded = (value: number) => Math.round(value * 1e4) / 1e4;

type Ranked = { readonly answer: RankAnswer; readonly parameters: RankParameters };

/** An array of item ids or, if the call asks for more, an object. */
export function rankAnswer(c: Context<EdgeEnv>, loaded: LoadedVersion, { answer, parameters }: Ranked): Response {
  const { strategy, items, history, ignoredInteractions, unknownItems } = answer;
  const { version } = loaded.target.live;
  const rankId = rankIdOf(version, crypto.randomUUID().slice(0, RANDOM_CHARACTERS));
  c.header("x-rank-id", rankId);
  c.header("x-model-version", version);
  c.header("x-rank-strategy", strategy);
  c.header("x-ignored-interactions", String(ignoredInteractions));
  if (parameters.itemIds || parameters.shaping?.pinned) c.header("x-unknown-items", String(unknownItems));
  c.set("ranked", { version, rank_id: rankId, strategy, item_count: items.length });
  const idOf = (item: ItemIndex) => itemIdToJson(loaded.catalog.idAt(item), loaded.catalog.itemIdType);
  if (parameters.details === undefined) return c.json(items.map(idOf));
  const isWanted = new Set(parameters.details);
  const metadataOf = (item: ItemIndex) =>
    isWanted.has("metadata") && { metadata: loaded.attributes ? attributesOf(loaded.attributes, item) : {} };
  return c.json({
    items: items.map((item, i) => ({
      item_id: idOf(item),
      ...(isWanted.has("scores") && { score: rounded(answer.scores![i]!) }),
      ...metadataOf(item),
      ...(isWanted.has("reasons") && {
        reasons: answer.reasons![i]!.map((reason) => ({ item_id: idOf(reason.item), share: rounded(reason.share) })),
      }),
    })),
    ...(isWanted.has("history") && {
      history: history.items
        .map((item, i) => ({ item_id: idOf(item), age_days: rounded(history.agesDays[i]!), ...metadataOf(item) }))
        .reverse(),
    }),
    rank_id: rankId,
    version,
    strategy,
    scenario: parameters.scenario ?? null,
    arm: null,
    ignored_interactions: ignoredInteractions,
    unknown_items: unknownItems,
  });
}
