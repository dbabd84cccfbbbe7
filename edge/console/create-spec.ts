/** The form that creates or changes a model, and the specification that it stands for. */
import { guessColumns } from "../../shared/guess-columns.ts";
import { guessLabel, labelFacts } from "../../shared/guess-label.ts";
import type { ModelSpec } from "../client/shortlist.ts";

export type SourceType = "File" | "Postgres" | "BigQuery" | "Events";

/** Columns of the interactions. Null: no column says it. */
export type Columns = {
  readonly user: string;
  readonly item: string;
  readonly time: string | null;
  readonly label: string | null;
};

export type CreateForm = {
  readonly type: SourceType;
  /** The name of the connector that reads interactions. */
  readonly connector: string;
  /** A file or a pattern, the address of a database, or where the data sets of a project are. */
  readonly location: string;
  /** The name of the operator's secret that holds the password. */
  readonly secret: string;
  /** How the connection to a database is protected. */
  readonly sslmode: string;
  readonly project: string;
  readonly interactions: string;
  /** Empty for none. */
  readonly items: string;
  readonly users: string;
  readonly columns: Columns;
  /** Ratings are positive from here on; null where the label says yes or no. */
  readonly positiveFrom: number | null;
  /** Types of events that are positive, separated by commas; null where the label is no type of event. */
  readonly positiveTypes: string | null;
  /** The column of the session; empty where interactions are not parted into sessions. */
  readonly session: string;
  /** Whether items may come again in the same session. */
  readonly repeats: boolean;
  /** Types of live events that the model listens to, separated by commas; empty for none. */
  readonly events: string;
  readonly name: string;
  /** A name such as @daily, or a cron line. */
  readonly schedule: string;
  /** What methods are compared by, such as ndcg@10. */
  readonly metric: string;
  /** The least coverage of a method, from 0 to 1; empty for none. */
  readonly coverage: string;
};

export const EMPTY_CREATION: CreateForm = {
  type: "File",
  connector: "source",
  location: "",
  secret: "",
  sslmode: "verify-full",
  project: "",
  interactions: "SELECT * FROM interactions",
  items: "",
  users: "",
  columns: { user: "user_id", item: "item_id", time: "created_at", label: "label" },
  positiveFrom: null,
  positiveTypes: null,
  session: "",
  repeats: false,
  events: "",
  name: "",
  schedule: "@daily",
  metric: "ndcg@10",
  coverage: "",
};

/** The names in the specification of columns that the source does not have. */
const ADDED = { time: "created_at", label: "label" };
/** Needed by a dry run, which checks everything. */
const DRAFT_NAME = "draft";
/** The type of the connector of live events, and its name where the model has others. */
export const EVENTS = "Events";
export const EVENTS_ID = "events";

export type Connector = ModelSpec["connector_configs"][number];

export function specOf(form: CreateForm): ModelSpec {
  const types = form.events.split(/[\s,]+/).filter(Boolean);
  const events = types.length > 0 && { events: Object.fromEntries(types.map((type) => [type, { label: true }])) };
  const common = { model_name: form.name || DRAFT_NAME, train_schedule: form.schedule, ...objectiveOf(form) };
  if (form.type === EVENTS) {
    const { user, item, ...interaction } = EVENT_COLUMNS;
    const source = { query: "SELECT * FROM events" };
    return {
      ...common,
      connector_configs: [connectorOf(form)],
      schema: { user, item, interaction: { ...interaction, source, ...events } },
    };
  }
  const { user, item, time } = form.columns;
  const entity = (id: string, query: string) => ({
    id,
    ...(query && { source: { connector_id: form.connector, query } }),
  });
  return {
    ...common,
    connector_configs: [connectorOf(form), ...(events ? [{ id: EVENTS_ID, type: EVENTS }] : [])],
    schema: {
      user: entity(user, form.users),
      item: entity(item, form.items),
      interaction: {
        created_at: time ?? ADDED.time,
        label: labelOf(form),
        source: { connector_id: form.connector, query: interactionsOf(form) },
        ...(form.session && { session_id: form.session }),
        ...(form.session && form.repeats && { repeats: true }),
        ...events,
      },
    },
  };
}

function labelOf({ columns, positiveFrom, positiveTypes }: CreateForm): ModelSpec["schema"]["interaction"]["label"] {
  const name = columns.label ?? ADDED.label;
  if (columns.label === null) return { type: "Binary", name };
  const types = (positiveTypes ?? "").split(",").map((type) => type.trim());
  if (positiveTypes !== null) return { type: "Events", name, positive: types.filter(Boolean) };
  return positiveFrom === null ? { type: "Binary", name } : { type: "Rating", name, positive_from: positiveFrom };
}

const EVENT_COLUMNS = {
  user: { id: "user_id" },
  item: { id: "item_id" },
  created_at: "created_at",
  label: { type: "Binary", name: "label" },
} as const;

export function connectorOf({ type, connector: id, location, secret, sslmode, project }: CreateForm): Connector {
  if (type === EVENTS) return { type };
  if (type === "BigQuery") return { id, type, project_id: project, location };
  if (type === "File") return { id, type, location };
  return { id, type, location, sslmode, ...(secret && { password: { env: secret } }) };
}

function objectiveOf({ metric, coverage }: CreateForm) {
  const isDefault = metric === EMPTY_CREATION.metric && coverage === "";
  return !isDefault && { objective: { metric, ...(coverage !== "" && { coverage_min: Number(coverage) }) } };
}

/** The query, with a constant time or label where the source has none. */
function interactionsOf({ interactions, columns }: CreateForm): string {
  const added = [
    ...(columns.time === null ? [`TIMESTAMP '2000-01-01' AS ${ADDED.time}`] : []),
    ...(columns.label === null ? [`true AS ${ADDED.label}`] : []),
  ];
  return added.length === 0 ? interactions : `SELECT q.*, ${added.join(", ")} FROM (${interactions}) AS q`;
}

type Row = Readonly<Record<string, unknown>>;

/** What a source with these columns most likely means. Choices that fit the source stay. */
export function guessesFor(form: CreateForm, names: readonly string[], sample: readonly Row[]): Partial<CreateForm> {
  const { user, item, time, label } = form.columns;
  if ([user, item, time, label].every((name) => name === null || names.includes(name)))
    return { positiveFrom: form.positiveFrom ?? (form.positiveTypes === null ? ratingIn(sample, label) : null) };
  const guess = guessColumns(names, {}, sample);
  if (guess.kind === "unclear") return {};
  const { kind: _, ...columns } = guess;
  return { columns, positiveFrom: ratingIn(sample, columns.label) };
}

/** From where on a label of ratings is positive; null for one that says yes or no. */
function ratingIn(sample: readonly Row[], label: string | null): number | null {
  const guess = guessLabel(label ?? "", labelFacts(sample.map((row) => row[label ?? ""])));
  return guess.type === "Rating" ? guess.positive_from : null;
}

/** A query of the table that a file is; undefined for patterns, which are several tables. */
export function queryOfFile(location: string): string | undefined {
  const [, table] = /([^/*?]+?)\.(?:csv|tsv|parquet|json|jsonl|ndjson)(?:\.gz)?$/i.exec(location) ?? [];
  return table && `SELECT * FROM "${table}"`;
}
