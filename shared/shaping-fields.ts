/** The request fields that change a list after scoring, and the field that asks for more than ids. */
import * as z from "zod";
import { BOOST_DESCRIPTION, BOOST_EXAMPLES, BoostField, boostAt } from "./boost-fields.ts";
import { Id } from "./id-schema.ts";
import type { ItemId } from "./ids.ts";
import type { Shaping } from "./rank/compile-shaping.ts";

const BOOSTS_MAX = 10;
const CAPS_MAX = 3;
const CAP_MAX = 500;
const PINNED_MAX = 20;
const SEED_MAX = 2 ** 32 - 1;

export const Detail = z.enum(["scores", "metadata", "reasons", "history"]);
export type Detail = z.infer<typeof Detail>;

export const RETURN_MAX = 10;
export const Return = z
  .array(Detail)
  .max(RETURN_MAX)
  .optional()
  .meta({
    description:
      "If present, the answer is an object instead of an array. `scores`: standard deviations above the mean score of the catalog, " +
      "comparable within this answer. `metadata`: the item's attributes. `reasons`: at most three items of the history that " +
      "contributed most, with their shares of all positive contributions. `history`: what the list was computed from, newest first.",
    examples: [["scores", "reasons"]],
  });

const share = (description: string, examples: number[]) =>
  z.number().min(0).max(1).optional().meta({ description, examples });

export const ShapingFields = {
  boosts: z
    .array(BoostField)
    .max(BOOSTS_MAX)
    .optional()
    .meta({
      description: `At most ${BOOSTS_MAX} boosts. ${BOOST_DESCRIPTION}`,
      examples: BOOST_EXAMPLES,
    }),
  diversity: share(
    "From 0, which changes nothing, to 1: how much an item's likeness to those above it counts against it (maximal marginal " +
      "relevance over the best 5 × limit items). Likeness is the share of common attribute values.",
    [0.3],
  ),
  exploration: share(
    "The share of places, evenly spread, for items with few interactions: the less popular half of the catalog. They are drawn " +
      "among the best 5 × limit of these, with probabilities in proportion to e^score. The draw is the same for the same user, day and " +
      "version.",
    [0.1],
  ),
  seed: z
    .int()
    .min(0)
    .max(SEED_MAX)
    .optional()
    .meta({ description: "Decides the draw of `exploration` instead of user, day and version." }),
  max_per_value: z
    .record(z.string().max(1000), z.int().min(1).max(CAP_MAX))
    .refine((caps) => Object.keys(caps).length <= CAPS_MAX, `must name at most ${CAPS_MAX} attributes`)
    .optional()
    .meta({
      description:
        `At most this many items with the same value, for at most ${CAPS_MAX} attributes. Items without a value are not limited. The ` +
        "list is filled from further down.",
      examples: [{ category: 2 }],
      maxProperties: CAPS_MAX,
    }),
  pinned: z
    .array(Id)
    .max(PINNED_MAX)
    .optional()
    .meta({
      description:
        `At most ${PINNED_MAX} items that come first, in this order, if they are candidates. Items that the user has seen are ` +
        "candidates only with `exclude_seen: false`.",
      examples: [["i940"]],
    }),
};

/** The `return` field, and what ranking has to compute for it. */
export const detailsOf = (details: readonly Detail[] | undefined) => ({
  details,
  wanted: details && { scores: details.includes("scores"), reasons: details.includes("reasons") },
});

const Shaped = z.object(ShapingFields);

/** Undefined if no field is present, so that such a call takes no further step. Throws Problem for the query of a boost. */
export function shapingOf(fields: z.output<typeof Shaped>): Shaping | undefined {
  const { boosts, diversity, exploration, seed, max_per_value, pinned } = fields;
  const sent = [boosts, diversity, exploration, max_per_value, pinned];
  if (sent.every((field) => field === undefined)) return undefined;
  return {
    boosts: boosts?.map(boostAt),
    diversity,
    exploration,
    seed,
    maxPerValue: max_per_value && new Map(Object.entries(max_per_value)),
    pinned: pinned as readonly ItemId[] | undefined,
  };
}
