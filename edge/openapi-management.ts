import * as z from "zod";
import {
  CURSOR_CHARACTERS_MAX,
  LIST_LIMIT_DEFAULT,
  LIST_LIMIT_MAX,
  MANAGEMENT_BODY_BYTES_MAX,
  NAME_PART_MAX,
} from "../shared/api.ts";
import { EvaluationAnswer, EvaluationQuestion, EvaluationReport, ScenarioAnswer } from "../shared/evaluation-report.ts";
import { ModelStatus } from "../shared/live-pointer.ts";
import { ModelRecord } from "../shared/model-record.ts";
import { ModelSpec, TrainBody } from "../shared/model-spec.ts";
import { RUNS_KEPT } from "../shared/run-record.ts";
import { SCENARIO_BYTES_MAX, Scenario } from "../shared/scenario.ts";
import { answer, at, BODY_FAULTS, type Call, FILTER_FAULTS, header, query, required } from "./openapi-call.ts";
import { Deleted, DryRun, List, Patch, Runs, Scenarios, Versions } from "./openapi-schemas.ts";

const nothing = { schema: z.strictObject({}), bytesMax: MANAGEMENT_BODY_BYTES_MAX, isRequired: false };
const SCENARIO_PATH = "/v0/models/{model_name}/scenarios/{scenario_name}";
const IF_MATCH = header(
  "if-match",
  z.string().max(200),
  "The ETag of the scenario to be changed; else precondition_failed.",
);
const STORED_SCENARIO = answer(200, z.looseObject(Scenario.shape), "The scenario. The header ETag names its content.");
const RECORD = answer(200, ModelRecord, "The model's record.");

