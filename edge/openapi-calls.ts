import { z } from "zod";
import {
  LIST_LIMIT_DEFAULT,
  LIST_LIMIT_MAX,
  MANAGEMENT_BODY_BYTES_MAX,
  RANK_BODY_BYTES_MAX,
  RANK_LIMIT_DEFAULT,
  RANK_LIMIT_MAX,
  RankBody,
} from "../shared/api.ts";
import { EvaluationAnswer, EvaluationQuestion, EvaluationReport } from "../shared/evaluation-report.ts";
import { ID_BYTES_MAX } from "../shared/ids.ts";
import type { Scope } from "../shared/key-record.ts";
import { ModelStatus } from "../shared/live-pointer.ts";
import { AttributeDescription, ModelRecord } from "../shared/model-record.ts";
import { ConnectorConfig, ModelSpec } from "../shared/model-spec.ts";
import type { ProblemCode } from "../shared/problem.ts";

/** What a successful answer holds. */
export type Answer = { readonly status: number; readonly description: string; readonly schema: z.ZodType };

export type Parameter = {
  readonly name: string;
  readonly in: "query" | "header";
  readonly description: string;
  readonly schema: z.ZodType;
};

/** One call of the API, as it is published. Path parameters are read from the path. */
export type Call = {
  readonly method: "get" | "post" | "patch" | "delete";
  readonly path: string;
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** Null: needs no key. */
  readonly scope: Scope | null;
  readonly parameters?: readonly Parameter[];
  readonly body?: { readonly schema: z.ZodType; readonly bytesMax: number; readonly isRequired: boolean };
  readonly answers: readonly Answer[];
  /** Besides those of every call with its scope. */
  readonly problems: readonly ProblemCode[];
};

const Time = z.string().meta({ format: "date-time" });
const ItemIds = z.array(z.union([z.string(), z.int()])).max(RANK_LIMIT_MAX);
const List = z.object({ models: z.array(ModelRecord), next_cursor: z.string().optional() });
const Deleted = z.object({ message: z.string(), model_name: z.string(), status: ModelStatus.optional() });
const Versions = z.object({
  versions: z.array(z.looseObject({ version: z.string(), created_at: Time, live: z.boolean() })),
});
const Erased = z.object({ message: z.string(), user_id: z.string(), honoured_by: Time });
const DryRun = z.looseObject({
  model_name: z.string(),
  ok: z.boolean(),
  item_id_type: z.enum(["string", "integer"]).nullable(),
  queries: z.array(
    z.looseObject({
      pointer: z.string(),
      columns: z.array(z.object({ name: z.string(), type: z.string() })),
      sample_size: z.number(),
      sample: z.array(z.looseObject({})),
      estimated_rows: z.number().nullable(),
      estimated_bytes: z.number().nullable(),
      estimated_cost_usd: z.number().nullable(),
    }),
  ),
  item_attributes: z.array(AttributeDescription),
  user_attributes: z.array(AttributeDescription),
  predicted_training: z.object({ rows: z.number(), seconds: z.number() }).nullable(),
  problems: z.array(z.object({ pointer: z.string(), severity: z.string(), code: z.string(), message: z.string() })),
});
const Patch = z.object({
  connector_configs: z.array(ConnectorConfig).optional(),
  schema: z.looseObject({}).optional(),
  train_schedule: z.string().nullable().optional(),
});
const Nothing = z.strictObject({});
const Health = z.object({ status: z.string() });

const BODY_FAULTS: readonly ProblemCode[] = [
  "invalid_json",
  "invalid_parameter",
  "missing_field",
  "unknown_field",
  "body_too_large",
  "unsupported_media_type",
];
const RANK_FAULTS: readonly ProblemCode[] = [
  "limit_out_of_range",
  "model_not_found",
  "model_not_active",
  "user_record_unavailable",
  "overloaded",
];
const RANKED = {
  status: 200,
  description: "Item ids, most relevant first; fewer than asked or none is normal.",
  schema: ItemIds,
};
const RECORD = { status: 200, description: "The model's record.", schema: ModelRecord };
const nothing = { schema: Nothing, bytesMax: MANAGEMENT_BODY_BYTES_MAX, isRequired: false };

