import type { DuckDBDataChunk } from "@duckdb/node-api";
import type { ItemIdType } from "../../shared/ids.ts";
import type { ModelSchema } from "../../shared/model-spec.ts";
import type { PackedStrings } from "../../shared/packed-strings.ts";
import { StageError } from "../stage-error.ts";
import type { Interactions } from "./dataset.ts";
import { type IdExpression, idExpression } from "./id-expression.ts";
import { labelExpression } from "./label-expression.ts";
import { readStaged, runStaged, type StagedTable, type Staging, streamStaged } from "./staging.ts";
import { SECONDS_MAX, type TimeUnit, timeExpression, unitCounts, unitOf } from "./time-expression.ts";

/** Why rows were refused: how many, and the positions (from 1) of the first few in the query's result. */
export type Rejected = Readonly<Record<string, { readonly count: number; readonly firstRows: readonly number[] }>>;

export type StagedInteractions = {
  readonly table: StagedTable;
  readonly itemIdType: ItemIdType;
  readonly rejected: Rejected;
  readonly accepted: number;
  /** SQL of a row: its keys and values, and `reason`, NULL when it is accepted. */
  readonly checkedSql: string;
  readonly userKey: IdExpression;
  readonly itemKey: IdExpression;
  readonly hasRatings: boolean;
};

export type CheckOptions = { readonly nowSeconds: number; readonly signal: AbortSignal };

const DAY_SECONDS = 86_400;
const FIRST_ROWS = 5;
const PROGRESS_EVERY_CHUNKS = 64;

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
  const unit = time.number === null ? 1 : await unitOfColumn(staging, table, time.number, options.signal);
  const reason = `coalesce(${userKey.reason}, ${itemKey.reason}, CASE
    WHEN time_missing THEN 'missing_time' WHEN seconds IS NULL THEN 'unparsable_time'
    WHEN seconds < 0 OR seconds > ${SECONDS_MAX} THEN 'time_out_of_range'
    WHEN seconds > ${options.nowSeconds + DAY_SECONDS} THEN 'future_time'
    WHEN label_missing THEN 'missing_label' WHEN positive IS NULL THEN 'unparsable_label' END)`;
  const checkedSql = `(SELECT row, ${userKey.key} AS user_key, ${itemKey.key} AS item_key, seconds, positive, rating,
    ${reason} AS reason
    FROM (SELECT rowid AS row, c0, c1, ${time.seconds(unit)} AS seconds, ${time.isMissing} AS time_missing,
      ${label.positive} AS positive, ${label.rating ?? "NULL::FLOAT"} AS rating, ${label.isMissing} AS label_missing
      FROM ${table.name}))`;

  const rejected = await countRejected(staging, checkedSql, options.signal);
  const refused = Object.values(rejected).reduce((sum, { count }) => sum + count, 0);
  const itemIdType = await itemIdTypeOf(staging, { checkedSql, itemKey, signal: options.signal });
  const hasRatings = label.rating !== null;
  return { table, itemIdType, rejected, accepted: table.rows - refused, checkedSql, userKey, itemKey, hasRatings };
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

async function unitOfColumn(
  staging: Staging,
  table: StagedTable,
  number: string,
  signal: AbortSignal,
): Promise<TimeUnit> {
  const [counts] = await readStaged(staging, `SELECT ${unitCounts(number)} FROM ${table.name}`, signal);
  const count = (unit: TimeUnit) => Number(counts![`u${unit}`]);
  return unitOf({
    1: count(1),
    1000: count(1_000),
    1000000: count(1_000_000),
    1000000000: count(1_000_000_000),
  });
}

async function countRejected(staging: Staging, checkedSql: string, signal: AbortSignal): Promise<Rejected> {
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
  { checkedSql, itemKey, signal }: { checkedSql: string; itemKey: IdExpression; signal: AbortSignal },
): Promise<ItemIdType> {
  if (itemKey.isIntegral === null) return itemKey.jsonType;
  const isIntegral = itemKey.isIntegral.replaceAll("c1", "item_key");
  const [row] = await readStaged(
    staging,
    `SELECT coalesce(bool_and(${isIntegral}), false) AS all_integral FROM ${checkedSql} WHERE reason IS NULL`,
    signal,
  );
  return row!.all_integral === true ? "integer" : "string";
}

/**
 * Numbers the users and items: tables `users (key, text)` and `items (text)`, sorted by text, whose rowid is the index;
 * and `item_keys (key, item)`.
 *
 * @param moreItems SQL of a relation of further item ids, column `text`: those known by their attributes only.
 */
export async function numberIds(
  staging: Staging,
  { checkedSql, userKey, itemKey }: StagedInteractions,
  { moreItems, signal }: { readonly moreItems: string | null; readonly signal: AbortSignal },
): Promise<void> {
  const distinct = (column: string) => `(SELECT DISTINCT ${column} AS key FROM ${checkedSql} WHERE reason IS NULL)`;
  const run = (sql: string) => runStaged(staging, sql, signal);
  // Insertion order is kept, so rowid is the position in the order.
  await run(`CREATE TABLE users AS SELECT key, ${userKey.text} AS text FROM ${distinct("user_key")} ORDER BY text`);
  await run(`CREATE TABLE item_texts AS SELECT key, ${itemKey.text} AS text FROM ${distinct("item_key")}`);
  const more = moreItems === null ? "" : `UNION SELECT text FROM ${moreItems}`;
  await run(`CREATE TABLE items AS SELECT text FROM (SELECT text FROM item_texts ${more}) ORDER BY text`);
  await run(`CREATE TABLE item_keys AS
    SELECT item_texts.key AS key, CAST(items.rowid AS INTEGER) AS item FROM item_texts JOIN items USING (text)`);
}

