/** A model as a form, and what a change of the form means for the model. */
import { mergePatch, patchBetween } from "../../shared/merge-patch.ts";
import type { ModelChange, ModelRecord, ModelSpec } from "../client/shortlist.ts";
import {
  type Connector,
  type CreateForm,
  connectorOf,
  EMPTY_CREATION,
  EVENTS,
  EVENTS_ID,
  type SourceType,
  specOf,
} from "./create-spec.ts";

export const specOfModel = (model: ModelRecord): ModelSpec => ({
  model_name: model.model_name,
  connector_configs: model.connectors as Connector[],
  schema: model.input_schema,
  train_schedule: model.train_schedule,
  ...(model.train_after_events !== undefined && { train_after_events: model.train_after_events }),
  ...(model.items_lag_hours !== undefined && { items_lag_hours: model.items_lag_hours }),
  ...(model.objective && { objective: model.objective }),
});

/** The connector that reads interactions. */
function mainConnectorOf({ connector_configs, schema }: ModelSpec): Connector {
  const named = connector_configs.find(({ id }) => id === schema.interaction.source.connector_id);
  return named ?? connector_configs[0]!;
}

/** The connectors that the form does not show. */
export const otherConnectorsOf = (spec: ModelSpec): Connector[] =>
  spec.connector_configs.filter((connector) => connector !== mainConnectorOf(spec) && connector.type !== EVENTS);

/** A connector's fields have no types of their own: what is shown are texts. */
type Shown = Partial<Record<"location" | "sslmode" | "project_id", string>> & { readonly password?: { env: string } };

export function formOf(spec: ModelSpec): CreateForm {
  const { user, item, interaction } = spec.schema;
  const { label, events, session_id: session = "", repeats = false } = interaction;
  const main = mainConnectorOf(spec);
  const { location = "", password, sslmode = EMPTY_CREATION.sslmode, project_id: project = "" } = main as Shown;
  const { metric = EMPTY_CREATION.metric, coverage_min } = spec.objective ?? {};
  return {
    type: main.type as SourceType,
    connector: main.id ?? EMPTY_CREATION.connector,
    location,
    secret: password?.env ?? "",
    sslmode,
    project,
    interactions: interaction.source.query,
    items: item.source?.query ?? "",
    users: user.source?.query ?? "",
    columns: { user: user.id, item: item.id, time: interaction.created_at, label: label.name },
    positiveFrom: label.type === "Rating" ? label.positive_from : null,
    positiveTypes: label.type === "Events" ? label.positive.join(", ") : null,
    session,
    repeats,
    events: Object.keys(events ?? {}).join(", "),
    name: spec.model_name,
    schedule: spec.train_schedule ?? "@once",
    metric,
    coverage: coverage_min === undefined ? "" : String(coverage_min),
  };
}

/** The specification with what was changed in the form. What the form does not show stays as it is. */
export function changedSpec(spec: ModelSpec, form: CreateForm): ModelSpec {
  const [before, after] = [specOf(formOf(spec)), specOf(form)];
  const patch = { ...patchBetween(before, after), connector_configs: connectorsAfter(spec, form) };
  const changed = mergePatch(spec, patch) as ModelSpec;
  const { label } = after.schema.interaction;
  if (label.type !== before.schema.interaction.label.type) changed.schema.interaction.label = label; // without fields of the former type
  return changed.connector_configs.length > 1 ? withNames(changed, form.connector) : changed;
}

/** The body of the PATCH. */
export const changeBetween = (before: ModelSpec, after: ModelSpec): ModelChange => patchBetween(before, after);

function connectorsAfter(spec: ModelSpec, form: CreateForm): Connector[] {
  const main = mainConnectorOf(spec);
  const [before, after] = [connectorOf(formOf(spec)), connectorOf(form)];
  const own = before.type === after.type ? (mergePatch(main, patchBetween(before, after)) as Connector) : after;
  const listens = form.type !== EVENTS && form.events !== "";
  const isKept = (connector: Connector) => connector === main || connector.type !== EVENTS || listens;
  const kept = spec.connector_configs.filter(isKept).map((connector) => (connector === main ? own : connector));
  const isNew = listens && !kept.some(({ type }) => type === EVENTS);
  return isNew ? [...kept, { id: EVENTS_ID, type: EVENTS }] : kept;
}

/** Among several connectors each needs a name, and each source must say which one it reads. */
function withNames(spec: ModelSpec, name: string): ModelSpec {
  const named = <Entity extends { source?: { connector_id?: string | undefined } | undefined }>(entity: Entity) =>
    entity.source ? { ...entity, source: { connector_id: name, ...entity.source } } : entity;
  const { user, item, interaction } = spec.schema;
  return {
    ...spec,
    connector_configs: spec.connector_configs.map((connector) => ({ id: name, ...connector })),
    schema: { user: named(user), item: named(item), interaction: named(interaction) } as ModelSpec["schema"],
  };
}