export const CALLS: readonly Call[] = [
  {
    method: "get",
    path: "/v0/models/{model_name}/rank",
    id: "rankByQuery",
    summary: "Ranks items for a user",
    description:
      "Without user_id, or for a user the model has never seen, popular items. Items the user has seen are left out.",
    scope: "rank",
    parameters: [
      {
        name: "user_id",
        in: "query",
        description: "The user's id, as in the model's data.",
        schema: z.string().max(ID_BYTES_MAX),
      },
      {
        name: "limit",
        in: "query",
        description: "How many ids at most.",
        schema: z.int().min(1).max(RANK_LIMIT_MAX).default(RANK_LIMIT_DEFAULT),
      },
    ],
    answers: [RANKED],
    problems: ["invalid_parameter", "unknown_field", ...RANK_FAULTS],
  },
  {
    method: "post",
    path: "/v0/models/{model_name}/rank",
    id: "rankByBody",
    summary: "Ranks items for a user, a session or both, among those that match a retrieval query",
    description:
      "interactions: the latest positive ones, oldest first. retrieval: a subset of MongoDB's query language over item attributes.",
    scope: "rank",
    body: { schema: RankBody, bytesMax: RANK_BODY_BYTES_MAX, isRequired: false },
    answers: [RANKED],
    problems: [
      ...BODY_FAULTS,
      "too_many_interactions",
      "invalid_filter",
      "unknown_attribute",
      "filter_type_mismatch",
      "filter_too_large",
      ...RANK_FAULTS,
    ],
  },
  {
    method: "post",
    path: "/v0/models",
    id: "createModel",
    summary: "Creates a model and starts its training",
    description:
      "The ids of users and of items are two columns of the interaction query. Features are other columns of the source beside them, " +
      "each named once; without features every column of that source is one. The interactions must be with at least " +
      "2 items, and at least one interaction must be positive.",
    scope: "manage",
    parameters: [
      {
        name: "dry_run",
        in: "query",
        description:
          "true: only connects, reads a sample, and says what it found, within 25 s. One at a time for each customer. A source that " +
          "cannot be read at all is invalid_parameter, with the reason's own code as stage_code.",
        schema: z.enum(["true", "false"]).default("false"),
      },
      {
        name: "idempotency-key",
        in: "header",
        description:
          "For a day, the same key with the same body gives the first answer again, with the header idempotent-replayed.",
        schema: z.string().max(255),
      },
    ],
    body: { schema: ModelSpec, bytesMax: MANAGEMENT_BODY_BYTES_MAX, isRequired: true },
    answers: [
      { status: 201, description: "The new model's record; Location is its address.", schema: ModelRecord },
      { status: 200, description: "Of a dry run: what was found. Nothing is created.", schema: DryRun },
    ],
    problems: [...BODY_FAULTS, "model_exists", "idempotency_conflict", "overloaded"],
  },
  {
    method: "get",
    path: "/v0/models",
    id: "listModels",
    summary: "Lists the customer's models",
    scope: "manage",
    parameters: [
      {
        name: "limit",
        in: "query",
        description: "How many records at most.",
        schema: z.int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT),
      },
      { name: "cursor", in: "query", description: "next_cursor of the page before.", schema: z.string() },
      { name: "status", in: "query", description: "Only models in this state.", schema: ModelStatus },
    ],
    answers: [{ status: 200, description: "Records, by name.", schema: List }],
    problems: ["invalid_parameter", "unknown_field", "limit_out_of_range"],
  },
  {
    method: "get",
    path: "/v0/models/{model_name}",
    id: "viewModel",
    summary: "Shows a model's record",
    scope: "manage",
    answers: [RECORD],
    problems: ["unknown_field", "model_not_found"],
  },
  {
    method: "patch",
    path: "/v0/models/{model_name}",
    id: "changeModel",
    summary: "Changes a model's schema, connectors or schedule (JSON merge patch)",
    scope: "manage",
    body: { schema: Patch, bytesMax: MANAGEMENT_BODY_BYTES_MAX, isRequired: true },
    answers: [RECORD],
    problems: [...BODY_FAULTS, "model_not_found", "model_busy"],
  },
  {
    method: "delete",
    path: "/v0/models/{model_name}",
    id: "deleteModel",
    summary: "Deletes a model and everything made for it",
    scope: "manage",
    answers: [
      { status: 200, description: "It is gone.", schema: Deleted },
      {
        status: 202,
        description: "It no longer ranks; a run is being stopped, or the removal goes on.",
        schema: Deleted,
      },
    ],
    problems: ["unknown_field", "invalid_json", "body_too_large", "model_not_found"],
  },
  {
    method: "post",
    path: "/v0/models/{model_name}/train",
    id: "trainModel",
    summary: "Starts a training now",
    scope: "manage",
    body: nothing,
    answers: [{ ...RECORD, status: 202 }],
    problems: [...BODY_FAULTS, "model_not_found", "model_busy"],
  },
  {
    method: "get",
    path: "/v0/models/{model_name}/versions",
    id: "listVersions",
    summary: "Lists the versions that can be activated, newest first",
    scope: "manage",
    answers: [{ status: 200, description: "Versions.", schema: Versions }],
    problems: ["unknown_field", "model_not_found"],
  },
  {
    method: "post",
    path: "/v0/models/{model_name}/versions/{version}/activate",
    id: "activateVersion",
    summary: "Makes a version live: roll back or forward within seconds",
    scope: "manage",
    body: nothing,
    answers: [RECORD],
    problems: [...BODY_FAULTS, "model_not_found", "version_not_found"],
  },
  {
    method: "get",
    path: "/v0/models/{model_name}/evaluation",
    id: "viewEvaluation",
    summary: "Shows the evaluation report of the live version",
    scope: "manage",
    answers: [{ status: 200, description: "The report.", schema: EvaluationReport }],
    problems: ["unknown_field", "model_not_found", "model_not_active"],
  },
  {
    method: "post",
    path: "/v0/models/{model_name}/evaluation",
    id: "evaluateGiven",
    summary: "Evaluates the live version for given users or items, or for each value of an attribute",
    description:
      "The body has one of `user_ids`, `item_ids`, `user_attribute` and `item_attribute`. The answer comes from the lists that the " +
      "report stands on: of users how well they were served, of items how often they were found, of an attribute both for each of its " +
      "values. Ids are written as in rank calls: text of at most 256 bytes, or integers within ±(2^53 − 1).",
    scope: "manage",
    body: { schema: EvaluationQuestion, bytesMax: MANAGEMENT_BODY_BYTES_MAX, isRequired: true },
    answers: [{ status: 200, description: "The figures.", schema: EvaluationAnswer }],
    problems: [...BODY_FAULTS, "unknown_attribute", "model_not_found", "model_not_active", "artifact_unavailable"],
  },
  {
    method: "delete",
    path: "/v0/users/{user_id}",
    id: "eraseUser",
    summary: "Erases a user from all of the customer's models, for good",
    description:
      "The user is ranked for as an unknown one: at once where the call was made, everywhere within ten seconds. Every " +
      "training that begins later leaves the user's rows out, also when the source still has them. Only a salted hash of " +
      "the id is kept, to know whom to leave out. Repeating the call changes nothing. There is no way back.",
    scope: "manage",
    answers: [
      { status: 202, description: "From honoured_by on no edge uses what is stored of the user.", schema: Erased },
    ],
    problems: ["unknown_field", "invalid_json", "body_too_large"],
  },
  {
    method: "get",
    path: "/health/live",
    id: "live",
    summary: "Says that the Worker runs",
    scope: null,
    answers: [{ status: 200, description: "It runs.", schema: Health }],
    problems: [],
  },
  {
    method: "get",
    path: "/health/ready",
    id: "ready",
    summary: "Says whether models can be read",
    scope: null,
    answers: [{ status: 200, description: "They can.", schema: Health }],
    problems: ["artifact_unavailable"],
  },
];
