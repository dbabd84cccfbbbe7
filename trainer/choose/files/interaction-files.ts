import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { packStrings } from "../../../shared/packed-strings.ts";
import { identifier } from "../../read/connectors/duckdb/quote.ts";
import type { Dataset, Interactions } from "../../read/dataset/dataset.ts";
import {
  type ColumnGuess,
  type GivenColumns,
  guessColumns,
  guessSessionColumn,
} from "../../read/dataset/guess-columns.ts";
import { areWholeDecimals, fileId, withoutPoint } from "./interaction-ids.ts";
import { areLists, LIST_COLUMNS, listsScanOf } from "./interaction-lists.ts";
import {
  aboutFile,
  columnNamed,
  columnsOf,
  type FileColumn,
  InteractionFileError,
  textScanOf,
} from "./interaction-scan.ts";
import { fileSeconds } from "./interaction-times.ts";

export type InteractionFiles = {
  readonly train: string;
  readonly test: string;
  /** Users are sessions: where no column is given for them, one of sessions is taken before one of users. */
  readonly areSessions?: boolean;
  /** Where nothing is said of a time it is guessed; null: rows are in the order of the file. */
  readonly columns: Omit<GivenColumns, "time"> & { readonly time?: string | null | undefined };
};

/** A train and a test file under one catalog and one numbering of users: those of train first, then those only in test. */
export type TrainAndTest = {
  readonly train: Dataset;
  /** Rows of the test file by user, in time order: every user of `train` is there, perhaps without rows. */
  readonly test: Interactions;
  readonly columns: Extract<ColumnGuess, { kind: "guessed" }>;
  /** Rows without a user, an item, or a readable time. */
  readonly rejectedRows: number;
  /** What was read otherwise than the columns' names say. */
  readonly warnings: readonly string[];
};

/**
 * Interactions of a train and a test file: CSV or TSV with a header line, Parquet, JSON or JSON Lines, optionally gzipped, or lines of
 * numbers, a user's and those of the user's items. Rows of one user are in time order, or without a time column in the order of the file.
 *
 * The catalog is every item of both files. Its order tells nothing: items of train by their rows, then those of test by their hash.
 * Throws InteractionFileError.
 */
export async function readInteractionFiles({
  train,
  test,
  areSessions = false,
  columns,
}: InteractionFiles): Promise<TrainAndTest> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const hasLists = await areLists(connection, train, { ragged: true });
    const ofTrain = hasLists ? LIST_COLUMNS : await columnsOf(connection, train);
    const hasTestLists = await areLists(connection, test, { ragged: !hasLists });
    const ofTest = hasTestLists ? LIST_COLUMNS : await columnsOf(connection, test);
    checkHeader(train, ofTrain);
    checkHeader(test, ofTest);
    const { time } = columns;
    const names = ofTrain.map(({ name }) => name);
    const user = columns.user ?? (areSessions ? guessSessionColumn(names) : undefined);
    const guess = guessColumns(names, { ...columns, user, time: time ?? undefined });
    if (guess.kind === "unclear") throw new InteractionFileError(`${train}: ${guess.reasons.join(". ")}.`);
    // Without a label column given, every row is positive.
    const used: Used = { ...guess, time: time === null ? null : guess.time, label: columns.label ?? null };
    const isTimeGuessed = time === undefined;
    const files = [
      { table: "train", path: train, found: ofTrain, used, isTimeGuessed },
      { table: "test", path: test, found: ofTest, used, isTimeGuessed },
    ] as const;
    const loaded: Loaded[] = [];
    for (const file of files) loaded.push(await aboutFile(file.path, () => loadTable(connection, file)));
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
    return {
      train: dataset,
      test: await interactionsOf(connection, "test", sizes),
      columns: { ...used, time: loaded[0]!.hasTime ? used.time : null },
      rejectedRows: loaded.reduce((sum, { rejected }) => sum + rejected, 0),
      warnings: loaded.flatMap(({ warnings }) => warnings),
    };
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

type Used = Extract<ColumnGuess, { kind: "guessed" }>;

/** A file without a header line has its first row for column names, and an empty one a column that DuckDB makes up. */
function checkHeader(path: string, columns: readonly FileColumn[]): void {
  const names = columns.map(({ name }) => name);
  if (names.length === 1 && names[0] === "column0") throw new InteractionFileError(`${path} is empty.`);
  if (!names.every((name) => name.trim() !== "" && Number.isFinite(Number(name)))) return;
  const found = names.slice(0, 10).join(", ");
  throw new InteractionFileError(
    `${path} begins with data (${found}): its first line must be a header that names the columns.`,
  );
}

type InteractionFile = {
  readonly table: "train" | "test";
  readonly path: string;
  readonly found: readonly FileColumn[];
  readonly used: Used;
  readonly isTimeGuessed: boolean;
};
type Loaded = { readonly rejected: number; readonly hasTime: boolean; readonly warnings: readonly string[] };

