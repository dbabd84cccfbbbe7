import { z } from "zod";
import {
  CURSOR_CHARACTERS_MAX,
  EraseRequest,
  ITEM_IDS_MAX,
  LIST_LIMIT_DEFAULT,
  LIST_LIMIT_MAX,
  MANAGEMENT_BODY_BYTES_MAX,
  RANK_BODY_BYTES_MAX,
  RANK_LIMIT_DEFAULT,
  RANK_LIMIT_MAX,
  RankBody,
  SimilarBody,
} from "../shared/api.ts";
import { EvaluationAnswer, EvaluationQuestion, EvaluationReport, ScenarioAnswer } from "../shared/evaluation-report.ts";
import { EVENTS_BODY_BYTES_MAX, EventsBody } from "../shared/events/event.ts";
import { ModelStatus } from "../shared/live-pointer.ts";
import { ModelRecord } from "../shared/model-record.ts";
import { ModelName, ModelSpec } from "../shared/model-spec.ts";
import type { ProblemCode } from "../shared/problem.ts";
import { RUNS_KEPT } from "../shared/run-record.ts";
import { SCENARIO_BYTES_MAX, Scenario } from "../shared/scenario.ts";
import { Detail, RETURN_MAX } from "../shared/shaping-fields.ts";
import type { Answer, Call, Parameter } from "./openapi-call.ts";
import {
  Deleted,
  DryRun,
  Erased,
  EventsAnswer,
  EventsOfUser,
  Health,
  IdInList,
  IdInQuery,
  ItemIds,
  List,
  Live,
  Patch,
  RankedItems,
  Runs,
  Scenarios,
  Versions,
} from "./openapi-schemas.ts";

type Described = (name: string, schema: z.ZodType, description: string) => Parameter;
const at = (method: Call["method"], path: string, id: string) => ({ method, path, id });
const query: Described = (name, schema, description) => ({ name, in: "query", description, schema });
const header: Described = (name, schema, description) => ({ name, in: "header", description, schema });
const answer = (status: number, schema: z.ZodType, description: string): Answer => ({ status, description, schema });
const required = (schema: z.ZodType) => ({ schema, bytesMax: MANAGEMENT_BODY_BYTES_MAX, isRequired: true });
const nothing = { schema: z.strictObject({}), bytesMax: MANAGEMENT_BODY_BYTES_MAX, isRequired: false };

const BODY_FAULTS: readonly ProblemCode[] = [
  "invalid_json",
  "invalid_parameter",
  "missing_field",
  "unknown_field",
  "body_too_large",
  "unsupported_media_type",
];
const RANK_FAULTS: readonly ProblemCode[] = [
  "events_unavailable",
  "limit_out_of_range",
  "model_not_found",
  "model_not_active",
  "scenario_not_found",
  "user_record_unavailable",
  "overloaded",
];
const SHAPE_FAULTS: readonly ProblemCode[] = [
  "invalid_filter",
  "unknown_attribute",
  "filter_type_mismatch",
  "filter_too_large",
];
const RANKED = answer(
  200,
  z.union([ItemIds, RankedItems]),
  "Item ids, most relevant first; with `return`, an object. Fewer items than `limit`, or none, are a normal answer.",
);
const SCENARIO = query("scenario", ModelName, "A scenario, whose fields are the defaults of this call.");
const SCENARIO_PATH = "/v0/models/{model_name}/scenarios/{scenario_name}";
const IF_MATCH = header(
  "if-match",
  z.string().max(200),
  "The ETag of the scenario to be changed; else precondition_failed.",
);
const STORED_SCENARIO = answer(200, z.looseObject(Scenario.shape), "The scenario. The header ETag names its content.");
const USER = query("user_id", IdInQuery, "The user's id, as in the model's data.");
const Limit = z.int().min(1).max(RANK_LIMIT_MAX).default(RANK_LIMIT_DEFAULT);
const LIMIT = query("limit", Limit, "The largest number of ids.");
const RETURN = query(
  "return",
  z
    .array(Detail)
    .max(RETURN_MAX)
    .meta({ examples: [["scores", "reasons"]] }),
  "Any of scores, metadata and reasons, separated by commas. The answer is then an object.",
);
const ITEM_IDS = query(
  "item_ids",
  z
    .array(IdInList)
    .min(1)
    .max(ITEM_IDS_MAX)
    .meta({ examples: [["i3", "i8"]] }),
  "Only these items are ranked, also those that the user has seen. Ids that contain a comma need a body.",
);
const RECORD = answer(200, ModelRecord, "The model's record.");
const ERASED = answer(202, Erased, "From the time `honoured_by` on, no edge uses stored data of the user.");