/** The calls that the trainer answers. */
export const MANAGEMENT_CALLS: readonly Call[] = [
  {
    ...at("get", "/v0/models/{model_name}/scenarios", "listScenarios"),
    summary: "Lists the model's scenarios",
    description: "Their names only.",
    scope: "manage",
    answers: [answer(200, Scenarios, "Sorted by name.")],
    problems: ["unknown_field", "model_not_found"],
  },
  {
    ...at("get", SCENARIO_PATH, "viewScenario"),
    summary: "Shows a scenario",
    description: "The fields as they were stored. The header ETag names this content, for a change with If-Match.",
    scope: "manage",
    answers: [STORED_SCENARIO],
    problems: ["unknown_field", "model_not_found", "scenario_not_found"],
  },
  {
    ...at("put", SCENARIO_PATH, "storeScenario"),
    summary: "Creates or replaces a scenario: named defaults for rank calls",
    description:
      "It is checked against the live version, and takes effect at every edge within ten seconds. It outlives versions: parts that do " +
      "not fit a later version are left out of answers. The header x-scenario-problem and `scenario_problems` in the record say so.",
    scope: "manage",
    parameters: [IF_MATCH],
    body: { schema: Scenario, bytesMax: SCENARIO_BYTES_MAX, isRequired: true },
    answers: [STORED_SCENARIO],
    problems: [
      ...BODY_FAULTS,
      ...FILTER_FAULTS,
      "limit_out_of_range",
      "model_not_found",
      "scenario_not_found",
      "too_many_scenarios",
      "precondition_failed",
    ],
  },
  {
    ...at("delete", SCENARIO_PATH, "deleteScenario"),
    summary: "Deletes a scenario",
    description: "Rank calls that name it are then refused with scenario_not_found, at every edge within ten seconds.",
    scope: "manage",
    answers: [answer(200, z.object({ message: z.string(), name: z.string() }), "The scenario is deleted.")],
    problems: ["unknown_field", "invalid_json", "model_not_found", "scenario_not_found"],
  },
  {
    ...at("post", "/v0/models", "createModel"),
    summary: "Creates a model and starts its training",
    description:
      "The user ids and the item ids are two columns of the interaction query. Features are further columns of a source, each named " +
      "once. Without features, every further column is a feature. There must be at least 2 items and at least one positive interaction.",
    scope: "manage",
    parameters: [
      query(
        "dry_run",
        z.enum(["true", "false"]).default("false"),
        "true: connects, reads a sample within 25 s, reports the findings, and creates nothing. A customer has one dry run at a time. " +
          "A source that cannot be read is invalid_parameter, with the code of the reason as stage_code.",
      ),
      header(
        "idempotency-key",
        z.string().max(255),
        "A repetition of the request with the same key creates nothing. It returns the model's record, with the header idempotent-replayed.",
      ),
    ],
    body: required(ModelSpec),
    answers: [
      answer(201, ModelRecord, "The new model's record. The header Location has its address."),
      answer(200, DryRun, "The findings of a dry run. Nothing is created."),
    ],
    problems: [
      ...BODY_FAULTS,
      "model_exists",
      "idempotency_conflict",
      "quota_exceeded",
      "overloaded",
      "version_not_found",
    ],
  },
  {
    ...at("get", "/v0/models", "listModels"),
    summary: "Lists the customer's models",
    description: "All of them, in any state, page by page.",
    scope: "manage",
    parameters: [
      query("limit", z.int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT), "The largest number of records."),
      query("cursor", z.string().min(1).max(CURSOR_CHARACTERS_MAX), "`next_cursor` of the previous page."),
      query("status", ModelStatus, "Only models in this state."),
      query(
        "name_contains",
        z.string().min(1).max(NAME_PART_MAX),
        "Only models with this text in their name, in upper or lower case.",
      ),
    ],
    answers: [answer(200, List, "Records, sorted by name.")],
    problems: ["invalid_parameter", "unknown_field", "limit_out_of_range"],
  },
  {
    ...at("get", "/v0/models/{model_name}", "viewModel"),
    summary: "Shows a model's record",
    description: "Status, progress of a training, counts of the data, metrics and, after a failure, its reason.",
    scope: "manage",
    answers: [RECORD],
    problems: ["unknown_field", "model_not_found"],
  },
  {
    ...at("patch", "/v0/models/{model_name}", "changeModel"),
    summary: "Changes a model's schema, connectors or schedule (JSON merge patch)",
    description:
      "Fields that are not sent stay as they are, and null removes an optional one. A changed schema starts a training.",
    scope: "manage",
    body: required(Patch),
    answers: [RECORD],
    problems: [...BODY_FAULTS, "model_not_found", "model_busy", "version_not_found", "experiment_too_large"],
  },
  {
    ...at("delete", "/v0/models/{model_name}", "deleteModel"),
    summary: "Deletes a model and everything made for it",
    description: "Possible in every state. Ranking stops within seconds, and nothing can be restored.",
    scope: "manage",
    answers: [
      answer(200, Deleted, "The model is deleted."),
      answer(202, Deleted, "The model no longer ranks. Its run is being stopped, or its files are being removed."),
    ],
    problems: ["unknown_field", "invalid_json", "body_too_large", "model_not_found"],
  },
  {
    ...at("post", "/v0/models/{model_name}/train", "trainModel"),
    summary: "Starts a training now",
    description: "Reads the data again. The live version goes on ranking, and stays if the new one is worse.",
    scope: "manage",
    body: { ...nothing, schema: TrainBody },
    answers: [{ ...RECORD, status: 202 }],
    problems: [...BODY_FAULTS, "model_not_found", "model_busy"],
  },
  {
    ...at("get", "/v0/models/{model_name}/runs", "listRuns"),
    summary: "Lists the model's ended trainings, newest first",
    description:
      `The last ${RUNS_KEPT}, and the last ${RUNS_KEPT} whose version was refused, with their report. The training under way is in ` +
      "the model's record.",
    scope: "manage",
    answers: [answer(200, Runs, "Runs with their stages, outcome and, after a failure, its reason.")],
    problems: ["unknown_field", "model_not_found"],
  },
  {
    ...at("get", "/v0/models/{model_name}/versions", "listVersions"),
    summary: "Lists the versions that can be activated, newest first",
    description: "The newest ones and all of the last day. Older ones are removed.",
    scope: "manage",
    answers: [answer(200, Versions, "Versions.")],
    problems: ["unknown_field", "model_not_found"],
  },
  {
    ...at("post", "/v0/models/{model_name}/versions/{version}/activate", "activateVersion"),
    summary: "Makes a version live: roll back or forward within seconds",
    description:
      "The next training may replace it, if its version is not worse. A canary ends, also if the live version is activated again.",
    scope: "manage",
    body: nothing,
    answers: [RECORD],
    problems: [...BODY_FAULTS, "model_not_found", "version_not_found"],
  },
  {
    ...at("get", "/v0/models/{model_name}/evaluation", "viewEvaluation"),
    summary: "Shows the evaluation report of the live version",
    description: "How the data were split, which candidates were tried, how good each was and which was chosen.",
    scope: "manage",
    answers: [answer(200, EvaluationReport, "The report.")],
    problems: ["unknown_field", "model_not_found", "model_not_active"],
  },
  {
    ...at("post", "/v0/models/{model_name}/evaluation", "evaluateGiven"),
    summary: "Evaluates the live version for given users or items, for each value of an attribute, or with a scenario",
    description:
      "The body has one of `user_ids`, `item_ids`, `user_attribute`, `item_attribute` and `scenario`. The figures come from the same " +
      "ranked lists as the report. For users they tell how good their lists were, for items how often the item was found, and for an " +
      "attribute both, by value. Ids are written as in rank calls: text of at most 256 bytes, or integers within ±(2^53 − 1). For a " +
      "scenario, up to 5,000 lists are made again without and with it, and the answer has relevance, coverage, Gini coefficient and " +
      "popularity percentile of both, with 95 % intervals. This takes up to 20 seconds; a customer has one such question at a time.",
    scope: "manage",
    body: required(EvaluationQuestion),
    answers: [answer(200, z.union([EvaluationAnswer, ScenarioAnswer]), "The figures.")],
    problems: [...BODY_FAULTS, "unknown_attribute", "model_not_found", "model_not_active", "scenario_not_found"],
  },
];
