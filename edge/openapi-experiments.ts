/** The calls of experiments. */
import { z } from "zod";
import { EndExperiment, Experiment } from "../shared/experiment/experiment.ts";
import type { ProblemCode } from "../shared/problem.ts";
import { answer, at, BODY_FAULTS, type Call, required } from "./openapi-call.ts";
import { Time } from "./openapi-schemas.ts";

const PATH = "/v0/models/{model_name}/experiment";
const FAULTS: readonly ProblemCode[] = ["model_not_found", "model_not_active"];

const Lift = z.object({ value: z.number(), low: z.number(), high: z.number() }).nullable().meta({
  description: "Relative to the first arm, with an interval that holds at all times together. Null: too few users yet.",
});
const Goal = z.object({ type: z.string(), within_hours: z.int() });
const Verdict = z.enum(["running", "better", "worse", "no_difference"]);

export const StartedExperiment = z.looseObject({ ...Experiment.shape, started_at: Time, revision: z.int() });
export const EndedExperiment = z.object({ message: z.string(), keep: z.string().nullable() });
export const ExperimentAnswer = z.object({
  name: z.string(),
  started_at: Time,
  goal: Goal,
  guard: Goal.nullable(),
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
      exposed: z.int().meta({ description: "Users who saw a list of the arm." }),
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

export const EXPERIMENT_CALLS: readonly Call[] = [
  {
    ...at("put", PATH, "putExperiment"),
    summary: "Begins an experiment, or changes the shares of the running one",
    description:
      "A user always gets the same arm; an anonymous caller, the arm of the session_id. Calls for similar items take no part, nor do " +
      "calls that name a scenario where arms have scenarios. Sent again with the same name, it changes shares and adds or removes " +
      "arms, and as few users as possible change their arm. Every edge knows it within ten seconds.",
    scope: "manage",
    body: required(Experiment),
    answers: [answer(200, StartedExperiment, "The experiment. `revision` counts the changes of shares.")],
    problems: [
      ...BODY_FAULTS,
      ...FAULTS,
      "version_not_found",
      "scenario_not_found",
      "experiment_running",
      "experiment_too_large",
    ],
  },
  {
    ...at("get", PATH, "viewExperiment"),
    summary: "Shows which arm is better so far",
    description:
      "One may look every day and stop at the first verdict: the intervals hold at all times together, and all arms and the guard share " +
      "an error of 5 %. Users count by their first list, and goals by the events that you send.",
    scope: "manage",
    answers: [answer(200, ExperimentAnswer, "Counts, lifts and the verdict.")],
    problems: ["unknown_field", ...FAULTS, "experiment_not_found", "events_unavailable"],
  },
  {
    ...at("delete", PATH, "endExperiment"),
    summary: "Ends the experiment, and makes an arm permanent",
    description: "With `keep`, the arm's version is activated, and its scenario becomes that of calls that name none.",
    scope: "manage",
    body: { ...required(EndExperiment), isRequired: false },
    answers: [answer(200, EndedExperiment, "The experiment has ended.")],
    problems: [...BODY_FAULTS, ...FAULTS, "version_not_found", "experiment_not_found"],
  },
];