/** Makes a table of the rows whose ids and time can be read, numbered in the order of the file. */
async function loadTable(connection: DuckDBConnection, file: InteractionFile): Promise<Loaded> {
  const { table, path, used } = file;
  const ask = async (aggregates: string) => {
    const reader = await connection.runAndReadAll(`SELECT ${aggregates} FROM ${table}_all`);
    return reader.getRowObjects()[0]!;
  };
  const { timeType } = await stageFile(connection, file);
  const seconds = timeType === undefined ? "0" : await fileSeconds("t", timeType, ask);
  const isDecimal = await ask(`${areWholeDecimals("u")} AS u, ${areWholeDecimals("i")} AS i`);
  const [user, item] = (["u", "i"] as const).map((id) => (isDecimal[id] ? withoutPoint(id) : id));
  await connection.run(
    `CREATE TABLE ${table}_rows AS SELECT row, ${user} AS u, ${item} AS i, CAST(${seconds ?? "NULL"} AS DOUBLE) AS t, coalesce(p, 0) AS p
     FROM ${table}_all WHERE u <> '' AND i <> ''`,
  );
  const { rows } = await ask("count(*) AS rows");
  await connection.run(`DROP TABLE ${table}_all`);
  const reader = await connection.runAndReadAll(`SELECT count(*), count(t) FROM ${table}_rows`);
  const [named, timed] = reader.getRows()[0]!.map(Number) as [number, number];
  // Where nobody named the column, what is mostly no time is more likely another thing than a fault of the rows.
  const isNoTime = file.isTimeGuessed && timed * 2 < named;
  const kept = isNoTime ? named : timed;
  if (kept === 0) throw new InteractionFileError(`${path} has no row with a user, an item and a readable time.`);
  await connection.run(isNoTime ? `UPDATE ${table}_rows SET t = 0` : `DELETE FROM ${table}_rows WHERE t IS NULL`);
  const found = `only ${timed} of ${named} rows have a time in the column ${JSON.stringify(used.time)}`;
  const warning = `${path}: ${found}, so rows are taken in the order of the file. Name another with --time-column, or none.`;
  return {
    rejected: Number(rows) - kept,
    hasTime: timeType !== undefined && !isNoTime,
    warnings: [...(isNoTime ? [warning] : []), ...formWarnings(file)],
  };
}

/** What was read otherwise than a table of the usual columns: the user may have meant others by another name. */
function formWarnings({ path, found, used }: InteractionFile): string[] {
  const warningOf = (column: string | null, meaning: string) =>
    column === null || found.some(({ name }) => name === column)
      ? []
      : [`${path} has no column ${JSON.stringify(column)}: ${meaning}.`];
  return [
    ...(found === LIST_COLUMNS
      ? [`${path}: each line is read as the id of a user and those of the user's items.`]
      : []),
    ...warningOf(used.time, "its rows are taken in the order of the file"),
    ...warningOf(used.label, "all of its rows count as positive"),
  ];
}

/** Makes the table `…_all` of a file: row, u and i as text, t as it is, p. */
async function stageFile(connection: DuckDBConnection, { table, path, found, used }: InteractionFile) {
  const [user, item] = [columnNamed(path, found, used.user), columnNamed(path, found, used.item)];
  const [time, label] = [used.time, used.label].map((name) => found.find((column) => column.name === name));
  const columns = [user, item, time, label].filter((column) => column !== undefined);
  const names = [...new Set(columns.map(({ name }) => name))];
  const scan = found === LIST_COLUMNS ? listsScanOf(path) : await textScanOf(connection, path, names);
  const types = new Map(await typesOf(connection, scan));
  const ids = [user, item].map(({ name }) => ({ name, ...fileId(identifier(name), types.get(name)!) }));
  for (const { name, isInexact } of ids) {
    if (isInexact === null) continue;
    const [[inexact] = [0]] = (await connection.runAndReadAll(`SELECT count_if(${isInexact}) FROM ${scan}`)).getRows();
    if (Number(inexact) === 0) continue;
    const reason = `has ${inexact} ids in the column ${JSON.stringify(name)} that are floating-point numbers too large to be exact`;
    throw new InteractionFileError(`${path} ${reason}: write them as text or as whole numbers.`);
  }
  await connection.run(
    `CREATE TABLE ${table}_all AS SELECT row_number() OVER () AS row, ${ids[0]!.text} AS u, ${ids[1]!.text} AS i,
       ${time ? identifier(time.name) : "NULL"} AS t, ${label ? labelOf(identifier(label.name)) : "1"} AS p FROM ${scan}`,
  );
  return { timeType: time && types.get(time.name) };
}

async function typesOf(connection: DuckDBConnection, scan: string) {
  const described = await connection.runAndReadAll(`SELECT * FROM ${scan} LIMIT 0`);
  return described.columnNames().map((name, i) => [name, described.columnType(i)] as const);
}

/** 1 for true and for numbers above 0; DuckDB holds NaN to be above all numbers. */
function labelOf(column: string): string {
  const text = `trim(CAST(${column} AS VARCHAR))`;
  const number = `try_cast(${text} AS DOUBLE)`;
  return `CASE WHEN lower(${text}) IN ('true', 't', 'yes', 'y') OR (${number} > 0 AND NOT isnan(${number})) THEN 1 ELSE 0 END`;
}

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
    `SELECT users.n, items.n, CAST(greatest(0, least(4294967295, floor(t))) AS UINTEGER), CAST(p AS INTEGER)
     FROM ${table}_rows JOIN users ON u = users.id JOIN items ON i = items.id
     ORDER BY users.n, t, row`,
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
