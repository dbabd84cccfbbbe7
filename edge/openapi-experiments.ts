/** The calls of experiments. */
import * as z from "zod";
import { ExperimentAnswer } from "../shared/experiment/answer.ts";
import { EndExperiment, Experiment } from "../shared/experiment/experiment.ts";
import type { ProblemCode } from "../shared/problem.ts";
import { answer, at, BODY_FAULTS, type Call, required } from "./openapi-call.ts";
import { Time } from "./openapi-schemas.ts";

const PATH = "/v0/models/{model_name}/experiment";
const FAULTS: readonly ProblemCode[] = ["model_not_found", "model_not_active"];

export const StartedExperiment = z.looseObject({ ...Experiment.shape, started_at: Time, revision: z.int() });
export const EndedExperiment = z.object({ message: z.string(), keep: z.string().nullable() });
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
