import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import type { Label } from "../../../shared/model-spec.ts";
import type { SourceColumn } from "../connectors/source-rows.ts";
import type { LabelExpression } from "../dataset/label-expression.ts";
import type { TimeExpression } from "../dataset/time-expression.ts";

/**
 * How a column of ids is read: an integer as it is, anything else as the text that the trainer would take for the id.
 */
export type PushedId = {
  readonly key: string;
  readonly isInteger: boolean;
  /** Why a value is no id, or NULL. */
  readonly reason: string;
};

export type PushedLabel = LabelExpression & {
  /** Of a Rating: the number as the trainer's own check is to see it. */
  readonly number: string | null;
};

/**
 * What differs between the languages of stores. Each expression means, value by value, what the checks of `dataset/`
 * mean for the type that the connector gives; undefined where a store cannot say the same.
 */
export type Dialect = {
  readonly name: string;
  identifier(name: string): string;
  /** Whether the column's values arrive as the texts and numbers that the store's own casts give. */
  arrivesAsCast(column: SourceColumn): boolean;
  id(column: string, type: DuckDBType, which: "user" | "item"): PushedId | undefined;
  time(column: string, type: DuckDBType): TimeExpression | undefined;
  label(column: string, type: DuckDBType, label: Label): PushedLabel | undefined;
  /** A literal to compare a column of timestamps or days with. `utc` looks like `2026-11-20 08:00:00`. */
  timeLiteral(column: SourceColumn, utc: string): string;
  /** A number's magnitude; never overflows. */
  magnitude(number: string): string;
  /** An integer as decimal digits. */
  digits(integer: string): string;
  /** A text that compares by code point. */
  byCodePoint(text: string): string;
  /** MD5 of a text's UTF-8, as 32 hex digits. */
  md5(text: string): string;
  /** SHA-256 of the salt's bytes and a text's UTF-8, as 64 hex digits. */
  sha256(saltHex: string, text: string): string;
};

/** What DuckDB's trim takes away: Unicode's space separators. */
export const SPACES =
  " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000";

/**
 * POSIX and RE2: a decimal number whose value no store finds too large or too small. The spaces around it are those
 * that DuckDB's cast takes away, such as the CR of a line.
 */
export const NUMBER_PATTERN =
  "^[[:space:]]*[+-]?([0-9]{1,200}([.][0-9]{0,80})?|[.][0-9]{1,80})([eE][+-]?[0-9]{1,2})?[[:space:]]*$";

/**
 * What people write for yes and no, as positiveWord (dataset/label-expression.ts) reads it. `word` is trimmed and in
 * lower case.
 */
const wordCase = (word: string): string =>
  `CASE WHEN ${word} IN ('true', 't', 'yes', 'y', '1') OR rtrim(${word}, '0') = '1.' THEN 1
    WHEN ${word} IN ('false', 'f', 'no', 'n', '0') OR rtrim(${word}, '0') = '0.' THEN 0 END`;

const zeroOrOne = (number: string): string => `CASE WHEN ${number} = 1 THEN 1 WHEN ${number} = 0 THEN 0 END`;

/** A Rating by its number, which is NULL where the value is none. */
const ratingOf = (number: string, isMissing: string, { positive_from }: { positive_from: number }): PushedLabel => ({
  positive: `CASE WHEN ${number} >= ${positive_from} THEN 1 WHEN ${number} < ${positive_from} THEN 0 END`,
  rating: number,
  number,
  isMissing,
});

/** What stores that are not DuckDB say differently of labels. Columns and texts are SQL. */
export type LabelParts = {
  /** Types of numbers by which the store's connector gives columns. */
  readonly numbers: readonly DuckDBTypeId[];
  /** The column's text without SPACES at its ends. */
  trimmed(column: string): string;
  lower(text: string): string;
  /** Of a truth value 1 or 0. */
  asInteger(column: string): string;
  /** A Rating's number, NULL where the value is none. */
  ratingNumber(column: string, typeId: DuckDBTypeId): string;
};

/** Reads labels as `dataset/label-expression.ts` does. */
export const labelBy =
  ({ numbers, trimmed, lower, asInteger, ratingNumber }: LabelParts): Dialect["label"] =>
  (column, { typeId }, meant) => {
    const isText = typeId === DuckDBTypeId.VARCHAR;
    const isTruth = typeId === DuckDBTypeId.BOOLEAN;
    if (!numbers.includes(typeId) && !isText && !isTruth) return undefined;
    const isMissing = isText ? `(${column} IS NULL OR ${trimmed(column)} = '')` : `${column} IS NULL`;
    if (meant.type === "Rating") return ratingOf(ratingNumber(column, typeId), isMissing, meant);
    const whole = isTruth ? asInteger(column) : zeroOrOne(column);
    return { positive: isText ? wordCase(lower(trimmed(column))) : whole, rating: null, number: null, isMissing };
  };
