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
  const given = columns.map((name) => available.find((column) => column.name === name)!);
  const typeAt = (i: number) => (given[i] && dialect.arrivesAsCast(given[i]) ? given[i].type : undefined);
  const idAt = (i: number, which: "user" | "item") => {
    const type = typeAt(i);
    return type && dialect.id(`c${i}`, type, idReading(which, schema));
  };
  const [user, item, session] = [idAt(0, "user"), idAt(1, "item"), idAt(4, "user")];
  const [timeType, labelType] = [typeAt(2), typeAt(3)];
  const time = timeType && dialect.time("c2", timeType);
  const label = labelType && dialect.label("c3", labelType, schema.interaction.label);
  if (!user) return { column: given[0]!, meaning: "an integer or a text" };
  if (!item) return { column: given[1]!, meaning: "an integer or a text" };
  if (!time) return { column: given[2]!, meaning: "a timestamp or epoch numbers" };
  if (!label) return { column: given[3]!, meaning: "a boolean, a number or a text" };
  if (given[4] && !session) return { column: given[4], meaning: "an integer or a text" };
  return { dialect, query, columns, rules: { user, item, time, label, session }, unit: 1, nowSeconds };
}
