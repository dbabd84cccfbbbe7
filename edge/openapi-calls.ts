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

/** A successful answer. */
export type Answer = { readonly status: number; readonly description: string; readonly schema: z.ZodType };

export type Parameter = {
  readonly name: string;
  readonly in: "query" | "header";
  readonly description: string;
  readonly schema: z.ZodType;
};

/** One published call of the API. Path parameters are taken from the path. */
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
  /** In addition to the problems of every call with this scope. */
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
  description: "Item ids, most relevant first. Fewer ids than `limit`, or none, are a normal answer.",
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
      "Without user_id, and for a user that the model does not know, the answer is popular items. Items that the user has seen are " +
      "left out.",
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
        description: "The largest number of ids.",
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
      "`interactions` are the user's latest positive interactions, oldest first. `retrieval` is a query over item attributes, in a " +
      "subset of MongoDB's query language.",
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
      "The user ids and the item ids are two columns of the interaction query. Features are further columns of a source, each named " +
      "once. Without features, every further column is a feature. There must be at least 2 items and at least one positive interaction.",
    scope: "manage",
    parameters: [
      {
        name: "dry_run",
        in: "query",
        description:
          "true: connects, reads a sample within 25 s, reports the findings, and creates nothing. A customer has one dry run at a time. " +
          "A source that cannot be read is invalid_parameter, with the code of the reason as stage_code.",
        schema: z.enum(["true", "false"]).default("false"),
      },
      {
        name: "idempotency-key",
        in: "header",
        description:
          "For a day, the same key with the same body returns the first answer again, with the header idempotent-replayed.",
        schema: z.string().max(255),
      },
    ],
    body: { schema: ModelSpec, bytesMax: MANAGEMENT_BODY_BYTES_MAX, isRequired: true },
    answers: [
      { status: 201, description: "The new model's record. The header Location has its address.", schema: ModelRecord },
      { status: 200, description: "The findings of a dry run. Nothing is created.", schema: DryRun },
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
        description: "The largest number of records.",
        schema: z.int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT),
      },
      { name: "cursor", in: "query", description: "`next_cursor` of the previous page.", schema: z.string() },
      { name: "status", in: "query", description: "Only models in this state.", schema: ModelStatus },
    ],
    answers: [{ status: 200, description: "Records, sorted by name.", schema: List }],
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
      { status: 200, description: "The model is deleted.", schema: Deleted },
      {
        status: 202,
        description: "The model no longer ranks. Its run is being stopped, or its files are being removed.",
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
      "The body has one of `user_ids`, `item_ids`, `user_attribute` and `item_attribute`. The figures come from the same ranked lists as " +
      "the report. For users they tell how good their lists were, for items how often the item was found, and for an attribute both, " +
      "by value. Ids are written as in rank calls: text of at most 256 bytes, or integers within ±(2^53 − 1).",
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
      "The user is then ranked as an unknown user: at once where the call was made, everywhere within ten seconds. Every later " +
      "training leaves the user's rows out, even if the source still has them. Only a salted hash of the id is kept, to recognise " +
      "the user's rows. Repeating the call changes nothing. An erasure cannot be undone.",
    scope: "manage",
    answers: [
      {
        status: 202,
        description: "From the time `honoured_by` on, no edge uses stored data of the user.",
        schema: Erased,
      },
    ],
    problems: ["unknown_field", "invalid_json", "body_too_large"],
  },
  {
    method: "get",
    path: "/health/live",
    id: "live",
    summary: "Says that the Worker runs",
    scope: null,
    answers: [{ status: 200, description: "The Worker runs.", schema: Health }],
    problems: [],
  },
  {
    method: "get",
    path: "/health/ready",
    id: "ready",
    summary: "Says whether models can be read",
    scope: null,
    answers: [{ status: 200, description: "Models can be read.", schema: Health }],
    problems: ["artifact_unavailable"],
  },
];
