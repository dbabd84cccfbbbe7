import type { DuckDBConnection, DuckDBType } from "@duckdb/node-api";
import { firstParagraph } from "../../read/connectors/duckdb/errors.ts";
import { identifier, literal } from "../../read/connectors/duckdb/quote.ts";

export type FileColumn = { readonly name: string; readonly type: DuckDBType };

/** What is wrong with the files or their columns, for the person who named them. */
export class InteractionFileError extends Error {
  override readonly name = "InteractionFileError";
}

type Kind = "csv" | "json" | "parquet";

function kindOf(path: string): Kind {
  const plain = path.toLowerCase().replace(/\.(gz|zst)$/, "");
  if (plain.endsWith(".parquet")) return "parquet";
  return /\.(json|jsonl|ndjson)$/.test(plain) ? "json" : "csv";
}

/**
 * SQL of the named columns of a file. Of text files they are read as they are written, as VARCHAR: a guess at a type would drop zeros
 * in front, round long numbers, and fail where a later row does not fit it.
 */
export async function textScanOf(
  connection: DuckDBConnection,
  path: string,
  names: readonly string[],
): Promise<string> {
  const [kind, selected] = [kindOf(path), names.map(identifier).join(", ")];
  if (kind === "parquet") return `(SELECT ${selected} FROM read_parquet(${pathText(path)}))`;
  if (kind === "json") return `(SELECT ${selected} FROM read_json(${textPath(path)}, columns = ${texts(names)}))`;
  return `(SELECT ${selected} FROM read_csv(${textPath(path)}, ${await csvOptions(connection, path)}, all_varchar = true))`;
}

/** SQL of the lines of a text file, as `line`; undefined for a file of another kind. */
export function linesScanOf(path: string): string | undefined {
  const csvOptions =
    "header = false, auto_detect = false, delim = '\u0001', quote = '', escape = '', strict_mode = false, columns = {'line': 'VARCHAR'}";
  return kindOf(path) === "csv" ? `read_csv(${textPath(path)}, ${csvOptions})` : undefined;
}

/** SQL of a file's rows, types found by looking at all of them, but the column of ids of a text file as it is written. */
export async function typedScanOf(
  connection: DuckDBConnection,
  path: string,
  { columns, id }: { readonly columns: readonly FileColumn[]; readonly id: string },
): Promise<string> {
  const kind = kindOf(path);
  if (kind === "parquet") return `read_parquet(${pathText(path)})`;
  if (kind === "csv")
    return `read_csv(${textPath(path)}, ${await csvOptions(connection, path)}, types = ${texts([id])})`;
  const types = columns.map(({ name, type }) => `${literal(name)}: ${literal(name === id ? "VARCHAR" : String(type))}`);
  return `read_json(${textPath(path)}, columns = {${types.join(", ")}})`;
}

/** All rows are looked at: whether ids are quoted may show in the last of them only. */
const ALL_ROWS = -1;
/** Enough for the names of the columns. */
const SOME_ROWS = 100_000;

/**
 * How a CSV file is read. DuckDB takes apostrophes for quotes where one id begins with one and a later id ends with one, and all that is
 * between for one value: they are quotes only where the header is in them too. Nor are lines that begin with # comments: ids may.
 */
async function csvOptions(connection: DuckDBConnection, path: string, sampleRows = ALL_ROWS): Promise<string> {
  const sample = `sample_size = ${sampleRows}, comment = '', auto_type_candidates = ['VARCHAR']`;
  const sniffed = await connection.runAndReadAll(`SELECT Quote FROM sniff_csv(${textPath(path)}, ${sample})`);
  const found = `header = true, sample_size = ${sampleRows}, comment = ''`;
  if (sniffed.getRows()[0]?.[0] !== "'") return found;
  const usual = `${found}, quote = '"'`;
  const read = `SELECT * FROM read_csv(${textPath(path)}, ${usual}, all_varchar = true) LIMIT 0`;
  const names = (await connection.runAndReadAll(read)).columnNames();
  return names.every((name) => name.startsWith("'")) ? found : usual;
}

/** A path as SQL that means this file and what is in it: DuckDB takes `[`, `*` and `?` for patterns, folders like `user=5` for columns. */
const pathText = (path: string) => `${literal(path.replace(/[[*?]/g, "[$&]"))}, hive_partitioning = false`;
/** The same of a text file: DuckDB knows the endings of compressed ones in small letters only. */
function textPath(path: string): string {
  const [, ending] = /\.(gz|zst)$/.exec(path.toLowerCase()) ?? [];
  return ending === undefined
    ? pathText(path)
    : `${pathText(path)}, compression = '${ending === "gz" ? "gzip" : "zstd"}'`;
}

const texts = (names: readonly string[]) => `{${names.map((name) => `${literal(name)}: 'VARCHAR'`).join(", ")}}`;

/** The columns of a file; with `typed`, of CSV their types by all of its rows, else they are VARCHAR. */
export async function columnsOf(
  connection: DuckDBConnection,
  path: string,
  { typed = false }: { readonly typed?: boolean } = {},
): Promise<FileColumn[]> {
  const kind = kindOf(path);
  const scanOf = {
    parquet: async () => `read_parquet(${pathText(path)})`,
    // Which columns there are, all rows tell: some writers leave out what is null.
    json: async () => `read_json(${textPath(path)}, sample_size = ${ALL_ROWS})`,
    csv: async () => {
      const options = await csvOptions(connection, path, typed ? ALL_ROWS : SOME_ROWS);
      return `read_csv(${textPath(path)}, ${options}${typed ? "" : ", all_varchar = true"})`;
    },
  };
  return await aboutFile(path, async () => {
    const described = await connection.runAndReadAll(`SELECT * FROM ${await scanOf[kind]()} LIMIT 0`);
    const types = described.columnTypes();
    const columns = described.columnNames().map((name, i) => ({ name, type: types[i]! }));
    if (kind === "csv" && columns.length === 1) await checkEven(connection, path, columns[0]!.name);
    return columns;
  });
}

const DELIMITERS = [",", ";", "\t", "|"];

/**
 * Where rows have different numbers of values, no delimiter seems to be one, and each line is taken for one value. Reading them as
 * the header seems to mean it throws an error that has the line.
 */
async function checkEven(connection: DuckDBConnection, path: string, header: string): Promise<void> {
  const delimiter = DELIMITERS.find((one) => header.includes(one));
  if (delimiter === undefined) return;
  const names = texts(header.split(delimiter).map((_, column) => `column ${column + 1}`));
  const csvOptions = `header = true, auto_detect = false, delim = ${literal(delimiter)}, quote = '"', columns = ${names}`;
  await connection.run(`SELECT count(COLUMNS(*)) FROM read_csv(${textPath(path)}, ${csvOptions})`);
}

/** What the work gives. What DuckDB complains about is about the file: its first sentences say what. */
export async function aboutFile<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InteractionFileError) throw error;
    const said = firstParagraph(error instanceof Error ? error.message : String(error));
    throw new InteractionFileError(`${path} cannot be read: ${said}`, { cause: error });
  }
}

/** The column of a name, or an error that says which there are. `purpose` follows its name. */
export function columnNamed(path: string, columns: readonly FileColumn[], name: string, purpose = ""): FileColumn {
  const column = columns.find((one) => one.name === name);
  if (column !== undefined) return column;
  const found = columns.slice(0, 50).map((one) => JSON.stringify(one.name));
  const missing = `${path} has no column ${JSON.stringify(name)}${purpose}`;
  throw new InteractionFileError(`${missing}; its columns are ${found.join(", ")}.`);
}
