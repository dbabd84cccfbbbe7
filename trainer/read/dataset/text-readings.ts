/**
 * How the texts of an attribute are read where they are numbers or lists as people and programs write them. The reading is found from
 * all values of the column (infer-attributes.ts), and the one that is found is said.
 */
import { NULL_WORDS } from "../../../shared/ids.ts";
import { numberOfText } from "../rules/duckdb-dialect.ts";

/** A way to read texts: SQL of the value, NULL for a text that it does not read. */
export type TextReading = {
  readonly name: string;
  value(text: string): string;
};

const quotedWords = NULL_WORDS.map((word) => `'${word}'`).join(", ");
/** SQL of a text without the words for nothing: NULL for those. */
export const unlessNothing = (text: string): string => `CASE WHEN ${text} NOT IN (${quotedWords}) THEN ${text} END`;

/** 007 is a code and not the number 7. */
const isCode = (text: string) => `regexp_matches(${text}, '^[+-]?0[0-9]')`;

/** A number without its currency and without blanks and apostrophes between digits. */
const bare = (text: string) =>
  `regexp_replace(regexp_replace(${text}, '^([+-]?)\\s*(?:[$€£¥₹]|[A-Z]{3}\\s)\\s*|\\s*(?:[$€£¥₹]|[A-Z]{3})$', '\\1', 'g'),
    '([0-9])[ \u00a0\u202f''’]([0-9]{3})', '\\1\\2', 'g')`;

const numberReading = (name: string, pattern: string, plain: (text: string) => string): TextReading => ({
  name,
  value: (text) => {
    const number = bare(text);
    return `CASE WHEN regexp_full_match(${number}, '${pattern}') AND NOT ${isCode(number)} THEN TRY_CAST(${plain(number)} AS DOUBLE) END`;
  },
});

/** Plain numbers first, since only they may have an exponent. */
export const NUMBER_READINGS: readonly TextReading[] = [
  {
    name: "numbers",
    value: (text) => `CASE WHEN isfinite(${numberOfText(text)}) AND NOT ${isCode(text)} THEN ${numberOfText(text)} END`,
  },
  numberReading(
    "numbers with a decimal point",
    "[+-]?([0-9]+|[0-9]{1,3}(,[0-9]{3})+)([.][0-9]+)?",
    (text) => `replace(${text}, ',', '')`,
  ),
  numberReading(
    "numbers with a decimal comma",
    "[+-]?([0-9]+|[0-9]{1,3}([.][0-9]{3})+)(,[0-9]+)?",
    (text) => `replace(replace(${text}, '.', ''), ',', '.')`,
  ),
];

/** JSON, Python's and DuckDB's `[…]`, and Postgres's `{…}`. DuckDB's cast reads both kinds of quotes. */
export const BRACKETED: TextReading = {
  name: "lists in brackets",
  value: (text) =>
    `TRY_CAST(CASE WHEN ${text} LIKE '[%]' THEN ${text}
      WHEN ${text} LIKE '{%}' THEN '[' || ${text}[2:-2] || ']' END AS VARCHAR[])`,
};

export const separated = (separator: string): TextReading => ({
  name: `lists with ${JSON.stringify(separator)} between elements`,
  value: (text) => `string_split(${text}, '${separator}')`,
});
