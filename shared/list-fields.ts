/** The request fields that say which part of a list a call gets, and what the items that the user has seen mean for it. */
import * as z from "zod";
import { Id } from "./id-schema.ts";
import type { ItemId } from "./ids.ts";
import { problemOf, shown } from "./parse-request.ts";

export const OFFSET_MAX = 2000;
const OFFSET_SENTENCE = `must be an integer from 0 to ${OFFSET_MAX}`;

export const OFFSET_MEANING =
  `How many items of the list come before this answer, 0 to ${OFFSET_MAX}: with \`limit\`, the next page. For the same version, seed and ` +
  "history no item is on two pages, and an offset beyond the end gives an empty list. Caps and pins hold for all pages together. With " +
  "`diversity` or `exploration` each page is made from the best items that the pages before it leave, so `offset` must be a multiple " +
  "of `limit`, the same for every page.";

export const ListFields = {
  offset: z
    .int({ error: (issue) => `${OFFSET_SENTENCE}, found ${shown(issue.input)}` })
    .min(0, OFFSET_SENTENCE)
    .max(OFFSET_MAX, OFFSET_SENTENCE)
    .optional()
    .meta({ description: `${OFFSET_MEANING} Default: 0.`, examples: [0] }),
};

type PageFields = { readonly limit: number } & {
  readonly [Name in "offset" | "diversity" | "exploration"]?: number | undefined;
};

/** The offset of a page. Throws Problem where pages of this limit could not continue each other. */
export function offsetOf({ limit, offset, diversity = 0, exploration = 0 }: PageFields): number | undefined {
  if (offset === undefined || diversity + exploration === 0 || offset % limit === 0) return offset;
  const message = `must be a multiple of limit, ${limit}, with diversity or exploration, found ${offset}`;
  throw problemOf([{ pointer: "/offset", code: "invalid_parameter", message }]);
}

export const SEEN_MEANING =
  "What becomes of items that the user has seen: `exclude` leaves them out, `include` does not, and `only` ranks what the user has " +
  "chosen before and may want again, by how often, how lately, at which times and after how long items are chosen again: the stored " +
  "history, live events and the call's own `interactions`. Nothing else is in the answer then, pinned items included. Where users " +
  "choose items again, `include` places them by the odds that they do. Default: exclude, but include with `item_ids`.";
export const STRATEGY_MEANING =
  "`popular` ranks popular items, `trending` those whose part of all positive interactions has grown most in the last 48 hours over " +
  "the 28 days before, live events included, and `newest` the newest ones, whoever asks. Growth is a lower bound, so that a few " +
  "choices are no trend; behind items that have grown come popular ones. The model names the time of items in " +
  "`schema.item.created_at`. Default: `auto`.";

/** The fields of a call for a list that is no list of similar items. */
export const RankListFields = {
  seen: z.enum(["exclude", "include", "only"]).optional().meta({ description: SEEN_MEANING }),
  strategy: z.enum(["auto", "popular", "trending", "newest"]).optional().meta({ description: STRATEGY_MEANING }),
};

export const BASKET_MAX = 20;
export const BASKET_MEANING =
  `A basket of 1 to ${BASKET_MAX} items in place of \`item_id\`. ` +
  "Ids unknown to the model are skipped and counted.";
export const RELATION_MEANING =
  "`similar` items may be chosen instead, `together` items in addition: they were chosen in the same session or, in data without " +
  "sessions, within 24 hours by the same user, more often than by chance. Only such items are in the list. Where the data have none, " +
  "the answer is similar items, and its strategy says so. Default: similar.";

/** The fields of a call for similar items that say similar to what. */
export const SimilarFields = {
  item_id: Id.optional().meta({ description: "The item. Either this or `item_ids` is required." }),
  item_ids: z
    .array(Id)
    .min(1)
    .max(BASKET_MAX)
    .optional()
    .meta({ description: BASKET_MEANING, examples: [["i3", "i8"]] }),
  relation: z.enum(["similar", "together"]).optional().meta({ description: RELATION_MEANING }),
};

type SimilarTo = {
  readonly item_id?: string | undefined;
  readonly item_ids?: readonly string[] | undefined;
  readonly relation?: "similar" | "together" | undefined;
};

/** The items that others are wanted for; references to the item mean the last one. Throws Problem unless they are named once. */
export function basketOf({ item_id, item_ids, relation }: SimilarTo) {
  if (item_id === undefined && item_ids === undefined)
    throw problemOf([{ pointer: "/item_id", code: "missing_field", message: "is missing: send item_id or item_ids" }]);
  if (item_id !== undefined && item_ids !== undefined) {
    const message = "must not be sent with item_id";
    throw problemOf([{ pointer: "/item_ids", code: "invalid_parameter", message }]);
  }
  return {
    similarTo: (item_ids?.at(-1) ?? item_id) as ItemId,
    ...(item_ids && { basket: item_ids as readonly ItemId[] }),
    ...(relation === "together" && { relation }),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** The defaults of a call for a list. Both fields about seen items are left out where the call sends one of them. */
export function defaultsOfLists({ seen, exclude_seen, ...others }: Fields, sent: object): Fields {
  const isSent = "seen" in sent || "exclude_seen" in sent;
  return isSent ? others : { ...others, seen, exclude_seen };
}

/** The defaults of a call for similar items, which knows neither `strategy` nor `seen`: `exclude_seen` says the same. */
export const defaultsOfSimilar = ({ strategy: _, seen, ...others }: Fields): Fields => ({
  ...others,
  ...(seen !== undefined && { exclude_seen: seen === "exclude" }),
});

type SeenFields = {
  readonly seen?: "exclude" | "include" | "only" | undefined;
  readonly exclude_seen?: boolean | undefined;
  readonly item_ids?: readonly unknown[] | undefined;
};

/** Whether seen items are left out, and whether only chosen ones are ranked. Throws Problem where both fields contradict each other. */
export function seenOf({ seen, exclude_seen, item_ids }: SeenFields) {
  if (seen === undefined) return { excludeSeen: exclude_seen ?? item_ids === undefined };
  const excludeSeen = seen === "exclude";
  if (exclude_seen !== undefined && exclude_seen !== excludeSeen) {
    const message = `contradicts exclude_seen, which is ${exclude_seen}; send only one of them`;
    throw problemOf([{ pointer: "/seen", code: "invalid_parameter", message }]);
  }
  return { excludeSeen, ...(seen === "only" && { onlyChosen: true }) };
}
