import type { DuckDBConnection } from "@duckdb/node-api";
import { identifier, literal } from "../sql-text.ts";
import { describeColumns, type FileTable, holdingIn } from "./columns.ts";
import type { SourceFile } from "./files.ts";

type Column = { readonly name: string; readonly type: string };

const OBJECT_BYTES_MAX = 16 * 2 ** 20;

/**
 * How a JSON file is read. Columns and types are found from all objects and then fixed. Texts are not changed, except for times that
 * begin with the year.
 *
 * @param typedByRows Objects from which the types are found; −1: all.
 * Throws DuckDB's errors.
 */
export async function jsonTable(connection: DuckDBConnection, file: SourceFile, typedByRows = -1): Promise<FileTable> {
  const found = readJson(file, `sample_size = ${typedByRows}`);
  const columns = await describeColumns(connection, found);
  const isFixable = canBeNamed(columns) && !columns.some(hasTimesInside);
  const times = isFixable ? columns.filter(isTime) : [];
  const texts = readJson(file, columnsOption(times.map(({ name }) => ({ name, type: "VARCHAR" }))));
  // DuckDB also takes texts of other forms for times. Those stay texts.
  const beginWithDay = ({ name }: Column) => `regexp_matches(${identifier(name)}, '^[0-9]{4}-[0-9]{2}-[0-9]{2}')`;
  const forms = times.map((column) => ({ subject: column.name, sql: beginWithDay(column) }));
  const isoTimes = await holdingIn(connection, { from: texts, rows: typedByRows }, forms);
  const fixedColumns = columns.map((column) => fixed(column, isTime(column) && !isoTimes.includes(column.name)));
  return {
    columns: isFixable ? fixedColumns.filter(isTime).map((column) => ({ ...column, isExact: false })) : [],
    from(asText = new Set()) {
      const read = fixedColumns.map((column) => fixed(column, asText.has(column.name)));
      const source = isFixable ? readJson(file, columnsOption(read)) : found;
      const replaced = (isFixable ? read : columns).flatMap(({ name, type }) => {
        const column = identifier(name);
        if (type === "JSON") return [`${column} ->> '$' AS ${column}`];
        return isFixable && type === "TIMESTAMPTZ" ? [`${column} AT TIME ZONE 'UTC' AS ${column}`] : [];
      });
      return replaced.length === 0 ? source : `(SELECT * REPLACE (${replaced.join(", ")}) FROM ${source})`;
    },
  };
}

const isTime = ({ type }: Column): boolean => /^(DATE|TIMESTAMP)/.test(type);

/** UUID would change letters to lower case, and TIMESTAMP would ignore the zone of a text. */
const fixed = ({ name, type }: Column, isText: boolean): Column => ({
  name,
  type: isText || type === "UUID" ? "VARCHAR" : type === "TIMESTAMP" ? "TIMESTAMPTZ" : type,
});

/**
 * False when the name of a column is not its key: values that are no objects become one column `json`, and `Id` beside `id`
 * becomes `id_1`.
 */
function canBeNamed(columns: readonly Column[]): boolean {
  if (columns.length === 1 && columns[0]!.name === "json") return false;
  const names = new Set(columns.map(({ name }) => name.toLowerCase()));
  return columns.every(({ name }) => !/_\d+$/.test(name) || !names.has(name.replace(/_\d+$/, "").toLowerCase()));
}

/** Whether a list or an object has times. Their form is not checked, so DuckDB has to read the whole file with its own types. */
const hasTimesInside = ({ type }: Column): boolean => /[\s([](DATE|TIMESTAMP)|(DATE|TIMESTAMP)\[/.test(type);

const columnsOption = (columns: readonly Column[]) =>
  `columns = {${columns.map(({ name, type }) => `${literal(name)}: ${literal(type)}`).join(", ")}}`;

function readJson({ path, format, compression }: SourceFile, option: string): string {
  const options = [
    literal(path),
    ...(format === "jsonl" ? ["format = 'newline_delimited'"] : []),
    `maximum_object_size = ${OBJECT_BYTES_MAX}`,
    // read_json does not know the value `none`.
    ...(compression === "none" ? [] : [`compression = '${compression}'`]),
    option,
  ];
  return `read_json(${options.join(", ")})`;
}
