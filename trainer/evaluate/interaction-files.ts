import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { packStrings } from "../../shared/packed-strings.ts";
import type { Dataset, Interactions } from "../dataset/dataset.ts";
import { type ColumnGuess, type GivenColumns, guessColumns } from "../local/guess-columns.ts";

export type InteractionFiles = { readonly train: string; readonly test: string; readonly columns: GivenColumns };

/** A train and a test file under one catalog and one numbering of users: those of train first, then those only in test. */
export type TrainAndTest = {
  readonly train: Dataset;
  /** Rows of the test file by user, in time order: every user of `train` is there, perhaps without rows. */
  readonly test: Interactions;
  readonly columns: Extract<ColumnGuess, { kind: "guessed" }>;
  /** Rows without a user, an item, or a readable time. */
  readonly rejectedRows: number;
};

/** What is wrong with the files or their columns, for the person who named them. */
export class InteractionFileError extends Error {
  override readonly name = "InteractionFileError";
}

/**
 * Interactions of a train and a test file: CSV or TSV with a header line, Parquet, JSON or JSON Lines, optionally gzipped. Rows
 * of one user are in time order, or without a time column in the order of the file.
 *
 * The catalog is every item of both files. Its order tells nothing: items of train by their rows, then those of test by their hash.
 * Throws InteractionFileError.
 */
export async function readInteractionFiles({ train, test, columns }: InteractionFiles): Promise<TrainAndTest> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    for (const path of [train, test]) checkHeader(path, await columnNames(connection, path));
    const names = await columnNames(connection, train);
    const guess = guessColumns(names, columns);
    if (guess.kind === "unclear") throw new InteractionFileError(`${train}: ${guess.reasons.join(". ")}.`);
    const used = { ...guess, label: columns.label ?? null }; // without a label column given, every row is positive
    let rejectedRows = 0;
    for (const [table, path] of [["train", train] as const, ["test", test] as const]) {
      rejectedRows += await loadTable(connection, { table, path, columns: used });
    }
    await numberIds(connection);
    const [itemIds, userIds] = [await idsOf(connection, "items"), await idsOf(connection, "users")];
    const sizes = { itemCount: itemIds.length, userCount: userIds.length };
    const dataset: Dataset = {
      ...(await interactionsOf(connection, "train", sizes)),
      itemIds: packStrings(itemIds),
      userIds: packStrings(userIds),
      itemIdType: "string",
      itemAttributes: [],
      userAttributes: [],
    };
    return { train: dataset, test: await interactionsOf(connection, "test", sizes), columns: used, rejectedRows };
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

type Used = { user: string; item: string; time: string | null; label: string | null };

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const text = (value: string) => `'${value.replaceAll("'", "''")}'`;

/** SQL of a file's rows. */
export function scanOf(path: string): string {
  const plain = path.toLowerCase().replace(/\.(gz|zst)$/, "");
  if (plain.endsWith(".parquet")) return `read_parquet(${text(path)})`;
  if (/\.(json|jsonl|ndjson)$/.test(plain)) return `read_json(${text(path)})`;
  return `read_csv(${text(path)}, header = true, sample_size = 100000)`;
}

/** A file without a header line has its first row for column names, and an empty one a column that DuckDB makes up. */
function checkHeader(path: string, names: readonly string[]): void {
  if (names.length === 1 && names[0] === "column0") throw new InteractionFileError(`${path} is empty.`);
  if (!names.every((name) => name.trim() !== "" && Number.isFinite(Number(name)))) return;
  const found = names.slice(0, 10).join(", ");
  throw new InteractionFileError(
    `${path} begins with data (${found}): its first line must be a header that names the columns.`,
  );
}

async function columnNames(connection: DuckDBConnection, path: string): Promise<string[]> {
  const described = await read(connection, path, `DESCRIBE SELECT * FROM ${scanOf(path)}`);
  return described.map((row) => String(row[0]));
}

