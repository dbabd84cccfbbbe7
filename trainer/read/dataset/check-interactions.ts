import type { ItemIdType } from "../../../shared/ids.ts";
import type { ModelSchema } from "../../../shared/model-spec.ts";
import { checkingError } from "../../stage/stage-error.ts";
import { idReading } from "../rules/dialect.ts";
import { DUCKDB } from "../rules/duckdb-dialect.ts";
import { type IdExpression, idExpression } from "../rules/id-expression.ts";
import { countRejected, FIRST_ROWS, type Rejected, rejectedOf } from "../rules/reject-reasons.ts";
import { checkedRowsSql } from "../rules/row-rules.ts";
import { stagedTimes } from "./staged-times.ts";
import { readRow, readStaged, type StagedTable, type Staging } from "./staging.ts";

export type StagedInteractions = {
  readonly table: StagedTable;
  readonly itemIdType: ItemIdType;
  readonly rejected: Rejected;
  readonly accepted: number;
  /** SQL of the accepted rows: columns row, user_id, item_id, seconds, positive, rating and, if sessions are named, session_id. */
  readonly acceptedSql: string;
  readonly userKey: IdExpression;
  readonly itemKey: IdExpression;
  readonly hasRatings: boolean;
  readonly hasSessions: boolean;
  /** What was guessed about the columns, for people. */
  readonly notes: readonly string[];
};

export type InteractionColumns = readonly [
  user: string,
  item: string,
  time: string,
  label: string,
  ...session: string[],
];

/**
 * The columns of the interaction query that are read. They are staged as c0 to c3, and the session as c4. Sessions that are users need
 * no column of their own.
 */
export const interactionColumns = ({ user, item, interaction }: ModelSchema): InteractionColumns => {
  const { created_at: time, label, session_id: session } = interaction;
  return [user.id, item.id, time, label.name, ...(session === undefined || session === user.id ? [] : [session])];
};

/**
 * Checks the staged rows by the rules of rules/row-rules.ts. Nothing is stored: later steps read the accepted rows through
 * the same SQL.
 *
 * Throws StageError `unsupported_column_type` when a column cannot hold what the schema says.
 */
export async function checkInteractions(
  staging: Staging,
  table: StagedTable,
  schema: ModelSchema,
  nowSeconds: number,
): Promise<StagedInteractions> {
  const given = rulesOf(table, schema);
  const { created_at: name, created_at_format: format } = schema.interaction;
  const { rule: time, unit, note } = await stagedTimes(staging, table.name, { name, rule: given.time, format });
  const rules = { ...given, time };
  const checkedSql = `(${checkedRowsSql(rules, { from: table.name, row: "rowid", unit, nowSeconds })})`;
  const rejected = await withExamples(staging, table, await rejectedByReason(staging, checkedSql));
  const rejectedRows = countRejected(rejected);
  // When every row is accepted, the reasons are not computed again, and a later step reads only the columns it needs.
  const acceptedSql = `(SELECT * EXCLUDE (reason) FROM ${checkedSql}${rejectedRows === 0 ? "" : " WHERE reason IS NULL"})`;
  const { user: userKey, item: itemKey } = rules;
  const itemIdType = await itemIdTypeOf(staging, acceptedSql, itemKey);
  const hasRatings = rules.label.rating !== null;
  return {
    table,
    itemIdType,
    rejected,
    accepted: table.rows - rejectedRows,
    acceptedSql,
    userKey,
    itemKey,
    hasRatings,
    hasSessions: rules.session !== undefined,
    notes: note === undefined ? [] : [note],
  };
}

function rulesOf({ columns }: StagedTable, schema: ModelSchema) {
  const [userColumn, itemColumn, timeColumn, labelColumn, sessionColumn] = columns;
  const refuse = (index: number, meaning: string): never => {
    const { name, type } = columns[index]!;
    throw checkingError(
      "unsupported_column_type",
      `The column ${JSON.stringify(name)} has the type ${type}, which cannot be ${meaning}; convert it in the query`,
    );
  };
  const [user, item] = [idReading("user", schema), idReading("item", schema)];
  return {
    user: idExpression("c0", userColumn!.type, user) ?? refuse(0, "a user id"),
    item: idExpression("c1", itemColumn!.type, item) ?? refuse(1, "an item id"),
    time: DUCKDB.time("c2", timeColumn!.type) ?? refuse(2, "a time"),
    label: DUCKDB.label("c3", labelColumn!.type, schema.interaction.label) ?? refuse(3, "a label"),
    session: sessionColumn && (idExpression("c4", sessionColumn.type, user) ?? refuse(4, "a session")),
  };
}

async function rejectedByReason(staging: Staging, checkedSql: string): Promise<Rejected> {
  const rows = await readStaged(
    staging,
    `SELECT reason, count(*) AS count, min(row, ${FIRST_ROWS}) AS first_rows
     FROM ${checkedSql} WHERE reason IS NOT NULL GROUP BY reason ORDER BY count(*) DESC, reason`,
  );
  return rejectedOf(
    rows.map(({ reason, count, first_rows }) => ({
      reason: String(reason),
      count: Number(count),
      firstRows: (first_rows as bigint[]).map((row) => Number(row) + 1),
    })),
  );
}

/** The column that a reason is about, whose values are shown. */
const SHOWN: Readonly<Record<string, string>> = {
  unparsable_time: "c2",
  time_out_of_range: "c2",
  unparsable_label: "c3",
};
const SHOWN_CHARACTERS = 60;
const EXAMPLES = 3;

/** The rejected rows with the first values that were refused. */
async function withExamples(staging: Staging, { name }: StagedTable, rejected: Rejected): Promise<Rejected> {
  const shown = Object.entries(rejected).map(async ([reason, found]) => {
    const column = SHOWN[reason];
    if (column === undefined) return [reason, found] as const;
    const rows = found.firstRows.slice(0, EXAMPLES).map((row) => row - 1);
    const values = await readStaged(
      staging,
      `SELECT left(CAST(${column} AS VARCHAR), ${SHOWN_CHARACTERS}) AS value FROM ${name} WHERE rowid IN (${rows.join(", ")}) ORDER BY rowid`,
    );
    return [reason, { ...found, examples: values.map(({ value }) => String(value)) }] as const;
  });
  return Object.fromEntries(await Promise.all(shown));
}

/** How ids look in answers. Ids of a column of doubles are integers if each accepted value is one. */
async function itemIdTypeOf(staging: Staging, acceptedSql: string, itemKey: IdExpression): Promise<ItemIdType> {
  if (itemKey.isIntegral === null) return itemKey.jsonType;
  const isIntegral = itemKey.isIntegral.replaceAll("c1", "item_id");
  const row = await readRow(
    staging,
    `SELECT coalesce(bool_and(${isIntegral}), false) AS all_integral FROM ${acceptedSql}`,
  );
  return row.all_integral === true ? "integer" : "string";
}
