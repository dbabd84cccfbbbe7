/** The schemas of answers, and of the few bodies that no other file describes. */
import * as z from "zod";
import { RANK_LIMIT_MAX } from "../shared/api.ts";
import { Canary, CanaryState } from "../shared/experiment/canary.ts";
import { Holdout } from "../shared/experiment/holdout.ts";
import { ID_BYTES_MAX } from "../shared/ids.ts";
import { ModelStatus } from "../shared/live-pointer.ts";
import { AttributeDescription, ModelRecord } from "../shared/model-record.ts";
import { ConnectorConfig, ItemsLagHours, Objective, TrainAfterEvents } from "../shared/model-spec.ts";
import { Quality, RUNS_KEPT, RunRecord } from "../shared/run-record.ts";

export const Time = z.string().meta({ format: "date-time" });
export const ItemId = z.union([z.string(), z.int()]);
const QueryText = z.string().min(1).max(ID_BYTES_MAX);
export const IdInQuery = QueryText.meta({ pattern: "^[^\\u0000]*$" });
export const IdInList = QueryText.meta({ pattern: "^[^,\\u0000]*$" });
export const ItemIds = z.array(ItemId).max(RANK_LIMIT_MAX);
const RankedItem = z.object({
  item_id: ItemId,
  score: z.number().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  reasons: z.array(z.object({ item_id: ItemId, share: z.number() })).optional(),
});
const HistoryItem = RankedItem.pick({ item_id: true, metadata: true }).extend({ age_days: z.number() });
export const RankedItems = z.object({
  items: z.array(RankedItem).meta({
    examples: [[{ item_id: "i3", score: 2.13, metadata: { price: 40 }, reasons: [{ item_id: "i9", share: 0.41 }] }]],
  }),
  history: z
    .array(HistoryItem)
    .optional()
    .meta({
      description:
        "With `return` history: the positive interactions that the list was computed from, newest first. They are those of the version, " +
        "of live events and of the call, as many as the model reads.",
      examples: [[{ item_id: "i9", age_days: 2.5, metadata: { price: 35 } }]],
    }),
  rank_id: z.string(),
  version: z.string(),
  strategy: z.enum(["personalized", "session", "popular", "trending", "newest", "similar", "together"]),
  scenario: z.string().nullable(),
  arm: z.string().nullable(),
  ignored_interactions: z.int(),
  unknown_items: z.int(),
});
export const List = z.object({ models: z.array(ModelRecord), next_cursor: z.string().optional() });
export const Deleted = z.object({ message: z.string(), model_name: z.string(), status: ModelStatus.optional() });
export const Versions = z.object({
  versions: z.array(
    z.looseObject({
      version: z.string(),
      created_at: Time,
      live: z.boolean(),
      quality: Quality.nullable().meta({
        description: "Null if the version's report is absent or of another release.",
      }),
      canary: CanaryState.nullable().meta({
        description: "What users did with the version before it went live. Null without a canary.",
      }),
    }),
  ),
});
export const Runs = z.object({ runs: z.array(RunRecord).max(2 * RUNS_KEPT) });
export const Erased = z.object({ message: z.string(), user_id: z.string(), honoured_by: Time });
export const DryRun = z.looseObject({
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
  example_users: z
    .array(z.object({ user_id: z.string(), rows: z.int() }))
    .meta({ description: "At most 20 users among the rows that were read, from the most rows to the fewest." }),
  item_attributes: z.array(AttributeDescription),
  user_attributes: z.array(AttributeDescription),
  predicted_training: z.object({ rows: z.number(), seconds: z.number() }).nullable(),
  problems: z.array(z.object({ pointer: z.string(), severity: z.string(), code: z.string(), message: z.string() })),
});
export const Patch = z.strictObject({
  connector_configs: z.array(ConnectorConfig).min(1).max(10).optional(),
  schema: z.looseObject({}).optional(),
  train_schedule: z.string().min(1).max(100).nullable().optional(),
  train_after_events: TrainAfterEvents.nullable().optional(),
  items_lag_hours: ItemsLagHours.nullable().optional(),
  objective: Objective.nullable().optional(),
  canary: Canary.nullable().optional(),
  holdout: Holdout.nullable().optional(),
});
export const Scenarios = z.object({ scenarios: z.array(z.object({ name: z.string() })) });
export const EventsAnswer = z.object({ accepted: z.int(), duplicates: z.int() });
const EventFields = {
  event_id: z.string(),
  item_id: z.string(),
  type: z.string(),
  created_at: Time,
  value: z.number().optional(),
  rank_id: z.string().optional(),
};
export const EventsOfUser = z.object({ user_id: z.string(), events: z.array(z.object(EventFields)) });
export const Merged = z.object({ user_id: z.string(), from: z.string(), changed: z.boolean() });
const Counts = z.record(z.string(), z.int());
const Percentiles = z
  .object({ p50: z.int(), p95: z.int(), p99: z.int() })
  .nullable()
  .meta({ description: "Milliseconds, each at most 42 % too high. Null without lists." });
export const Live = z.object({
  minutes: z
    .array(z.object({ at: Time, events: Counts, lists: Counts, refusals: Counts, latency_ms: Percentiles }))
    .meta({ description: "60 minutes, the oldest first. The last one is not over yet." }),
  latency_ms: Percentiles.describe("Of all lists of the hour."),
  events_from: Time.describe("Events that arrived before this time are not all counted."),
  newest_events: z.array(z.object({ user_id: z.string(), arrived_at: Time, ...EventFields })),
  sources: z
    .object({ events: z.string(), lists: z.string(), refusals: z.string(), latency_ms: z.string() })
    .meta({ description: "Where each number comes from, in a sentence." }),
});
export const Health = z.object({
  status: z.string(),
  version: z.string().meta({ description: "The release of Shortlist." }),
});
