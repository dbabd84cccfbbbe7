/** The form that creates a model, and the specification that it stands for. */
import { guessColumns } from "../../shared/guess-columns.ts";
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
  /** A file or a pattern, the address of a database, or where the data sets of a project are. */
  readonly location: string;
  /** The name of the operator's secret that holds the password. */
  readonly secret: string;
  readonly project: string;
  readonly interactions: string;
  /** Empty for none. */
  readonly items: string;
  readonly users: string;
  readonly columns: Columns;
  /** Ratings are positive from here on; null where the label says yes or no. */
  readonly positiveFrom: number | null;
  /** Types of live events that the model listens to, separated by commas; empty for none. */
  readonly events: string;
  readonly name: string;
  readonly schedule: string;
};

export const EMPTY_CREATION: CreateForm = {
  type: "File",
  location: "",
  secret: "",
  project: "",
  interactions: "SELECT * FROM interactions",
  items: "",
  users: "",
  columns: { user: "user_id", item: "item_id", time: "created_at", label: "label" },
  positiveFrom: null,
  events: "",
  name: "",
  schedule: "@daily",
};

/** The names in the specification of columns that the source does not have. */
const ADDED = { time: "created_at", label: "label" };
/** Needed by a dry run, which checks everything. */
const DRAFT_NAME = "draft";
const SOURCE = "source";
const EVENTS = "events";

export function specOf(form: CreateForm): ModelSpec {
  const types = form.events.split(/[\s,]+/).filter(Boolean);
  const events = types.length > 0 && { events: Object.fromEntries(types.map((type) => [type, { label: true }])) };
  const ownName = { model_name: form.name || DRAFT_NAME, train_schedule: form.schedule };
  if (form.type === "Events") {
    const { user, item, ...interaction } = EVENT_COLUMNS;
    const source = { query: "SELECT * FROM events" };
    return {
      ...ownName,
      connector_configs: [{ type: "Events" }],
      schema: { user, item, interaction: { ...interaction, source, ...events } },
    };
  }
  const { user, item, time, label } = form.columns;
  const entity = (id: string, query: string) => ({ id, ...(query && { source: { connector_id: SOURCE, query } }) });
  const labelName = label ?? ADDED.label;
  const isRating = form.positiveFrom !== null && label !== null;
  return {
    ...ownName,
    connector_configs: [connectorOf(form), ...(events ? [{ id: EVENTS, type: "Events" }] : [])],
    schema: {
      user: entity(user, form.users),
      item: entity(item, form.items),
      interaction: {
        created_at: time ?? ADDED.time,
        label: isRating
          ? { type: "Rating", name: labelName, positive_from: form.positiveFrom }
          : { type: "Binary", name: labelName },
        source: { connector_id: SOURCE, query: interactionsOf(form) },
        ...events,
      },
    },
  };
}

const EVENT_COLUMNS = {
  user: { id: "user_id" },
  item: { id: "item_id" },
  created_at: "created_at",
  label: { type: "Binary", name: "label" },
} as const;

function connectorOf({ type, location, secret, project }: CreateForm) {
  if (type === "BigQuery") return { id: SOURCE, type, project_id: project, location };
  return { id: SOURCE, type, location, ...(type === "Postgres" && secret && { password: { env: secret } }) };
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
    return { positiveFrom: form.positiveFrom ?? ratingIn(sample, label) };
  const guess = guessColumns(names);
  if (guess.kind === "unclear") return {};
  const { kind: _, ...columns } = guess;
  return { columns, positiveFrom: ratingIn(sample, columns.label) };
}

/** The median of a label that is not only 0 and 1; null for one that says yes or no. */
function ratingIn(sample: readonly Row[], label: string | null): number | null {
  const values = sample.map((row) => row[label ?? ""]).filter((value) => typeof value === "number");
  if (values.every((value) => value === 0 || value === 1)) return null;
  return values.sort((a, b) => a - b)[values.length >> 1]!;
}

/** A query of the table that a file is; undefined for patterns, which are several tables. */
export function queryOfFile(location: string): string | undefined {
  const [, table] = /([^/*?]+?)\.(?:csv|tsv|parquet|json|jsonl|ndjson)(?:\.gz)?$/i.exec(location) ?? [];
  return table && `SELECT * FROM "${table}"`;
}
