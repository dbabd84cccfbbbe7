/**
 * What the trainer needs of an interaction query that is too large for its memory, as a small logical plan, and its SQL
 * for each kind of store. Every order is total and every hash is of the id's text, so each store gives the same rows.
 */
import { innerQuery } from "../connectors/sql-text.ts";
import { checkedRowsSql } from "../rules/row-rules.ts";
import type { SourceTable } from "./source-table.ts";

/**
 * Interactions with the columns user_id, item_id, seconds, positive and, where there are such, rating (of a Rating or a Weight) and
 * session_id.
 */
export type Facts =
  /** The rows that break no rule. */
  | { readonly kind: "accepted" }
  /** One row for each user, item and second, with the strongest label, in the session with the smallest name. */
  | { readonly kind: "distinct"; readonly of: Facts }
  /** Rows of the users whose MD5 begins at `from` or above, and below `below`: 80000000 is always the same half of the users. */
  | { readonly kind: "sampled"; readonly of: Facts; readonly from?: string; readonly below?: string }
  /** Each user's newest rows; rows of the same second are ordered by tieHash. */
  | { readonly kind: "newest"; readonly of: Facts; readonly perUser: number };

export const ACCEPTED: Facts = { kind: "accepted" };
/** The interactions of a dataset. */
export const DISTINCT: Facts = { kind: "distinct", of: ACCEPTED };

/** Eight hex digits of a fraction of all hashes, from 0 to below 1. */
export const hashAt = (fraction: number): string =>
  Math.floor(fraction * 2 ** 32)
    .toString(16)
    .padStart(8, "0");

/** The facts in slices of about as many users each. */
export function slicesOf(facts: Facts, count: number): Facts[] {
  if (count <= 1) return [facts];
  return Array.from({ length: count }, (_, i) => ({
    kind: "sampled",
    of: facts,
    ...(i > 0 && { from: hashAt(i / count) }),
    ...(i < count - 1 && { below: hashAt((i + 1) / count) }),
  }));
}

export type Relation =
  /** reason (NULL: accepted), row_count */
  | { readonly kind: "reasons" }
  /** One row of aggregates over the column c2, which say how its times are read */
  | { readonly kind: "times"; readonly aggregates: string }
  /** users, interactions, positives, first_second, last_second, and newest: interactions, at most `perUser` of each user */
  | { readonly kind: "totals"; readonly of: Facts; readonly perUser: number }
  /** item_id, once for each item */
  | { readonly kind: "items"; readonly of: Facts }
  /** The facts, with the column names of the interaction query. */
  | { readonly kind: "rows"; readonly of: Facts }
  /**
   * user_hash (24 hex digits of the salted id), item_id, seconds, positive, tie_hash: the positive rows, each user, item and second once,
   * and the newest negative row of each user and item. The rows have no order, since distributed stores cannot sort large results. Stores
   * group the rows once and number none, so a user with millions of rows is no burden; the spool keeps the newest.
   */
  | {
      readonly kind: "records";
      readonly of: Facts;
      readonly saltHex: string;
      /** Salt of another column, erased_hash (16 hex digits), by which erased users are recognised; null: no such column. */
      readonly erasedSalt: string | null;
    };

