import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { ID_BYTES_MAX, NULL_WORDS } from "../../../shared/ids.ts";
import type { Label } from "../../../shared/label.ts";
import type { ModelSchema } from "../../../shared/model-spec.ts";
import type { SourceColumn } from "../connectors/connector.ts";
import { INTEGERS } from "./column-kinds.ts";

/** How SQL reads a column of ids. */
export type IdRule = {
  /** A value of the column such that equal values are equal ids. */
  readonly key: string;
  /** Why a value of the column is no id, or NULL. */
  readonly reason: string;
};

/** Units per second in the numbers of a column of times. `day`: the digits of a day, such as 20241231. */
export type TimeUnit = 1 | 1_000 | 1_000_000 | 1_000_000_000 | "day";

/** How SQL reads a column of times. */
export type TimeRule = {
  /** Whole epoch seconds, NULL when the value is no time. */
  seconds(unit: TimeUnit): string;
  /** The column's numbers, whose size tells the unit; null when times are not numbers. */
  readonly number: string | null;
  /** Whether there is no value at all. */
  readonly isMissing: string;
  /** Epoch seconds of a text, or of the digits of a whole number, in a strptime format; NULL for another. Absent: of no other value. */
  secondsBy?(format: string): string;
  /** Of a column of texts in files and in the trainer's own database, which may be written in one of shared/time-formats.ts. */
  readonly texts?: {
    readonly text: string;
    /** Whether the text is neither ISO 8601 nor a number. */
    readonly isUnread: string;
  };
};

/** How SQL reads a column of labels. */
export type LabelRule = {
  /** 1 positive, 0 negative, NULL when the value is no label. */
  readonly positive: string;
  /** The number of a Rating or a Weight, NULL when the value is none; what eventValues has for an event; null for a Binary label. */
  readonly rating: string | null;
  readonly isMissing: string;
};

/**
 * The SQL of one kind of store, as far as it differs from that of others. Rules mean the same in every dialect, type by
 * type as the store's connector gives it; a rule is undefined for types that the dialect cannot read as DuckDB does.
 */
export type Dialect = {
  readonly name: string;
  /** The largest number of rows of the relation `records` in one result; absent: there is no limit. */
  readonly recordRowsMax?: number;
  identifier(name: string): string;
  /** Whether the connector fetches the column's values as the store's own casts write them. */
  arrivesAsCast(column: SourceColumn): boolean;
  /** An integer as it is, anything else as the text that the trainer takes for the id. */
  id(column: string, type: DuckDBType, reading: IdReading): (IdRule & { readonly isInteger: boolean }) | undefined;
  time(column: string, type: DuckDBType): TimeRule | undefined;
  label(column: string, type: DuckDBType, label: Label): LabelRule | undefined;
  /** A literal to compare a column of timestamps or days with. `utc` looks like `2026-11-20 08:00:00`. */
  timeLiteral(column: SourceColumn, utc: string): string;
  /** The absolute value of a number as a floating-point number; never overflows. */
  magnitude(number: string): string;
  /** An integer as decimal digits. */
  digits(integer: string): string;
  /** A text that is compared by code point. */
  byCodePoint(text: string): string;
  /** MD5 of a text's UTF-8, as 32 hex digits. */
  md5(text: string): string;
  /** SHA-256 of the salt's bytes followed by a text's UTF-8, as 64 hex digits. */
  sha256(saltHex: string, text: string): string;
};

/** How ids of a column are read. */
export type IdReading = {
  readonly which: "user" | "item";
  /** Whether words such as NULL are ids. */
  readonly keepsNullWords: boolean;
  /** Whether blanks around ids are removed. */
  readonly trims: boolean;
};

export const idReading = (which: "user" | "item", { interaction }: ModelSchema): IdReading => ({
  which,
  keepsNullWords: interaction.keep_null_words ?? false,
  trims: interaction.trim_ids ?? false,
});

/** Separates the reason of a missing id from the word that stands in its place. */
export const WORD_MARK = ":";

/** SQL of a text's length in bytes, and of whether it has a NUL where the store's texts can have one. */
type TextParts = {
  readonly text: string;
  readonly bytes: string;
  readonly hasNul?: string;
  /** A word in quotes, where the store's literals take backslashes for something else. */
  readonly literal?: (word: string) => string;
};

/** Why a value is no id, or NULL. Without `parts` every value but NULL is an id. */
export function idReason(column: string, { which, keepsNullWords }: IdReading, parts?: TextParts): string {
  const missing = `CASE WHEN ${column} IS NULL THEN 'missing_${which}'`;
  if (parts === undefined) return `${missing} END`;
  const { text, bytes, hasNul, literal = (word: string) => `'${word}'` } = parts;
  const isWord = `${text} IN (${NULL_WORDS.map(literal).join(", ")})`;
  const words = keepsNullWords ? "" : ` WHEN ${isWord} THEN 'missing_${which}${WORD_MARK}' || ${text}`;
  const nul = hasNul === undefined ? "" : ` WHEN ${hasNul} THEN 'id_has_nul'`;
  return `${missing} WHEN ${text} = '' THEN 'missing_${which}'${words} WHEN ${bytes} > ${ID_BYTES_MAX} THEN 'id_too_long'${nul} END`;
}

