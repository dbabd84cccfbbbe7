import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ModelSchema } from "../../../shared/model-spec.ts";
import type { Connector } from "../../read/connectors/connector.ts";
import { findFiles } from "../../read/connectors/duckdb/files.ts";
import { connectFile } from "../../read/connectors/file/file.ts";
import { fileSettings } from "../../read/connectors/file/file-settings.ts";
import { identifier } from "../../read/connectors/sql-text.ts";
import { checkInteractions, type StagedInteractions } from "../../read/dataset/check-interactions.ts";
import { checkRows } from "../../read/dataset/checks.ts";
import type { AttributeColumn, Dataset, Interactions } from "../../read/dataset/dataset.ts";
import {
  type ColumnGuess,
  type GivenColumns,
  guessColumns,
  guessSessionColumn,
} from "../../read/dataset/guess-columns.ts";
import { numberIds, readIds } from "../../read/dataset/number-ids.ts";
import {
  attributeColumns,
  checkAttributes,
  readAttributes,
  unknownIdsWarning,
} from "../../read/dataset/read-attributes.ts";
import { readInteractions } from "../../read/dataset/read-interactions.ts";
import { unreadableOf } from "../../read/dataset/stage-query.ts";
import { openStaging, runStaged, type Staging, stageRows } from "../../read/dataset/staging.ts";
import type { IdExpression } from "../../read/rules/id-expression.ts";
import { countRejected, describeRejected } from "../../read/rules/reject-reasons.ts";
import { StageError } from "../../stage/stage-error.ts";
import { plainTable } from "./list-file.ts";

export type FilesToRead = {
  readonly train: string;
  readonly test: string;
  /** Files of attributes, one row a user or an item, with the id column of the train file. */
  readonly users?: string | undefined;
  readonly items?: string | undefined;
  /** Users are sessions: a column of sessions is guessed before a column of users. */
  readonly areSessions?: boolean;
  /** Columns that are not given are guessed from the header. `time: null`: rows are in the order of the file. */
  readonly columns: Omit<GivenColumns, "time"> & { readonly time?: string | null | undefined };
};

type Columns = Extract<ColumnGuess, { kind: "guessed" }>;

/** A train and a test file under one catalog and one numbering of users. */
export type TrainAndTest = {
  /** Users and items of both files; the rows of the train file. */
  readonly train: Dataset;
  readonly test: Interactions;
  readonly columns: Columns;
  readonly rejectedRows: number;
  readonly warnings: readonly string[];
};

/** What is wrong with a file, for the person who named it. */
export class FileError extends Error {
  override readonly name = "FileError";
}

const MEMORY_MB = 2048;
/** A file with a larger fraction of rejected rows is refused, as in a training by default. */
const REJECTED_FRACTION_MAX = 0.5;

/**
 * Reads a train and a test file, and files of attributes, by the rules that a training has for the File connector's rows. Rows of one
 * user are in the order of their seconds; rows of the same second stay in the order of the file.
 *
 * @throws FileError when a file cannot be read or its columns are unclear.
 */
