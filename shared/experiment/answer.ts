/** The report on an experiment, as answers have it. */
import * as z from "zod";

const Time = z.string().meta({ format: "date-time" });
export const Lift = z
  .object({
    value: z.number(),
    low: z.number(),
    high: z.number(),
    variance_removed: z
      .number()
      .optional()
      .meta({
        description:
          "The part of the variance, 0 to 1, that users' activity before their first list explains. The lift is adjusted for it " +
          "(CUPED), so it differs a little from the ratio of the rates.",
      }),
  })
  .nullable()
  .meta({
    description:
      "Relative to the first arm, with an interval that holds at all times together. Null: too few users yet.",
  });
const Goal = z.object({ type: z.string(), within_hours: z.int() });
const Verdict = z.enum(["running", "better", "worse", "no_difference"]);

export const ExperimentAnswer = z.object({
  name: z.string(),
  started_at: Time,
  goal: Goal,
  guard: Goal.nullable(),
  sample: z.number().optional().meta({
    description: "The fraction of the users who are counted here. Below 1, the counts are those of a sample.",
  }),
  verdict: z.enum([...Verdict.options, "sample_ratio_mismatch"]).meta({
    description:
      "better as soon as one arm is. sample_ratio_mismatch: users are not divided as the shares say, so nothing can be concluded.",
  }),
  sample_ratio_mismatch: z.boolean(),
  arms: z.array(
    z.object({
      name: z.string(),
      share: z.number(),
      version: z.string().nullable().meta({ description: "Null: the live one." }),
      scenario: z.string().nullable(),
      strategy: z.string().nullable(),
      exposed: z.int().meta({ description: "Users who saw a list of the arm; of the sample, if there is one." }),
      reached: z.int().meta({ description: "How many of them reached the goal in time." }),
      rate: z.number(),
      guard_reached: z.int().optional(),
      guard_rate: z.number().optional(),
      lift: Lift.optional(),
      guard_lift: Lift.optional(),
      verdict: Verdict.optional(),
    }),
  ),
  users_to_detect_5_percent: z
    .int()
    .nullable()
    .meta({ description: "Further users of each arm. Null: the rate is not known yet." }),
  days_to_detect_5_percent: z
    .number()
    .nullable()
    .meta({ description: "How long that takes if users come as fast as so far." }),
  history: z
    .array(
      z.object({
        until: Time,
        arms: z.array(z.object({ name: z.string(), exposed: z.int(), reached: z.int(), lift: Lift.optional() })),
      }),
    )
    .meta({
      description:
        "The counts of the users whose first list came until then. There is one entry for each minute with new users, after three hours " +
        "for each hour, and after a week for each day (UTC).",
    }),
});
export type ExperimentAnswer = z.infer<typeof ExperimentAnswer>;
