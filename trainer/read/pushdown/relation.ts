/**
 * The heavy relational work of a training, as a small logical plan: what is wanted of a customer's query, said once,
 * and written in the language of the store that holds the rows. Every order is total and every hash is of the id's
 * text, so each store gives the same rows.
 */
import { innerQuery } from "../connectors/sql-text.ts";
import { checkedRowsSql, unitCountsSql } from "../rules/row-rules.ts";
import type { SourceTable } from "./source-table.ts";

/** Columns user_id, item_id, seconds, positive and, of a Rating, rating. */
export type Facts =
  /** The rows that pass the trainer's checks. */
  | { readonly kind: "accepted" }
  /** Rows of the same user, item and second as one, with the strongest label. */
  | { readonly kind: "distinct"; readonly of: Facts }
  /**
   * Rows of the users whose hash lies below: eight hex digits, so 80000000 is half of them, and always the same half.
   */
  | { readonly kind: "sampled"; readonly of: Facts; readonly below: string }
  /** Each user's newest rows; of the same second by lot. */
  | { readonly kind: "newest"; readonly of: Facts; readonly perUser: number };

/** What the trainer takes for facts: each once. */
export const DISTINCT: Facts = { kind: "distinct", of: { kind: "accepted" } };

export type Relation =
  /** reason (NULL: accepted), row_count */
  | { readonly kind: "reasons" }
  /** u1, u1000, u1000000, u1000000000: numbers in the time column by the unit that their size speaks for */
  | { readonly kind: "units" }
  /** users, interactions, positives, first_second, last_second, and of each user at most so many: newest */
  | { readonly kind: "totals"; readonly of: Facts; readonly perUser: number }
  /** item_id of every item of the facts */
  | { readonly kind: "items"; readonly of: Facts }
  /** The facts under the names of the specification's columns. */
  | { readonly kind: "rows"; readonly of: Facts }
  /**
   * user_hash (24 hex digits of the salted id), item_id, seconds, positive, lot (the order of rows of the same user and
   * second): of each user one row an item, and the newest positive ones. In no order: stores that are many machines sort
   * small results only.
   */
  | {
      readonly kind: "records";
      readonly of: Facts;
      readonly saltHex: string;
      readonly historyMax: number;
      /** Also erased_hash, 16 hex digits: by which the trainer knows users who are to be forgotten. */
      readonly erasedSalt: string | null;
    };

/** One SELECT that gives the relation. */
export function relationSql(relation: Relation, table: SourceTable): string {
  switch (relation.kind) {
    case "reasons":
      return `SELECT reason, COUNT(*) AS row_count FROM (${checkedSql(table)}) AS checked GROUP BY reason`;
    case "units":
      return unitsSql(table);
    case "totals":
      return totalsSql(relation, table);
    case "items":
      return `SELECT DISTINCT item_id FROM (${factsSql(relation.of, table)}) AS facts`;
    case "rows":
      return rowsSql(relation.of, table);
    case "records":
      return recordsSql(relation, table);
  }
}

const ratingOf = ({ rules }: SourceTable, sql: string) => (rules.label.rating === null ? "" : `, ${sql}`);

function factsSql(facts: Facts, table: SourceTable): string {
  const columns = `user_id, item_id, seconds, positive${ratingOf(table, "rating")}`;
  switch (facts.kind) {
    case "accepted":
      return `SELECT ${columns} FROM (${checkedSql(table)}) AS checked WHERE reason IS NULL`;
    case "distinct":
      return `SELECT user_id, item_id, seconds, MAX(positive) AS positive${ratingOf(table, "MAX(rating) AS rating")}
        FROM (${factsSql(facts.of, table)}) AS facts GROUP BY user_id, item_id, seconds`;
    case "sampled": {
      const { dialect } = table;
      const hash = dialect.byCodePoint(dialect.md5(textOf("user", table)));
      return `SELECT ${columns} FROM (${factsSql(facts.of, table)}) AS facts WHERE ${hash} < '${facts.below}'`;
    }
    case "newest":
      return `SELECT ${columns} FROM (SELECT ${columns},
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY ${newestFirst(table, lotOf(table))}) AS place
        FROM (${factsSql(facts.of, table)}) AS facts) AS placed WHERE place <= ${facts.perUser}`;
  }
}