export const CALLS: readonly Call[] = [
  {
    ...at("get", "/v0/models/{model_name}/rank", "rankByQuery"),
    summary: "Ranks items for a user",
    description:
      "Without user_id, and for a user that the model does not know, the answer is popular items. Items that the user has seen are " +
      "left out. A model whose only connector is Events answers from its first positive event on: before its first version with the " +
      "items of the most users, counted seconds ago, which have no attributes.",
    scope: "rank",
    parameters: [USER, LIMIT, RETURN, SCENARIO, ITEM_IDS],
    answers: [RANKED],
    problems: ["invalid_parameter", "unknown_field", ...RANK_FAULTS],
  },
  {
    ...at("post", "/v0/models/{model_name}/rank", "rankByBody"),
    summary: "Ranks items for a user, a session or both, among those that match a retrieval query",
    description:
      "`interactions` are the user's latest positive interactions, oldest first. `retrieval` is a query over item attributes, in a " +
      "subset of MongoDB's query language.",
    scope: "rank",
    body: { schema: RankBody, bytesMax: RANK_BODY_BYTES_MAX, isRequired: false },
    answers: [RANKED],
    problems: [...BODY_FAULTS, "too_many_interactions", ...SHAPE_FAULTS, ...RANK_FAULTS],
  },
  {
    ...at("get", "/v0/models/{model_name}/similar_items", "similarByQuery"),
    summary: "Lists items similar to an item",
    description: "With user_id, items that this user has seen are left out. The item itself is never in the list.",
    scope: "rank",
    parameters: [{ ...query("item_id", IdInQuery, "The item's id."), isRequired: true }, USER, LIMIT, RETURN, SCENARIO],
    answers: [RANKED],
    problems: ["invalid_parameter", "missing_field", "unknown_field", "item_not_found", ...RANK_FAULTS],
  },
  {
    ...at("post", "/v0/models/{model_name}/similar_items", "similarByBody"),
    summary: "Lists items similar to an item, among those that match a retrieval query",
    description:
      "Similar are the items that the model favours more than usual after this item. Items that nobody has chosen yet get items with " +
      "the same attribute values.",
    scope: "rank",
    body: { schema: SimilarBody, bytesMax: RANK_BODY_BYTES_MAX, isRequired: true },
    answers: [RANKED],
    problems: [...BODY_FAULTS, "item_not_found", ...SHAPE_FAULTS, ...RANK_FAULTS],
  },
  {
    ...at("post", "/v0/events", "postEvents"),
    summary: "Stores what users have done",
    description:
      "Events are durable before the answer. A request with a fault is refused as a whole. The user's next rank call, at any edge, has " +
      "the events in its history and leaves out seen items, if the model listens to them (`schema.interaction.events`). Repeating a " +
      "request within a week counts nothing twice if the events have an `event_id`, or the request has the header Idempotency-Key. " +
      "Events of erased users are not stored.",
    scope: "events",
    parameters: [
      header(
        "idempotency-key",
        z.string().max(255),
        "Gives ids to events without `event_id`: the key and the position.",
      ),
    ],
    body: { schema: EventsBody, bytesMax: EVENTS_BODY_BYTES_MAX, isRequired: true },
    answers: [
      answer(
        200,
        EventsAnswer,
        "All events are stored. `duplicates` were stored before and are not counted as accepted.",
      ),
    ],
    problems: [...BODY_FAULTS, "events_unavailable", "overloaded"],
  },
  {
    ...at("get", "/v0/users/{user_id}/events", "viewUserEvents"),
    summary: "Shows a user's recent events, the newest first",
    description:
      "At most 500 of the events that are live or at most eight days old. Older ones are part of the models that have learnt them.",
    scope: "manage",
    answers: [answer(200, EventsOfUser, "Events.")],
    problems: ["unknown_field", "events_unavailable"],
  },
  {
    ...at("get", "/v0/live", "viewLive"),
    summary: "Shows what happened in the last hour, minute by minute",
    description:
      "Events by type, lists by strategy, refused calls by problem code, and the latency of lists. `*` stands for all types beyond 50. " +
      "Lists and refusals are counted by the isolates of the Worker, which send their counts after some seconds. `newest_events` are " +
      "at most 20.",
    scope: "manage",
    answers: [answer(200, Live, "The last hour.")],
    problems: ["unknown_field", "events_unavailable"],
  },
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
      ...SHAPE_FAULTS,
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
    problems: [...BODY_FAULTS, "model_exists", "idempotency_conflict", "quota_exceeded", "overloaded"],
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
    problems: [...BODY_FAULTS, "model_not_found", "model_busy"],
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
    body: nothing,
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
    description: "The next training may replace it, if its version is not worse.",
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
  {
    ...at("post", "/v0/users/erase", "eraseGivenUser"),
    summary: "Erases the user whose id is in the body, which may be any id",
    description:
      "The same as deleting `/v0/users/{user_id}`, also for the ids `.` and `..`, which cannot be sent in a path.",
    scope: "manage",
    body: required(EraseRequest),
    answers: [ERASED],
    problems: [...BODY_FAULTS, "events_unavailable"],
  },
  {
    ...at("delete", "/v0/users/{user_id}", "eraseUser"),
    summary: "Erases a user from all of the customer's models, for good",
    description:
      "The user is then ranked as an unknown user: at once where the call was made, everywhere within ten seconds. Every later " +
      "training leaves the user's rows out, even if the source still has them. Only a salted hash of the id is kept, to recognise " +
      "the user's rows. Repeating the call changes nothing. An erasure cannot be undone.",
    scope: "manage",
    answers: [ERASED],
    problems: ["unknown_field", "invalid_json", "body_too_large", "events_unavailable"],
  },
  {
    ...at("get", "/health/live", "live"),
    summary: "Says that the Worker runs",
    description: "Answers without reading anything.",
    scope: null,
    answers: [answer(200, Health, "The Worker runs.")],
    problems: [],
  },
  {
    ...at("get", "/health/ready", "ready"),
    summary: "Says whether models can be read",
    description: "Reads from the models' bucket.",
    scope: null,
    answers: [answer(200, Health, "Models can be read.")],
    problems: ["artifact_unavailable"],
  },
];