/** Rows whose ids and time can be read, numbered in the order of the file. Returns how many could not. */
async function loadTable(
  connection: DuckDBConnection,
  { table, path, columns }: { table: string; path: string; columns: Used },
): Promise<number> {
  const described = await read(connection, path, `DESCRIBE SELECT * FROM ${scanOf(path)}`);
  const types = new Map(described.map((row) => [String(row[0]), String(row[1])]));
  const missing = [columns.user, columns.item].filter((name) => !types.has(name));
  if (missing.length > 0) {
    const found = [...types.keys()]
      .slice(0, 50)
      .map((name) => JSON.stringify(name))
      .join(", ");
    throw new InteractionFileError(`${path} has no column ${JSON.stringify(missing[0])}; its columns are ${found}.`);
  }
  const hasTime = columns.time !== null && types.has(columns.time);
  const time = hasTime ? timeOf(quoted(columns.time!), types.get(columns.time!)!) : "0";
  const hasLabel = columns.label !== null && types.has(columns.label);
  const positive = hasLabel ? labelOf(quoted(columns.label!)) : "1";
  const ids = `CAST(${quoted(columns.user)} AS VARCHAR) AS u, CAST(${quoted(columns.item)} AS VARCHAR) AS i`;
  await read(
    connection,
    path,
    `CREATE TABLE ${table}_all AS SELECT row_number() OVER () AS row, ${ids}, ${time} AS t, ${positive} AS p FROM ${scanOf(path)}`,
  );
  const good = "u IS NOT NULL AND u <> '' AND i IS NOT NULL AND i <> '' AND t IS NOT NULL";
  await read(
    connection,
    path,
    `CREATE TABLE ${table}_rows AS SELECT row, u, i, CAST(greatest(0, least(4294967295, t / (SELECT CASE WHEN max(abs(t)) > 1e17
       THEN 1e9 WHEN max(abs(t)) > 1e14 THEN 1e6 WHEN max(abs(t)) > 1e11 THEN 1e3 ELSE 1 END FROM ${table}_all))) AS UINTEGER) AS s,
       coalesce(p, 0) AS p FROM ${table}_all WHERE ${good} ORDER BY row`,
  );
  const [[rejected] = [0], [kept] = [0]] = await read(
    connection,
    path,
    `SELECT (SELECT count(*) FROM ${table}_all) - (SELECT count(*) FROM ${table}_rows)
     UNION ALL SELECT count(*) FROM ${table}_rows`,
  );
  if (Number(kept) === 0)
    throw new InteractionFileError(`${path} has no row with a user, an item and a readable time.`);
  await connection.run(`DROP TABLE ${table}_all`);
  return Number(rejected);
}

/** Epoch seconds or a finer unit as a DOUBLE, null where the value is no time. */
function timeOf(column: string, type: string): string {
  if (/^(TIMESTAMP|DATE)/.test(type)) return `epoch(CAST(${column} AS TIMESTAMP))`;
  if (type === "VARCHAR") {
    return `coalesce(try_cast(${column} AS DOUBLE), epoch(try_cast(${column} AS TIMESTAMPTZ)), epoch(try_cast(${column} AS TIMESTAMP)))`;
  }
  return `try_cast(${column} AS DOUBLE)`;
}

/** 1 for true and for numbers above 0. */
const labelOf = (column: string) =>
  `CASE WHEN lower(CAST(${column} AS VARCHAR)) IN ('true', 't', 'yes', 'y') THEN 1
        WHEN try_cast(CAST(${column} AS VARCHAR) AS DOUBLE) > 0 THEN 1 ELSE 0 END`;

async function numberIds(connection: DuckDBConnection): Promise<void> {
  for (const [table, column, last] of [
    ["users", "u", "min(row)"],
    ["items", "i", "hash(i)"],
  ] as const) {
    const counted = column === "i" ? "count(*) DESC, hash(i)" : "min(row)";
    await connection.run(
      `CREATE TABLE ${table} AS SELECT id, CAST(row_number() OVER (ORDER BY part, place) - 1 AS INTEGER) AS n FROM (
         SELECT ${column} AS id, 0 AS part, row_number() OVER (ORDER BY ${counted}) AS place FROM train_rows GROUP BY ${column}
         UNION ALL SELECT ${column}, 1, row_number() OVER (ORDER BY ${last}, ${column}) FROM test_rows
         WHERE ${column} NOT IN (SELECT ${column} FROM train_rows) GROUP BY ${column})`,
    );
  }
}

async function idsOf(connection: DuckDBConnection, table: string): Promise<string[]> {
  const reader = await connection.runAndReadAll(`SELECT id FROM ${table} ORDER BY n`);
  return reader.getColumns()[0]!.map(String);
}

async function interactionsOf(
  connection: DuckDBConnection,
  table: string,
  { itemCount, userCount }: { itemCount: number; userCount: number },
): Promise<Interactions> {
  const reader = await connection.runAndReadAll(
    `SELECT users.n, items.n, s, CAST(p AS INTEGER) FROM ${table}_rows JOIN users ON u = users.id JOIN items ON i = items.id
     ORDER BY users.n, s, row`,
  );
  const [users = [], items = [], times = [], positive = []] = reader.getColumns();
  const userStart = new Uint32Array(userCount + 1);
  for (const user of users) userStart[Number(user) + 1]!++;
  for (let user = 0; user < userCount; user++) userStart[user + 1]! += userStart[user]!;
  return {
    userCount,
    itemCount,
    userStart,
    items: Int32Array.from(items as number[]),
    times: Uint32Array.from(times as number[]),
    positive: Uint8Array.from(positive as number[]),
    ratings: null,
  };
}

/** Rows of a statement. What DuckDB complains about is about the file: its first sentence says what. */
async function read(connection: DuckDBConnection, path: string, sql: string): Promise<unknown[][]> {
  try {
    return (await connection.runAndReadAll(sql)).getRows();
  } catch (error) {
    const first = String(error instanceof Error ? error.message : error).split("\n")[0];
    throw new InteractionFileError(`${path} cannot be read: ${first}`, { cause: error });
  }
}
