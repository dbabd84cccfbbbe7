/** The request fields that references take their values from. */
import * as z from "zod";
import { REFERENCE_NAME_MAX } from "./filter/references.ts";

const NAMES_MAX = 20;
const TEXT_CHARACTERS_MAX = 1000;
const LIST_ENTRIES_MAX = 100;

const Text = z
  .string()
  .max(TEXT_CHARACTERS_MAX)
  .refine((text) => text.isWellFormed(), "must be well-formed Unicode, without lone surrogates");
const Value = z.union([
  Text,
  z.number(),
  z.boolean(),
  z.null(),
  z.array(z.union([Text, z.number(), z.boolean()])).max(LIST_ENTRIES_MAX),
]);
export type SentValues = Readonly<Record<string, z.output<typeof Value>>>;

const values = () =>
  z
    .record(z.string().min(1).max(REFERENCE_NAME_MAX), Value)
    .refine((sent) => Object.keys(sent).length <= NAMES_MAX, `must have at most ${NAMES_MAX} values`);
const BOUNDS = `At most ${NAMES_MAX} values or lists of at most ${LIST_ENTRIES_MAX} values. Null is no value.`;

export const ReferenceFields = {
  user: values()
    .refine((sent) => !Object.hasOwn(sent, "id"), {
      path: ["id"],
      message: "is the id of the call's user: send it as user_id",
    })
    .optional()
    .meta({
      description: `The user's attributes, which \`{"$user": name}\` in filters and boosts stands for. Those that are not sent are taken from the model. ${BOUNDS}`,
      examples: [{ country: "DE", sizes: ["m", "l"] }],
      maxProperties: NAMES_MAX,
    }),
  context: values()
    .optional()
    .meta({
      description: `The situation of the call, which \`{"$context": name}\` in filters and boosts stands for. ${BOUNDS}`,
      examples: [{ language: "de" }],
      maxProperties: NAMES_MAX,
    }),
};