/** A SELECT of the relation in the store's SQL. */
export function relationSql(relation: Relation, table: SourceTable): string {
  switch (relation.kind) {
    case "reasons":
      return `SELECT reason, COUNT(*) AS row_count FROM (${checkedSql(table)}) AS checked GROUP BY reason`;
    case "times":
      return `SELECT ${relation.aggregates} FROM (${columnsSql(table)}) AS given`;
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

/** The columns that not every source has, each as `sqlOf` gives it. */
const furtherColumns = ({ rules }: SourceTable, sqlOf: (column: string) => string) =>
  [...(rules.label.rating === null ? [] : ["rating"]), ...(rules.session ? ["session_id"] : [])]
    .map((column) => `, ${sqlOf(column)}`)
    .join("");

function factsSql(facts: Facts, table: SourceTable): string {
  const columns = `user_id, item_id, seconds, positive${furtherColumns(table, (column) => column)}`;
  switch (facts.kind) {
    case "accepted":
      return `SELECT ${columns} FROM (${checkedSql(table)}) AS checked WHERE reason IS NULL`;
    case "distinct": {
      const kept = { rating: "MAX(rating)", session_id: "MIN(session_id)" } as Record<string, string>;
      const further = furtherColumns(table, (column) => `${kept[column]} AS ${column}`);
      return `SELECT user_id, item_id, seconds, MAX(positive) AS positive${further}
        FROM (${factsSql(facts.of, table)}) AS facts GROUP BY user_id, item_id, seconds`;
    }
    case "sampled": {
      const { dialect } = table;
      const hash = dialect.byCodePoint(dialect.md5(textOf("user", table)));
      const bounds = [
        ...(facts.from === undefined ? [] : [`${hash} >= '${facts.from}'`]),
        ...(facts.below === undefined ? [] : [`${hash} < '${facts.below}'`]),
      ];
      return `SELECT ${columns} FROM (${factsSql(facts.of, table)}) AS facts WHERE ${bounds.join(" AND ")}`;
    }
    case "newest":
      return `SELECT ${columns} FROM (SELECT ${columns},
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY ${newestFirst(table, tieHashOf(table))}) AS place
        FROM (${factsSql(facts.of, table)}) AS facts) AS placed WHERE place <= ${facts.perUser}`;
  }
}

/** The id as the text that the trainer uses for it. */
const textOf = (which: "user" | "item", { dialect, rules }: SourceTable): string =>
  rules[which].isInteger ? dialect.digits(`${which}_id`) : `${which}_id`;

/** Eight hex digits that order a user's rows of the same second, as in dataset/read-interactions.ts. */
const tieHashOf = (table: SourceTable) =>
  `SUBSTR(${table.dialect.md5(`${textOf("user", table)} || ${textOf("item", table)}`)}, 1, 8)`;

/** An order with the newest rows first. The item makes it total, since two items may have the same hash. */
const newestFirst = (table: SourceTable, tieHash: string) => {
  const { byCodePoint } = table.dialect;
  return `seconds DESC, ${byCodePoint(tieHash)} DESC, ${byCodePoint(textOf("item", table))} DESC`;
};

/** The customer's rows, with columns named by position. */
function columnsSql({ dialect, query, columns }: SourceTable): string {
  const list = columns.map((name, i) => `${dialect.identifier(name)} AS c${i}`).join(", ");
  return `SELECT ${list} FROM (\n${innerQuery(query)}\n) AS source`;
}

const checkedSql = (table: SourceTable): string =>
  checkedRowsSql(table.rules, { from: `(${columnsSql(table)})`, unit: table.unit, nowSeconds: table.nowSeconds });

function totalsSql({ of, perUser }: Extract<Relation, { kind: "totals" }>, table: SourceTable): string {
  return `SELECT COUNT(*) AS users, SUM(user_rows) AS interactions, SUM(user_positives) AS positives,
      MIN(user_first) AS first_second, MAX(user_last) AS last_second,
      SUM(CASE WHEN user_rows < ${perUser} THEN user_rows ELSE ${perUser} END) AS newest
    FROM (SELECT user_id, COUNT(*) AS user_rows, SUM(positive) AS user_positives,
      MIN(seconds) AS user_first, MAX(seconds) AS user_last
      FROM (${factsSql(of, table)}) AS facts GROUP BY user_id) AS by_user`;
}

function rowsSql(of: Facts, table: SourceTable): string {
  const [user, item, time, label, session] = table.columns.map(table.dialect.identifier);
  const value = table.rules.label.rating === null ? "positive" : "rating";
  const named = session === undefined ? "" : `, session_id AS ${session}`;
  return `SELECT user_id AS ${user}, item_id AS ${item}, seconds AS ${time}, ${value} AS ${label}${named}
    FROM (${factsSql(of, table)}) AS facts`;
}

function recordsSql(records: Extract<Relation, { kind: "records" }>, table: SourceTable): string {
  const { of, saltHex, erasedSalt } = records;
  const { dialect } = table;
  const user = textOf("user", table);
  const erased =
    erasedSalt === null
      ? ""
      : `, SUBSTR(${dialect.sha256(Buffer.from(erasedSalt, "utf8").toString("hex"), user)}, 1, 16) AS erased_hash`;
  return `SELECT SUBSTR(${dialect.sha256(saltHex, user)}, 1, 24) AS user_hash, item_id, seconds, positive,
      ${tieHashOf(table)} AS tie_hash${erased}
    FROM (SELECT user_id, item_id, positive, MAX(seconds) AS seconds FROM (${factsSql(of, table)}) AS facts
      GROUP BY user_id, item_id, positive, CASE WHEN positive = 1 THEN seconds END) AS kept`;
}
