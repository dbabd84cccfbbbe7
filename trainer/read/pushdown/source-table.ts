import type { ModelSchema } from "../../../shared/model-spec.ts";
import type { SourceColumn } from "../connectors/source-rows.ts";
import { interactionColumns } from "../dataset/check-interactions.ts";
import { SECONDS_MAX, type TimeUnit } from "../dataset/time-expression.ts";
import type { Dialect } from "./dialect.ts";
import type { SourceTable } from "./relation.ts";

export type SourceQuery = {
  readonly dialect: Dialect;
  readonly query: string;
  /** What the query gives, as its connector tells. */
  readonly available: readonly SourceColumn[];
  readonly schema: ModelSchema;
  readonly nowSeconds: number;
};

/** The column whose type the language cannot read as the trainer does, and what it should be. */
export type Unreadable = { readonly column: SourceColumn; readonly meaning: string };

const DAY_SECONDS = 86_400;

/** The query with its checks, for times of a unit; or the column that stands in the way. Every column is there. */
export function sourceTable(source: SourceQuery, unit: TimeUnit): SourceTable | Unreadable {
  const { dialect, schema, nowSeconds } = source;
  const names = interactionColumns(schema) as [string, string, string, string];
  const [user, item, time, label] = names.map((name) => source.available.find((column) => column.name === name)!);
  const readable = (column: SourceColumn) => dialect.arrivesAsCast(column);
  const userId = readable(user!) && dialect.id("c0", user!.type, "user");
  const itemId = readable(item!) && dialect.id("c1", item!.type, "item");
  const times = readable(time!) && dialect.time("c2", time!.type);
  const labels = readable(label!) && dialect.label("c3", label!.type, schema.interaction.label);
  if (!userId) return { column: user!, meaning: "an integer or a text" };
  if (!itemId) return { column: item!, meaning: "an integer or a text" };
  if (!times) return { column: time!, meaning: "a timestamp or epoch numbers" };
  if (!labels) return { column: label!, meaning: "a boolean, a number or a text" };
  return {
    dialect,
    query: source.query,
    columns: names,
    facts: {
      user: userId.key,
      item: itemId.key,
      userIsInteger: userId.isInteger,
      itemIsInteger: itemId.isInteger,
      seconds: times.seconds(unit),
      timeNumber: times.number,
      positive: labels.positive,
      rating: labels.number,
      reason: `COALESCE(${userId.reason}, ${itemId.reason}, CASE
        WHEN time_missing = 1 THEN 'missing_time' WHEN seconds IS NULL THEN 'unparsable_time'
        WHEN seconds < 0 OR seconds > ${SECONDS_MAX} THEN 'time_out_of_range'
        WHEN seconds > ${nowSeconds + DAY_SECONDS} THEN 'future_time'
        WHEN label_missing = 1 THEN 'missing_label' WHEN positive IS NULL THEN 'unparsable_label' END)`,
      missing: [
        { name: "time_missing", sql: `CASE WHEN ${times.isMissing} THEN 1 ELSE 0 END` },
        { name: "label_missing", sql: `CASE WHEN ${labels.isMissing} THEN 1 ELSE 0 END` },
      ],
    },
  };
}