export async function readFiles(files: FilesToRead, signal: AbortSignal): Promise<TrainAndTest> {
  const workDirectory = await mkdtemp(join(tmpdir(), "shortlist-files-"));
  const staging = await openStaging({ workDirectory, memoryMb: MEMORY_MB });
  const opened: Table[] = [];
  const open = async (name: string, path: string, areLists = false) => {
    const table = await aboutFile(path, () => openTable(path, { name, workDirectory, areLists, signal }));
    opened.push(table);
    return table;
  };
  try {
    const train = await open("train", files.train);
    const test = await open("test", files.test, train.wasLists);
    const columns = columnsOf(train, files);
    const staged = {
      train: await aboutFile(train.path, () =>
        stageInteractions({ staging, table: train, name: "train", columns, signal }),
      ),
      test: await aboutFile(test.path, () =>
        stageInteractions({ staging, table: test, name: "test", columns, signal }),
      ),
    };
    const both = "(FROM train_rows UNION ALL FROM test_rows)";
    await numberIds(staging, { ...staged.train.checked, acceptedSql: both }, { moreItems: null, signal });
    const rowsOf = async (name: "train" | "test") => {
      const options = { tieOrder: "row", signal, progress: () => undefined } as const;
      return (await readInteractions(staging, staged[name].checked, options)).interactions;
    };
    const interactions = await rowsOf("train");
    const attributesOf = async (
      what: "user" | "item",
      path: string | undefined,
      count: number,
    ): Promise<Attributes> => {
      if (path === undefined) return { columns: [], warnings: [] };
      const table = await open(`${what}s`, path);
      const place = { staging, table, what, id: columns[what], count, signal };
      return await aboutFile(path, () => attributesOfTable(place));
    };
    const users = await attributesOf("user", files.users, interactions.userCount);
    const items = await attributesOf("item", files.items, interactions.itemCount);
    return {
      train: {
        ...interactions,
        itemIds: await readIds(staging, "items", signal),
        userIds: await readIds(staging, "users", signal),
        itemIdType: "string",
        itemAttributes: items.columns,
        userAttributes: users.columns,
      },
      test: await rowsOf("test"),
      columns,
      rejectedRows: staged.train.rejected + staged.test.rejected,
      warnings: [staged.train, staged.test, users, items].flatMap(({ warnings }) => warnings),
    };
  } finally {
    await Promise.allSettled(opened.map(({ connector }) => connector.close()));
    await staging.close();
    await rm(workDirectory, { recursive: true, force: true });
  }
}

type Table = {
  readonly path: string;
  readonly connector: Connector;
  readonly name: string;
  readonly columns: readonly string[];
  readonly wasLists: boolean;
};

type OpenOptions = {
  readonly name: string;
  readonly workDirectory: string;
  readonly areLists: boolean;
  readonly signal: AbortSignal;
};

async function openTable(path: string, { signal, ...options }: OpenOptions): Promise<Table> {
  const { path: plain, wasLists } = await plainTable(await realpath(path), options);
  const folders = [dirname(plain)];
  const [file] = await findFiles(plain, folders);
  const settings = fileSettings(folders, options.workDirectory);
  const connector = await connectFile({ type: "File", location: plain }, { customer: "local", settings });
  const { columns } = await connector.inspect(`FROM ${identifier(file!.table)}`, { sampleRows: 0, signal });
  return { path, connector, name: file!.table, columns: columns.map(({ name }) => name), wasLists };
}

function columnsOf(train: Table, { columns: given, areSessions = false }: FilesToRead): Columns {
  const user = given.user ?? (areSessions ? guessSessionColumn(train.columns) : undefined);
  const guess = guessColumns(train.columns, { ...given, user, time: given.time ?? undefined });
  if (guess.kind === "unclear") throw new FileError(`${train.path}: ${guess.reasons.join(". ")}.`);
  // A label is never guessed: without a label column given, every row is positive.
  return { ...guess, time: given.time === null ? null : guess.time, label: given.label ?? null };
}

type Interacted = {
  readonly staging: Staging;
  readonly table: Table;
  readonly name: "train" | "test";
  readonly columns: Columns;
  readonly signal: AbortSignal;
};
type StagedFile = {
  readonly checked: StagedInteractions;
  readonly rejected: number;
  readonly warnings: readonly string[];
};

