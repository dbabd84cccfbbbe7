import type { ItemIdType } from "../../../shared/ids.ts";
import type { ModelSchema } from "../../../shared/model-spec.ts";
import { StageError } from "../../stage/stage-error.ts";
import { type IdExpression, idExpression } from "./id-expression.ts";
import { labelExpression } from "./label-expression.ts";
import { readStaged, type StagedTable, type Staging } from "./staging.ts";
import { SECONDS_MAX, timeExpression, timeUnitOf } from "./time-expression.ts";

/** Why rows were refused: how many, and the positions (from 1) of the first few in the query's result. */
export type Rejected = Readonly<Record<string, { readonly count: number; readonly firstRows: readonly number[] }>>;

export type StagedInteractions = {
  readonly table: StagedTable;
  readonly itemIdType: ItemIdType;
  readonly rejected: Rejected;
  readonly accepted: number;
  /** SQL of the accepted rows: columns row, user_key, item_key, seconds, positive, rating. */
  readonly acceptedSql: string;
  readonly userKey: IdExpression;
  readonly itemKey: IdExpression;
  readonly hasRatings: boolean;
};

export type CheckOptions = { readonly nowSeconds: number; readonly signal: AbortSignal };

const DAY_SECONDS = 86_400;
const FIRST_ROWS = 5;

/** The columns that a schema reads of the interaction query, in the order in which they are staged. */
export const interactionColumns = ({ user, item, interaction }: ModelSchema): string[] => [
  user.id,
  item.id,
  interaction.created_at,
  interaction.label.name,
];

/**
 * Staged rows, each judged: the first rule it breaks is its reason. Nothing is stored; later steps read through the
 * same expressions.
 *
 * Throws StageError `unsupported_column_type` when a column cannot hold what the schema says.
 */
export async function checkInteractions(
  staging: Staging,
  table: StagedTable,
  schema: ModelSchema,
  options: CheckOptions,
): Promise<StagedInteractions> {
  const { userKey, itemKey, time, label } = expressionsOf(table, schema);
  const { signal } = options;
  const unit = await timeUnitOf(time, async (counts) => {
    const [row] = await readStaged(staging, `SELECT ${counts} FROM ${table.name}`, signal);
    return row!;
  });
  const reason = `coalesce(${userKey.reason}, ${itemKey.reason}, CASE
    WHEN time_missing THEN 'missing_time' WHEN seconds IS NULL THEN 'unparsable_time'
    WHEN seconds < 0 OR seconds > ${SECONDS_MAX} THEN 'time_out_of_range'
    WHEN seconds > ${options.nowSeconds + DAY_SECONDS} THEN 'future_time'
    WHEN label_missing THEN 'missing_label' WHEN positive IS NULL THEN 'unparsable_label' END)`;
  const checkedSql = `(SELECT row, ${userKey.key} AS user_key, ${itemKey.key} AS item_key, seconds, positive, rating,
    ${reason} AS reason FROM (SELECT rowid AS row, c0, c1, ${time.seconds(unit)} AS seconds, ${time.isMissing} AS time_missing,
      ${label.positive} AS positive, ${label.rating ?? "NULL::FLOAT"} AS rating, ${label.isMissing} AS label_missing
      FROM ${table.name}))`;

  const rejected = await rejectedByReason(staging, checkedSql, signal);
  const refused = Object.values(rejected).reduce((sum, { count }) => sum + count, 0);
  // Without refused rows nothing is judged again, and each later step reads only the columns that it needs.
  const acceptedSql = `(SELECT * EXCLUDE (reason) FROM ${checkedSql}${refused === 0 ? "" : " WHERE reason IS NULL"})`;
  const itemIdType = await itemIdTypeOf(staging, { acceptedSql, itemKey, signal });
  const hasRatings = label.rating !== null;
  return { table, itemIdType, rejected, accepted: table.rows - refused, acceptedSql, userKey, itemKey, hasRatings };
}

function expressionsOf({ columns }: StagedTable, schema: ModelSchema) {
  const [userColumn, itemColumn, timeColumn, labelColumn] = columns;
  const refuse = (index: number, meaning: string): never => {
    const { name, type } = columns[index]!;
    throw new StageError(
      "checking",
      "unsupported_column_type",
      `The column ${JSON.stringify(name)} has the type ${type}, which cannot be ${meaning}; convert it in the query`,
    );
  };
  return {
    userKey: idExpression("c0", userColumn!.type, "user") ?? refuse(0, "a user id"),
    itemKey: idExpression("c1", itemColumn!.type, "item") ?? refuse(1, "an item id"),
    time: timeExpression("c2", timeColumn!.type) ?? refuse(2, "a time"),
    label: labelExpression("c3", labelColumn!.type, schema.interaction.label) ?? refuse(3, "a label"),
  };
}

async function rejectedByReason(staging: Staging, checkedSql: string, signal: AbortSignal): Promise<Rejected> {
  const rows = await readStaged(
    staging,
    `SELECT reason, count(*) AS count, min(row, ${FIRST_ROWS}) AS first_rows
     FROM ${checkedSql} WHERE reason IS NOT NULL GROUP BY reason ORDER BY count(*) DESC, reason`,
    signal,
  );
  return Object.fromEntries(
    rows.map(({ reason, count, first_rows }) => [
      String(reason),
      { count: Number(count), firstRows: (first_rows as bigint[]).map((row) => Number(row) + 1) },
    ]),
  );
}

/** How ids look in answers. A column of doubles holds integers if each of its values is one. */
async function itemIdTypeOf(
  staging: Staging,
  { acceptedSql, itemKey, signal }: { acceptedSql: string; itemKey: IdExpression; signal: AbortSignal },
): Promise<ItemIdType> {
  if (itemKey.isIntegral === null) return itemKey.jsonType;
  const isIntegral = itemKey.isIntegral.replaceAll("c1", "item_key");
  const [row] = await readStaged(
    staging,
    `SELECT coalesce(bool_and(${isIntegral}), false) AS all_integral FROM ${acceptedSql}`,
    signal,
  );
  return row!.all_integral === true ? "integer" : "string";
}
