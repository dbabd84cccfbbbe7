/** A lasting holdout: a small share of the users gets popular items or an older version. They show what the model earns in all. */
import * as z from "zod";
import { Lift } from "./answer.ts";
import { Goal } from "./goal.ts";

/** The setting `holdout` of a model. */
export const Holdout = z
  .strictObject({
    share: z.number().min(0.01).max(0.05).meta({ description: "The fraction of the users who are held out." }),
    version: z.string().max(64).optional().meta({ description: "The version that they get. Default: popular items." }),
    goal: Goal,
  })
  .meta({
    description:
      "This share of the users lastingly gets popular items, or an older version, and takes no part in experiments and canaries. The " +
      "record then says in `earnings` what the model earns in all. A changed setting holds other users out.",
    examples: [{ share: 0.02, goal: { type: "purchase", within_hours: 24 } }],
  });
export type Holdout = z.infer<typeof Holdout>;

const Time = z.string().max(40); // RFC 3339 UTC
const Count = z.object({ exposed: z.int(), reached: z.int(), rate: z.number() });

/** What the model earns in all. */
export const Earnings = z.object({
  from: Time.meta({
    description:
      "Users count once in four weeks. These are the last four whole weeks, or the first ones while they are not over.",
  }),
  until: Time,
  holdout: Count.meta({ description: "Users without the model, and how many of them reached the goal." }),
  model: Count.meta({ description: "Some of the others, at most four times as many." }),
  lift: Lift.meta({
    description:
      "How many more of the users reach the goal with the model, relative to those without. Null: too few users yet.",
  }),
  more_per_1000_users: z
    .number()
    .nullable()
    .meta({ description: "The same as a number of users, of 1000 who saw a list." }),
  problem: z.string().nullable().meta({ description: "Why nobody is held out, although the setting says so." }),
});
export type Earnings = z.infer<typeof Earnings>;
