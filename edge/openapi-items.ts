/** The calls that change a model's items between two trainings. */
import * as z from "zod";
import { CURSOR_CHARACTERS_MAX, LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX } from "../shared/api.ts";
import { ChangedValue, ITEMS_BODY_BYTES_MAX, ItemsBody } from "../shared/items/change-items.ts";
import { SEARCH_CHARACTERS_MAX, SEARCH_OFFSET_MAX } from "../shared/items/items-query.ts";
import { WORDS_MAX } from "../shared/items/words-in-text.ts";
import type { ProblemCode } from "../shared/problem.ts";
import { answer, at, BODY_FAULTS, type Call, FILTER_FAULTS, query } from "./openapi-call.ts";
import { ItemId, Time } from "./openapi-schemas.ts";

const ITEMS_FAULTS: readonly ProblemCode[] = ["model_not_found", "model_not_active", "items_unavailable"];
const New = z
  .literal(true)
  .optional()
  .meta({ description: "Only of an item that the live version was not trained with." });
const Since = Time.optional().meta({ description: "Only of a hidden item." });

export const ItemsAnswer = z.object({
  changed: z.int(),
  ignored: z.int(),
  new: z.int().optional().meta({
    description: "How many of the changed items the live version was not trained with. Absent: none.",
  }),
  placed: z
    .enum(["within_a_minute", "after_training"])
    .optional()
    .meta({
      description:
        "When the model scores the new items. `within_a_minute`: the trainer extends the live version by those that share attribute " +
        "values with other items. `after_training`: the version has no scores or no attributes, or no trainer answers. Until then new " +
        "items come last in lists by score, and have their turn in filters, pinned items, given candidates, exploration and items with " +
        "the same attribute values. Only with `new`.",
    }),
});
export const ChangedItems = z.object({
  items: z.array(
    z.object({
      item_id: ItemId,
      hidden: z.boolean(),
      hidden_since: Since,
      attributes: z.record(z.string(), z.object({ value: ChangedValue, changed_at: Time })),
    }),
  ),
  next_cursor: z.string().optional(),
});
const FoundItem = z.object({
  item_id: ItemId,
  hidden: z.boolean().meta({ description: "Whether it is in no list: hidden, or absent from the source of items." }),
  new: New,
  attributes: z.record(z.string(), z.unknown()).meta({
    description: "The values that rank calls use, without attributes that have none.",
    examples: [{ title: "Reading lamp", price: 40 }],
  }),
  changed: z
    .array(z.string())
    .optional()
    .meta({ description: "The attributes whose values the live version was not trained with. Absent: none." }),
});
export const FoundItems = z.object({
  items: z.array(FoundItem),
  total: z.int().meta({ description: "The number of items on all pages." }),
  version: z.string(),
});
const Count = z.int().nonnegative().optional();
export const ShownItem = z.object({
  item_id: ItemId,
  hidden: z.boolean(),
  hidden_since: Since,
  new: New,
  new_since: Time.optional().meta({ description: "When a new item was sent last." }),
  placed: z.boolean().optional().meta({
    description: "Only of a new item: whether the model scores it. Without a score it comes last in lists by score.",
  }),
  attributes: z.record(
    z.string(),
    z.object({
      value: ChangedValue.meta({ description: "The value that rank calls use; null: none." }),
      source: ChangedValue.meta({ description: "The value that the live version was trained with." }),
      changed_at: Time.optional().meta({ description: "Only of a changed value that holds." }),
    }),
  ),
  interactions: Count.meta({
    description:
      "How many interactions of the item the live version has learnt. Absent for a version of an earlier release.",
  }),
  positives: Count.meta({ description: "How many of them are positive." }),
  similar_items: z.array(FoundItem).meta({
    description:
      "The first ten of the items that are similar, the most similar first. Empty if nothing is known that they share.",
  }),
  version: z.string(),
});

export const ITEM_CALLS: readonly Call[] = [
  {
    ...at("patch", "/v0/models/{model_name}/items", "changeItems"),
    summary: "Changes attributes of items, hides items, or adds new ones, until the next training has read them",
    description:
      "Changes are durable before the answer, and at every edge within ten seconds: in filters, caps, boosts, metadata and similar " +
      "items. A hidden item is in no answer until it is shown again. A request with a fault is refused as a whole. A training whose " +
      "data are more than `items_lag_hours` newer than a changed value drops the value; hidden items stay hidden. An unknown item " +
      "with attributes is a new item. It is in lists at once, without a training, and lasts as long as a changed value. Keys with the " +
      "scope manage may change items too.",
    scope: "items",
    body: { schema: ItemsBody, bytesMax: ITEMS_BODY_BYTES_MAX, isRequired: true },
    answers: [
      answer(
        200,
        ItemsAnswer,
        "All changes are stored. `ignored` are older than what was stored of the same fields before.",
      ),
    ],
    problems: [...BODY_FAULTS, "unknown_attribute", "quota_exceeded", "overloaded", ...ITEMS_FAULTS],
  },
  {
    ...at("get", "/v0/models/{model_name}/items", "listItems"),
    summary: "Finds items by text and filter, or lists changed ones",
    description:
      "Finds items as rank calls see them: with changed values, new items, and hidden ones too. Popular items come first, new ones last; " +
      "an item whose id is the search comes before all others. With `changed=true` it lists changed and hidden items in the order of " +
      "their ids instead, also values that the live version has overtaken.",
    scope: "items",
    parameters: [
      query(
        "search",
        z.string().max(SEARCH_CHARACTERS_MAX).default(""),
        `At most ${WORDS_MAX} words. Each must be in the item's id or in one of its texts and categories, in any case.`,
      ),
      query("retrieval", z.string(), "A query as in rank calls, as JSON text."),
      query("offset", z.int().min(0).max(SEARCH_OFFSET_MAX).default(0), "How many items come before the answer."),
      query(
        "limit",
        z.int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT),
        "The largest number of items in an answer.",
      ),
      query("changed", z.literal("true"), "Lists changed items. Only `limit` and `cursor` go with it."),
      query("cursor", z.string().min(1).max(CURSOR_CHARACTERS_MAX), "The next_cursor of the answer before."),
    ],
    answers: [
      answer(
        200,
        z.union([FoundItems, ChangedItems]),
        "The items. Of changed items there are no more if `next_cursor` is absent.",
      ),
    ],
    problems: [
      ...["invalid_parameter", "unknown_field", "limit_out_of_range", "overloaded"],
      ...FILTER_FAULTS,
      ...ITEMS_FAULTS,
    ] as ProblemCode[],
  },
  {
    ...at("get", "/v0/models/{model_name}/items/{item_id}", "viewItem"),
    summary: "Shows an item as rank calls see it",
    description:
      "Each attribute has the value that counts and the value of the live version's data. Also shows how often the item was chosen, and " +
      "which items are most similar.",
    scope: "items",
    answers: [answer(200, ShownItem, "The item.")],
    problems: ["invalid_parameter", "unknown_field", "item_not_found", "overloaded", ...ITEMS_FAULTS],
  },
];