/** Checks the rows of a file and keeps the accepted ones in the table `train_rows` or `test_rows`, ids as text. */
async function stageInteractions({ staging, table, name, columns, signal }: Interacted): Promise<StagedFile> {
  const { user, item, time, label } = columns;
  const has = (column: string | null): column is string => column !== null && table.columns.includes(column);
  for (const column of [user, item]) if (!has(column)) throw new FileError(missingColumn(table, column));
  const query = `SELECT ${identifier(user)}, ${identifier(item)}, ${has(time) ? identifier(time) : "0"} AS created_at,
    ${has(label) ? isPositive(identifier(label)) : "true"} AS positive FROM ${identifier(table.name)}`;
  const source = await table.connector.read(query, { signal });
  const rows = await stageRows(staging, { name: `${name}_file`, source }, { signal, progress: () => undefined });
  const schema: ModelSchema = {
    user: { id: user },
    item: { id: item },
    interaction: { created_at: "created_at", label: { type: "Binary", name: "positive" }, source: { query } },
  };
  const checked = await checkInteractions(staging, rows, schema, { nowSeconds: Date.now() / 1000, signal });
  const unreadable = unreadableOf(source);
  const rejected = { ...checked.rejected, ...unreadable };
  checkRows({
    rows: rows.rows + countRejected(unreadable),
    rejected,
    rejectedFractionMax: REJECTED_FRACTION_MAX,
    label: schema.interaction.label,
  });
  const text = (key: IdExpression, column: string) => key.text.replaceAll(/\bkey\b/g, column);
  await runStaged(
    staging,
    `CREATE TABLE ${name}_rows AS SELECT row, ${text(checked.userKey, "user_id")} AS user_id,
     ${text(checked.itemKey, "item_id")} AS item_id, seconds, positive, rating FROM ${checked.acceptedSql}`,
    signal,
  );
  const ofText = { userKey: { ...checked.userKey, text: "key" }, itemKey: { ...checked.itemKey, text: "key" } };
  const warn = (condition: boolean, warning: string) => (condition ? [`${table.path}: ${warning}`] : []);
  const lacks = (column: string | null) => column !== null && !has(column);
  return {
    checked: { ...checked, ...ofText, acceptedSql: `${name}_rows` },
    rejected: countRejected(rejected),
    warnings: [
      ...warn(table.wasLists, "each line is read as the id of a user and the ids of the user's items."),
      ...warn(lacks(time), `without the column ${JSON.stringify(time)}, rows are in the order of the file.`),
      ...warn(lacks(label), `without the column ${JSON.stringify(label)}, every row counts as positive.`),
      ...describeRejected(rejected).map((reason) => `${table.path}: rows left out: ${reason}`),
    ],
  };
}

/** SQL that holds for true and for numbers above 0. DuckDB takes NaN for the largest number. */
function isPositive(column: string): string {
  const text = `trim(CAST(${column} AS VARCHAR))`;
  const number = `TRY_CAST(${text} AS DOUBLE)`;
  return `coalesce(lower(${text}) IN ('true', 't', 'yes', 'y') OR (${number} > 0 AND NOT isnan(${number})), false)`;
}

type Attributes = { readonly columns: readonly AttributeColumn[]; readonly warnings: readonly string[] };

type AttributeTable = {
  readonly staging: Staging;
  readonly table: Table;
  readonly what: "user" | "item";
  readonly id: string;
  readonly count: number;
  readonly signal: AbortSignal;
};

/** The attributes of every user or item that has a number, in the order of the numbers. */
async function attributesOfTable({ staging, table, what, id, count, signal }: AttributeTable): Promise<Attributes> {
  if (!table.columns.includes(id)) throw new FileError(missingColumn(table, id));
  const columns = attributeColumns({ id }, table.columns, what);
  const source = await table.connector.read(`FROM ${identifier(table.name)}`, { signal, columns });
  const rows = await stageRows(staging, { name: `${what}_rows`, source }, { signal, progress: () => undefined });
  const staged = await checkAttributes(staging, rows, { entity: { id }, what, signal });
  const read = await readAttributes(staging, staged, { index: `${what}s`, count, signal });
  const unknownIds = await unknownIdsWarning(staging, staged, { known: `${what}s`, what, signal });
  const warnings = [...staged.warnings, ...(unknownIds ? [unknownIds] : []), ...read.warnings];
  return { columns: read.columns, warnings: warnings.map((warning) => `${table.path}: ${warning}`) };
}

function missingColumn({ path, columns }: Table, column: string): string {
  const found = columns.slice(0, 50).map((name) => JSON.stringify(name));
  return `${path} has no column ${JSON.stringify(column)}; its columns are ${found.join(", ")}.`;
}

const COLUMN_FAULTS = ["too_many_rejected_rows", "unsupported_column_type"];

const hintFor = ({ code }: StageError) =>
  COLUMN_FAULTS.includes(code)
    ? " Name other columns with --user-column, --item-column or --time-column; --time-column none takes the order of the file."
    : "";

/** The result of the work. Errors name the file as the person wrote it. */
async function aboutFile<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StageError)
      throw new FileError(`${path} cannot be read: ${error.message}.${hintFor(error)}`, { cause: error });
    if (error instanceof Error && "code" in error)
      throw new FileError(`${path} cannot be read: ${error.message}`, { cause: error });
    throw error;
  }
}
