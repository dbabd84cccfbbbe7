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

/** What people write where there is no number or time. As an id it would be one. */
const NO_VALUE = ["-", "--", "–", "—", "?", "n/a"];
const quotedWords = [...NULL_WORDS, ...NO_VALUE].map((word) => `'${word}'`).join(", ");
/** SQL of a text without the words for nothing: NULL for those. */
export const unlessNothing = (text: string): string => `CASE WHEN ${text} NOT IN (${quotedWords}) THEN ${text} END`;

/** 007 is a code and not the number 7. */
const isCode = (text: string) => `regexp_matches(${text}, '^[+-]?0[0-9]')`;

/** The codes of ISO 4217. Other capitals, such as those of a size or a part number, are no currency. */
const CURRENCY_CODES = Intl.supportedValuesOf("currency").join("|");
const CURRENCY_BEFORE = `^([+-]?)\\s*([$€£¥₹]|(?:${CURRENCY_CODES})\\s)\\s*`;
const CURRENCY_BEHIND = `\\s*([$€£¥₹]|${CURRENCY_CODES})$`;

/** The currency of a number, '' without one. */
export const currencyOf = (text: string) =>
  `trim(regexp_extract(${text}, '${CURRENCY_BEFORE}', 2) || regexp_extract(${text}, '${CURRENCY_BEHIND}', 1))`;

/** A number without its currency and without blanks and apostrophes between digits. */
const bare = (text: string) =>
  `regexp_replace(regexp_replace(regexp_replace(${text}, '${CURRENCY_BEFORE}', '\\1'), '${CURRENCY_BEHIND}', ''),
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

/** A JSON object, a dictionary of Python or a struct of DuckDB: a key and a colon after the bracket. */
export const isObject = (text: string) =>
  `regexp_matches(${text}, '^\\s*\\{\\s*("([^"\\\\]|\\\\.)*"|''[^'']*'')\\s*:')`;

/** `'name': 'x'` within a dictionary of Python, which writes `"x"` where x has an apostrophe. */
const PYTHON_NAME = `[{,]\\s*''name''\\s*:\\s*(''[^'']*''|"[^"]*")`;

/** The names of objects, and of the objects in lists, in JSON or as Python shows them: `[{"id": 28, "name": "Action"}]`. */
export const NAMES_OF_OBJECTS: TextReading = {
  name: "the names of its objects",
  value: (text) =>
    `CASE WHEN NOT json_valid(${text}) THEN list_transform(regexp_extract_all(${text}, '${PYTHON_NAME}', 1), x -> x[2:-2])
      WHEN json_type(${text}) = 'ARRAY' THEN json_extract_string(${text}, '$[*].name')
      ELSE [json_extract_string(${text}, '$.name')] END`,
};

/** Unquoted words for nothing in the lists of Python. */
const NO_ELEMENTS = ["None", "nan", "NaN"].map((word) => `'${word}'`).join(", ");
const elements = (list: string) =>
  `list_filter(TRY_CAST(${list} AS VARCHAR[]), e -> e IS NULL OR e NOT IN (${NO_ELEMENTS}))`;

/** JSON, Python's and DuckDB's `[…]`, and Postgres's `{…}`. DuckDB's cast reads both kinds of quotes, but no escapes of JSON. */
export const BRACKETED: TextReading = {
  name: "lists in brackets",
  value: (text) =>
    `CASE WHEN ${text} LIKE '[%]' AND json_valid(${text}) THEN TRY_CAST(TRY_CAST(${text} AS JSON) AS VARCHAR[])
      WHEN ${text} LIKE '[%]' THEN ${elements(text)}
      WHEN ${text} LIKE '{%}' AND NOT ${isObject(text)} THEN ${elements(`('[' || ${text}[2:-2] || ']')`)} END`,
};

/** What stands between the elements of a list in a text. The first is never anything else. */
export const LIST_SEPARATORS = ["|", ";", ","];

/** A text in brackets is never split. */
export const separated = (separator: string): TextReading => ({
  name: `lists with ${JSON.stringify(separator)} between elements`,
  value: (text) =>
    `CASE WHEN ${text} LIKE '[%]' OR ${text} LIKE '{%}' THEN ${BRACKETED.value(text)} ELSE string_split(${text}, '${separator}') END`,
});
