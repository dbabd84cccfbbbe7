/**
 * A canary: a new version serves a share of the users before it goes live. The other users whom it is compared with get the live version.
 */
import * as z from "zod";
import { ExperimentAnswer } from "./answer.ts";
import { Goal } from "./goal.ts";

const HOURS_MAX = 14 * 24;
export const CANARY_SHARE_MAX = 0.5;

/** The setting `canary` of a model. */
export const Canary = z
  .strictObject({
    share: z
      .number()
      .min(0.001)
      .max(CANARY_SHARE_MAX)
      .meta({ description: "The fraction of the users who get the new version first." }),
    hours: z
      .int()
      .min(1)
      .max(HOURS_MAX)
      .default(24)
      .meta({ description: "For how long. A worse version is taken back earlier." }),
    goal: Goal,
    guard: Goal.optional().meta({ description: "What must not get worse." }),
  })
  .meta({
    description:
      "Every new version that passes the gate first serves this share, and goes live after these hours unless it is worse. A worse " +
      "version is kept, and the record says why. Absent: a version that passes the gate goes live at once.",
    examples: [{ share: 0.05, hours: 24, goal: { type: "purchase", within_hours: 24 } }],
  });
export type Canary = z.infer<typeof Canary>;

const Time = z.string().max(40); // RFC 3339 UTC

/** What became of a version that began as a canary. */
export const CanaryState = z.object({
  version: z.string(),
  state: z.enum(["waiting", "running", "live", "kept"]).meta({
    description:
      "waiting: until the canary before it is decided. live: it has gone live. kept: it has not, and can still be activated.",
  }),
  reason: z.string().nullable().meta({ description: "Why the version is kept." }),
  share: z.number(),
  started_at: Time.nullable(),
  ends_at: Time.nullable().meta({ description: "When the version goes live unless it is worse." }),
  ended_at: Time.nullable(),
  report: ExperimentAnswer.nullable().meta({
    description:
      "What the users did, as of an experiment with the arms live and canary. Null before the first list is counted.",
  }),
});
export type CanaryState = z.infer<typeof CanaryState>;
