import { identifier } from "../read/connectors/sql-text.ts";
import type { LabelMeaning } from "./label-meaning.ts";

/** A file as the File connector presents it. */
export type SourceTable = {
  /** Absolute, since the trainer may also read other folders that contain a file of the same name. */
  readonly path: string;
  readonly name: string;
  readonly columns: readonly string[];
};

export type LocalColumns = {
  readonly user: string;
  readonly item: string;
  readonly time: string | null;
  readonly label: LabelMeaning | null;
};

type Source = { readonly connector_id?: string; readonly query: string };
type Entity = { readonly id: string; readonly source?: Source };

/** The body of `POST /v0/models`. */
export type CreationBody = {
  readonly model_name: string;
  readonly connector_configs: readonly { readonly id?: string; readonly type: "File"; readonly location: string }[];
  readonly schema: {
    readonly user: Entity;
    readonly item: Entity;
    readonly interaction: {
      readonly created_at: string;
      readonly label: object;
      readonly source: Source;
    };
  };
};

export type BodyParts = {
  readonly name: string;
  readonly interactions: SourceTable;
  readonly items: SourceTable | null;
  readonly users: SourceTable | null;
  readonly columns: LocalColumns;
  /** Id columns of the item and user tables. */
  readonly ids: { readonly item: string | null; readonly user: string | null };
};

/** Builds one connector with one query per file. The query adds a constant time or label if the interactions have none. */
export function creationBody({ name, interactions, items, users, columns, ids }: BodyParts): CreationBody {
  const single = items === null && users === null;
  const sourceOf = (id: string, query: string): Source => (single ? { query } : { connector_id: id, query });
  const connector = (id: string, { path }: SourceTable) =>
    ({ ...(single ? {} : { id }), type: "File", location: path }) as const;
  const attributes = (id: string, table: SourceTable | null, [from, to]: readonly [string | null, string]) =>
    table && from ? { source: sourceOf(id, `SELECT ${renamed(from, to)} FROM ${identifier(table.name)}`) } : {};

  const time = columns.time ?? freeName("created_at", interactions.columns);
  const label = columns.label?.label ?? { type: "Binary", name: freeName("label", interactions.columns) };
  const selected = [
    identifier(columns.user),
    identifier(columns.item),
    columns.time === null ? `TIMESTAMP '2000-01-01' AS ${identifier(time)}` : identifier(time),
    columns.label === null ? `true AS ${identifier(label.name)}` : identifier(label.name),
  ];
  const query = `SELECT ${selected.join(", ")} FROM ${identifier(interactions.name)}`;
  return {
    model_name: name,
    connector_configs: [
      connector("interactions", interactions),
      ...(items ? [connector("items", items)] : []),
      ...(users ? [connector("users", users)] : []),
    ],
    schema: {
      user: { id: columns.user, ...attributes("users", users, [ids.user, columns.user]) },
      item: { id: columns.item, ...attributes("items", items, [ids.item, columns.item]) },
      interaction: { created_at: time, label, source: sourceOf("interactions", query) },
    },
  };
}

/** Selects every column and gives the id column the name that it has in the interactions. */
const renamed = (from: string, to: string) =>
  from === to ? "*" : `${identifier(from)} AS ${identifier(to)}, * EXCLUDE (${identifier(from)})`;

function freeName(wanted: string, taken: readonly string[]): string {
  const names = new Set(taken.map((name) => name.toLowerCase()));
  let name = wanted;
  while (names.has(name)) name = `_${name}`;
  return name;
}
