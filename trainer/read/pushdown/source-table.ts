import type { ModelSchema } from "../../../shared/model-spec.ts";
import type { SourceColumn } from "../connectors/connector.ts";
import { interactionColumns } from "../dataset/check-interactions.ts";
import type { Dialect, IdRule, TimeUnit } from "../rules/dialect.ts";
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
  /** Names of the columns: user, item, time, label. */
  readonly columns: readonly [string, string, string, string];
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
  const [userColumn, itemColumn, timeColumn, labelColumn] = columns.map(
    (name) => available.find((column) => column.name === name)!,
  ) as [SourceColumn, SourceColumn, SourceColumn, SourceColumn];
  const readable = (column: SourceColumn) => dialect.arrivesAsCast(column);
  const user = readable(userColumn) && dialect.id("c0", userColumn.type, "user");
  const item = readable(itemColumn) && dialect.id("c1", itemColumn.type, "item");
  const time = readable(timeColumn) && dialect.time("c2", timeColumn.type);
  const label = readable(labelColumn) && dialect.label("c3", labelColumn.type, schema.interaction.label);
  if (!user) return { column: userColumn, meaning: "an integer or a text" };
  if (!item) return { column: itemColumn, meaning: "an integer or a text" };
  if (!time) return { column: timeColumn, meaning: "a timestamp or epoch numbers" };
  if (!label) return { column: labelColumn, meaning: "a boolean, a number or a text" };
  return { dialect, query, columns, rules: { user, item, time, label }, unit: 1, nowSeconds };
}