/** The id as the text by which the trainer knows it. */
const textOf = (which: "user" | "item", { dialect, rules }: SourceTable): string =>
  rules[which].isInteger ? dialect.digits(`${which}_id`) : `${which}_id`;

/**
 * Eight hex digits by which a user's rows of the same second are ordered, as in dataset/read-interactions.ts: for each user another
 * order of the items, else there would be something to learn of it.
 */
const lotOf = (table: SourceTable) =>
  `SUBSTR(${table.dialect.md5(`${textOf("user", table)} || ${textOf("item", table)}`)}, 1, 8)`;

/** The newest first; total, since two items may draw the same lot. */
const newestFirst = (table: SourceTable, lot: string) => {
  const { byCodePoint } = table.dialect;
  return `seconds DESC, ${byCodePoint(lot)} DESC, ${byCodePoint(textOf("item", table))} DESC`;
};

/** The customer's rows, their columns named by position. */
function columnsSql({ dialect, query, columns }: SourceTable): string {
  const list = columns.map((name, i) => `${dialect.identifier(name)} AS c${i}`).join(", ");
  return `SELECT ${list} FROM (\n${innerQuery(query)}\n) AS source`;
}

const checkedSql = (table: SourceTable): string =>
  checkedRowsSql(table.rules, { from: `(${columnsSql(table)})`, unit: table.unit, nowSeconds: table.nowSeconds });

const unitsSql = (table: SourceTable): string =>
  `SELECT ${unitCountsSql(table.dialect, table.rules.time.number ?? "NULL")} FROM (${columnsSql(table)}) AS given`;

function totalsSql({ of, perUser }: Extract<Relation, { kind: "totals" }>, table: SourceTable): string {
  return `SELECT COUNT(*) AS users, SUM(own) AS interactions, SUM(own_positives) AS positives,
      MIN(first_own) AS first_second, MAX(last_own) AS last_second,
      SUM(CASE WHEN own < ${perUser} THEN own ELSE ${perUser} END) AS newest
    FROM (SELECT user_id, COUNT(*) AS own, SUM(positive) AS own_positives,
      MIN(seconds) AS first_own, MAX(seconds) AS last_own
      FROM (${factsSql(of, table)}) AS facts GROUP BY user_id) AS by_user`;
}

function rowsSql(of: Facts, table: SourceTable): string {
  const [user, item, time, label] = table.columns.map(table.dialect.identifier);
  const value = table.rules.label.rating === null ? "positive" : "rating";
  return `SELECT user_id AS ${user}, item_id AS ${item}, seconds AS ${time}, ${value} AS ${label}
    FROM (${factsSql(of, table)}) AS facts`;
}

function recordsSql(records: Extract<Relation, { kind: "records" }>, table: SourceTable): string {
  const { of, saltHex, historyMax, erasedSalt } = records;
  const { dialect } = table;
  const user = textOf("user", table);
  const erased =
    erasedSalt === null
      ? ""
      : `, SUBSTR(${dialect.sha256(Buffer.from(erasedSalt, "utf8").toString("hex"), user)}, 1, 16) AS erased_hash`;
  return `SELECT SUBSTR(${dialect.sha256(saltHex, user)}, 1, 24) AS user_hash, item_id, seconds, positive, lot${erased} FROM (
    SELECT user_id, item_id, seconds, positive, lot,
      ROW_NUMBER() OVER (PARTITION BY user_id, item_id ORDER BY seconds DESC) AS item_place,
      ROW_NUMBER() OVER (PARTITION BY user_id, positive ORDER BY ${newestFirst(table, "lot")}) AS label_place
    FROM (SELECT user_id, item_id, seconds, positive, ${lotOf(table)} AS lot FROM (${factsSql(of, table)}) AS facts) AS drawn
    ) AS placed
    WHERE item_place = 1 OR (positive = 1 AND label_place <= ${historyMax})`;
}