/** Order of a user's interactions of the same second: by item id, or as the rows came. */
export type TieOrder = "item_id" | "row";

export type ReadInteractions = { readonly interactions: Interactions; readonly duplicates: number };

/**
 * The accepted rows as arrays, users and items numbered as numberIds did. Rows of the same user, item and second are
 * one interaction, the one with the strongest label.
 */
export async function readInteractions(
  staging: Staging,
  staged: StagedInteractions,
  { tieOrder, signal, progress }: { tieOrder: TieOrder; signal: AbortSignal; progress: (rows: number) => void },
): Promise<ReadInteractions> {
  const [counts] = await readStaged(
    staging,
    "SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM items) AS items",
    signal,
  );
  const order = tieOrder === "row" ? "row" : "item, positive DESC, rating DESC";
  const sql = `SELECT CAST(users.rowid AS INTEGER) AS user, item, CAST(seconds AS UINTEGER) AS seconds, positive, rating
    FROM ${staged.checkedSql} checked JOIN users ON users.key = user_key JOIN item_keys ON item_keys.key = item_key
    WHERE reason IS NULL ORDER BY user, seconds, ${order}`;
  const collector = collectInteractions({
    rows: staged.accepted,
    userCount: Number(counts!.users),
    itemCount: Number(counts!.items),
    hasRatings: staged.hasRatings,
    tieOrder,
  });
  let rows = 0;
  let chunks = 0;
  for await (const chunk of streamStaged(staging, sql, signal)) {
    collector.add(chunk);
    rows += chunk.rowCount;
    if (++chunks % PROGRESS_EVERY_CHUNKS === 0) progress(rows);
  }
  return collector.end();
}

type CollectSize = {
  readonly rows: number;
  readonly userCount: number;
  readonly itemCount: number;
  readonly hasRatings: boolean;
  readonly tieOrder: TieOrder;
};

/** Takes rows sorted by user and second: columns user, item, second, positive, rating. */
function collectInteractions(size: CollectSize) {
  const userStart = new Uint32Array(size.userCount + 1);
  const items = new Int32Array(size.rows);
  const times = new Uint32Array(size.rows);
  const positive = new Uint8Array(size.rows);
  const ratings = size.hasRatings ? new Float32Array(size.rows) : null;
  let count = 0;
  let duplicates = 0;
  let lastUser = -1;
  let lastSecond = -1;
  const rowOfItem = new Map<number, number>(); // of the last user and second, when rows keep their order

  /** The kept row of this user, second and item, or −1. */
  const sameRow = (user: number, second: number, item: number): number => {
    if (user !== lastUser || second !== lastSecond) {
      rowOfItem.clear();
      lastUser = user;
      lastSecond = second;
      return -1;
    }
    if (items[count - 1] === item) return count - 1;
    return rowOfItem.get(item) ?? -1;
  };

  return {
    add(chunk: DuckDBDataChunk): void {
      const [users, itemOf, seconds, labels, values] = [0, 1, 2, 3, 4].map((i) => chunk.getColumnVector(i));
      for (let i = 0; i < chunk.rowCount; i++) {
        const user = users!.getItem(i) as number;
        const item = itemOf!.getItem(i) as number;
        const second = seconds!.getItem(i) as number;
        const label = labels!.getItem(i) as number;
        const same = sameRow(user, second, item);
        const row = same >= 0 ? same : count++;
        duplicates += same >= 0 ? 1 : 0;
        items[row] = item;
        times[row] = second;
        positive[row] = same >= 0 ? Math.max(positive[row]!, label) : label;
        if (ratings) {
          const value = values!.getItem(i) as number;
          ratings[row] = same >= 0 ? Math.max(ratings[row]!, value) : value;
        }
        if (size.tieOrder === "row") rowOfItem.set(item, row);
        userStart[user + 1] = count;
      }
    },
    end(): ReadInteractions {
      const cut = <Column extends Int32Array | Uint32Array | Uint8Array | Float32Array>(column: Column) =>
        (count === size.rows ? column : column.slice(0, count)) as Column;
      const { userCount, itemCount } = size;
      const columns = {
        items: cut(items),
        times: cut(times),
        positive: cut(positive),
        ratings: ratings && cut(ratings),
      };
      return { interactions: { userCount, itemCount, userStart, ...columns }, duplicates };
    },
  };
}

/** The texts of `users` or `items` by index. */
export async function readIds(staging: Staging, table: "users" | "items", signal: AbortSignal): Promise<PackedStrings> {
  const [size] = await readStaged(
    staging,
    `SELECT count(*) AS count, coalesce(sum(strlen(text)), 0) AS bytes FROM ${table}`,
    signal,
  );
  const bytes = new Uint8Array(Number(size!.bytes));
  const start = new Uint32Array(Number(size!.count) + 1);
  const encoder = new TextEncoder();
  let index = 0;
  let end = 0;
  for await (const chunk of streamStaged(staging, `SELECT text FROM ${table} ORDER BY rowid`, signal)) {
    const texts = chunk.getColumnVector(0);
    for (let i = 0; i < chunk.rowCount; i++) {
      end += encoder.encodeInto(texts.getItem(i) as string, bytes.subarray(end)).written;
      start[++index] = end;
    }
  }
  return { bytes, start };
}