/** The characters that DuckDB's trim removes: Unicode's space separators. */
export const SPACES =
  " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000";

/**
 * A decimal number that no store finds too large or too small, for POSIX and RE2. Around it may stand the spaces that
 * DuckDB's cast ignores, such as the CR of a line.
 */
export const NUMBER_PATTERN =
  "^[[:space:]]*[+-]?([0-9]{1,200}([.][0-9]{0,80})?|[.][0-9]{1,80})([eE][+-]?[0-9]{1,2})?[[:space:]]*$";

/** What people write for yes and no: 1 or 0, NULL for other words. `word` is trimmed and in lower case. */
export const positiveWord = (word: string): string =>
  // 1.00 is how a DECIMAL writes 1.
  `CASE WHEN ${word} IN ('true', 't', 'yes', 'y', '1') OR rtrim(${word}, '0') = '1.' THEN 1
    WHEN ${word} IN ('false', 'f', 'no', 'n', '0') OR rtrim(${word}, '0') = '0.' THEN 0 END`;

/** The parts in which dialects read labels differently. Columns and texts are SQL. */
export type LabelParts = {
  readonly numbers: ReadonlySet<DuckDBTypeId>;
  readonly texts: ReadonlySet<DuckDBTypeId>;
  /** The column's text without SPACES at its ends. */
  trimmed(column: string): string;
  /** 1 or 0 of a truth value. */
  truthAsInteger(column: string): string;
  /** The column's number, NULL where the value is none or not finite. */
  ratingNumber(column: string, typeId: DuckDBTypeId): string;
  /** An integer as decimal digits. */
  digits(integer: string): string;
  /** A text in quotes. */
  literal(text: string): string;
};

export type EventsLabel = Extract<Label, { type: "Events" }>;

/**
 * What an event of each positive type counts. Without weights, it is the number of the type, the first type having the largest: of events
 * in the same second the largest stays.
 */
export const eventValues = ({ positive, weights }: EventsLabel): ReadonlyMap<string, number> =>
  new Map(positive.map((type, i) => [type, weights ? (weights[type] ?? 1) : positive.length - i]));

/**
 * `Binary` takes true and false, 1 and 0, and the words that mean them; any other value is no label. `Rating` takes
 * finite numbers, and is positive from `positive_from` on. `Weight` takes finite numbers from 0 on, and is positive above 0. `Events` takes
 * texts and integers, and is positive where they are a positive type.
 */
export const labelRule =
  ({ numbers, texts, trimmed, truthAsInteger, ratingNumber, digits, literal }: LabelParts): Dialect["label"] =>
  (column, { typeId }, label) => {
    const isText = texts.has(typeId);
    const isTruth = typeId === DuckDBTypeId.BOOLEAN;
    if (!numbers.has(typeId) && !isText && !isTruth) return undefined;
    const isMissing = isText ? `(${column} IS NULL OR ${trimmed(column)} = '')` : `${column} IS NULL`;
    if (label.type === "Events") {
      if (!isText && !INTEGERS.has(typeId)) return undefined;
      const type = isText ? trimmed(column) : digits(column);
      const cases = [...eventValues(label)].map(
        ([name, value]) => `WHEN ${type} = ${literal(name)} THEN ${value.toExponential()}`,
      );
      const isPositive = `${type} IN (${label.positive.map(literal).join(", ")})`;
      return {
        positive: `CASE WHEN ${isPositive} THEN 1 ELSE 0 END`,
        rating: `CASE ${cases.join(" ")} ELSE 0 END`,
        isMissing,
      };
    }
    if (label.type !== "Binary") {
      const rating = ratingNumber(column, typeId);
      if (label.type === "Weight")
        return { positive: `CASE WHEN ${rating} > 0 THEN 1 WHEN ${rating} = 0 THEN 0 END`, rating, isMissing };
      const bar = label.positive_from;
      return { positive: `CASE WHEN ${rating} >= ${bar} THEN 1 WHEN ${rating} < ${bar} THEN 0 END`, rating, isMissing };
    }
    if (isText) return { positive: positiveWord(`lower(${trimmed(column)})`), rating: null, isMissing };
    const number = `CASE WHEN ${column} = 1 THEN 1 WHEN ${column} = 0 THEN 0 END`;
    return { positive: isTruth ? truthAsInteger(column) : number, rating: null, isMissing };
  };
