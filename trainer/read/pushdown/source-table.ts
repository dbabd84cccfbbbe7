import type { ModelSchema } from "../../../shared/model-spec.ts";
import type { SourceColumn } from "../connectors/connector.ts";
import { type InteractionColumns, interactionColumns } from "../dataset/check-interactions.ts";
import { type Dialect, type IdRule, idReading, type TimeUnit } from "../rules/dialect.ts";
import type { RowRules } from "../rules/row-rules.ts";

/** An interaction query, and its columns as the store describes them. */
export type SourceQuery = {
  readonly dialect: Dialect;
  readonly query: string;
  /** All columns of the query. */
  readonly available: readonly SourceColumn[];
  readonly schema: ModelSchema;
  readonly nowSeconds: number;
};

type PushedId = IdRule & { readonly isInteger: boolean };

/** An interaction query whose rows its store can check as the trainer does. */
export type SourceTable = {
  readonly dialect: Dialect;
  readonly query: string;
  /** Names of the columns. */
  readonly columns: InteractionColumns;
  readonly rules: RowRules & { readonly user: PushedId; readonly item: PushedId };
  /** The unit of times that are numbers. */
  readonly unit: TimeUnit;
  readonly nowSeconds: number;
};

/** The column whose type the store cannot read as the trainer does, and what it should be. */
export type Unreadable = { readonly column: SourceColumn; readonly meaning: string };

/** The query with its rules, for times in seconds, or the column that the store cannot read. Every column has to exist. */
export function sourceTable({ dialect, query, available, schema, nowSeconds }: SourceQuery): SourceTable | Unreadable {
  const columns = interactionColumns(schema);
  const columnOf = (name: string) => available.find((column) => column.name === name)!;
  const [userColumn, itemColumn, timeColumn, labelColumn] = columns.slice(0, 4).map(columnOf) as [
    SourceColumn,
    SourceColumn,
    SourceColumn,
    SourceColumn,
  ];
  const sessionColumn = columns[4] === undefined ? undefined : columnOf(columns[4]);
  const readable = (column: SourceColumn) => dialect.arrivesAsCast(column);
  const user = readable(userColumn) && dialect.id("c0", userColumn.type, idReading("user", schema));
  const item = readable(itemColumn) && dialect.id("c1", itemColumn.type, idReading("item", schema));
  const time = readable(timeColumn) && dialect.time("c2", timeColumn.type);
  const label = readable(labelColumn) && dialect.label("c3", labelColumn.type, schema.interaction.label);
  const session =
    sessionColumn &&
    (readable(sessionColumn) ? dialect.id("c4", sessionColumn.type, idReading("user", schema)) : undefined);
  if (!user) return { column: userColumn, meaning: "an integer or a text" };
  if (!item) return { column: itemColumn, meaning: "an integer or a text" };
  if (!time) return { column: timeColumn, meaning: "a timestamp or epoch numbers" };
  if (!label) return { column: labelColumn, meaning: "a boolean, a number or a text" };
  if (sessionColumn && !session) return { column: sessionColumn, meaning: "an integer or a text" };
  return { dialect, query, columns, rules: { user, item, time, label, session }, unit: 1, nowSeconds };
}
