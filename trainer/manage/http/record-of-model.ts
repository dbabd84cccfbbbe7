import type { ModelRecord } from "../../../shared/model-record.ts";
import { withoutSecrets } from "../../log/redaction.ts";
import type { Model } from "../records/model-transitions.ts";

/** What list and view show of a model. */
export function recordOfModel(model: Model, edgeUrl: string): ModelRecord {
  const { spec, training } = model;
  return {
    model_name: model.modelName,
    model_url: `${edgeUrl}/v0/models/${model.modelName}`,
    status: model.status,
    created_at: model.createdAt,
    updated_at: model.updatedAt,
    trained_at: model.trainedAt,
    label: spec.schema.interaction.label,
    input_schema: spec.schema,
    connectors: spec.connector_configs.map(withoutSecrets),
    train_schedule: spec.train_schedule,
    version: model.version,
    item_id_type: model.itemIdType,
    training: {
      state: training.state,
      run_id: training.runId,
      started_at: training.startedAt,
      finished_at: training.finishedAt,
      next_run_at: training.nextRunAt,
      progress: training.progress,
    },
    data: model.data,
    metrics: model.metrics,
    failure: model.failure,
  };
}
