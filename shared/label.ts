/** The label of interactions, and names of columns. */
import * as z from "zod";

export const Column = z
  .string()
  .min(1)
  .max(128)
  .refine(
    (name) => name.isWellFormed() && !name.includes("\0"),
    "must be well-formed Unicode without the character NUL",
  );
export const Label = z
  .discriminatedUnion("type", [
    z.strictObject({ type: z.literal("Binary"), name: Column }),
    z.strictObject({ type: z.literal("Rating"), name: Column, positive_from: z.number() }),
    z.strictObject({ type: z.literal("Weight"), name: Column }),
    z
      .strictObject({
        type: z.literal("Events"),
        name: Column,
        positive: z
          .array(Column)
          .min(1)
          .max(50)
          .refine((types) => new Set(types).size === types.length, "must name each type once"),
        weights: z.record(Column, z.number().positive().max(1e6)).optional(),
      })
      .refine(({ positive, weights = {} }) => Object.keys(weights).every((type) => positive.includes(type)), {
        path: ["weights"],
        message: "must be of types in positive",
      }),
  ])
  .meta({
    description:
      "The column that says whether an interaction was wanted. Binary: true or false, 1 or 0, or words for them such as yes and no. " +
      "Rating: numbers, wanted from positive_from on. Weight: numbers from 0 on that say how much an interaction counts, such as minutes " +
      "or pieces; 0 was not wanted. Events: the type of event, as a text or an integer; those in " +
      "positive were wanted, the strongest first, any other was not. They count as weights says (1 for a type that it does not name); " +
      "without weights, a training finds what types count. " +
      "What was not wanted counts as seen.",
    examples: [
      { type: "Binary", name: "label" },
      { type: "Rating", name: "stars", positive_from: 4 },
      { type: "Weight", name: "minutes" },
      { type: "Events", name: "event_type", positive: ["purchase", "cart"] },
    ],
  });
export type Label = z.infer<typeof Label>;
