import { mkdtemp, realpath, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import {
  type ColumnGuess,
  type GivenColumns,
  guessColumns,
  guessEventColumn,
  guessIdColumn,
  guessSessionColumn,
  listOfColumns,
} from "../../../shared/guess-columns.ts";
import type { ModelSchema } from "../../../shared/model-spec.ts";
import { ExpectedError } from "../../expected-error.ts";
import { type Connector, jsonRows } from "../../read/connectors/connector.ts";
import { connectFile } from "../../read/connectors/file/file.ts";
import { fileSettings } from "../../read/connectors/file/file-settings.ts";
import { isPattern, localTable } from "../../read/connectors/file/local-table.ts";
import { identifier, literal } from "../../read/connectors/sql-text.ts";
import { checkInteractions, type StagedInteractions } from "../../read/dataset/check-interactions.ts";
import { checkRows } from "../../read/dataset/checks.ts";
import type { AttributeColumn, Dataset, Interactions } from "../../read/dataset/dataset.ts";
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
import { ofText } from "../../read/rules/id-expression.ts";
import { countRejected, describeRejected } from "../../read/rules/reject-reasons.ts";
import { findIdColumn } from "../../read/tables/id-column.ts";
import { attributesOf, interactionsOf, type RowsOf } from "../../read/tables/rows-of-table.ts";
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
  /** Types of events in the label column that are positive; absent: it is yes or no. */
  readonly positive?: readonly string[] | undefined;
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
export class FileError extends ExpectedError {
  override readonly name = "FileError";
}

const MEMORY_MB = 2048;
const SAMPLE_ROWS = 50;
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
  const staging = await openStaging({ workDirectory, memoryMb: MEMORY_MB, signal });
  const context: Context = { staging, workDirectory, signal, opened: [], idColumns: [] };
  try {
    const train = await openTable(context, { path: files.train, name: "train", rowsOf: interactionsOf });
    const areLists = train.wasLists;
    const test = await openTable(context, { path: files.test, name: "test", rowsOf: interactionsOf, areLists });
    const columns = columnsOf(train, files);
    context.idColumns.push(columns.user, columns.item);
    const trainRows = await aboutFile(files.train, () =>
      stageInteractions(context, train, { ...columns, part: "train", positive: files.positive }),
    );
    const testRows = await aboutFile(files.test, () =>
      stageInteractions(context, test, { ...columns, part: "test", positive: files.positive }),
    );
    const acceptedSql = "(FROM train_rows UNION ALL FROM test_rows)";
    await numberIds(staging, { ...trainRows.checked, acceptedSql }, null);
    const readRows = async ({ checked }: StagedFile) =>
      (await readInteractions(staging, checked, { tieOrder: "row" })).interactions;
    const interactions = await readRows(trainRows);
    const users = await readAttributeFile(context, files.users, {
      what: "user",
      id: columns.user,
      count: interactions.userCount,
      train,
    });
    const items = await readAttributeFile(context, files.items, {
      what: "item",
      id: columns.item,
      count: interactions.itemCount,
      train,
    });
    return {
      train: {
        ...interactions,
        itemIds: await readIds(staging, "items"),
        userIds: await readIds(staging, "users"),
        itemIdType: "string",
        itemAttributes: items.columns,
        userAttributes: users.columns,
      },
      test: await readRows(testRows),
      columns,
      rejectedRows: trainRows.rejected + testRows.rejected,
      warnings: [
        ...context.opened.flatMap((connector) => connector.notes?.() ?? []),
        ...[trainRows, testRows, users, items].flatMap(({ warnings }) => warnings),
      ],
    };
  } finally {
    await Promise.allSettled(context.opened.map((connector) => connector.close()));
    await staging.close();
    await rm(workDirectory, { recursive: true, force: true });
  }
}

type Context = {
  readonly staging: Staging;
  readonly workDirectory: string;
  readonly signal: AbortSignal;
  /** Connectors to close at the end. */
  readonly opened: Connector[];
  /** Columns whose ids are read as they are written, once they are known. */
  readonly idColumns: string[];
};

/** A file as a table of the File connector. */
type Table = {
  readonly path: string;
  readonly connector: Connector;
  /** The table as an expression after FROM. */
  readonly name: string;
  readonly columns: readonly string[];
  /** The first rows. */
  readonly sample: readonly Readonly<Record<string, unknown>>[];
  readonly wasLists: boolean;
  /** The first rows of a query. */
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
};

type TableFile = {
  readonly path: string;
  readonly name: string;
  readonly rowsOf: RowsOf;
  readonly areLists?: boolean;
};

async function openTable(context: Context, { path, name, rowsOf, areLists = false }: TableFile): Promise<Table> {
  const { workDirectory, signal, opened, idColumns } = context;
  return await aboutFile(path, async () => {
    const isOfMany = isPattern(path) || (await stat(path)).isDirectory();
    const file = isOfMany
      ? { path: resolve(path), wasLists: false }
      : await plainTable(await realpath(path), { name, workDirectory, areLists });
    const local = await localTable(file.path);
    const settings = fileSettings(local.folders, workDirectory);
    const connector = await connectFile(local.config, { customer: "local", settings, idColumns });
    opened.push(connector);
    const query = async (sql: string) => jsonRows(await connector.read(sql, { signal, limit: SAMPLE_ROWS }));
    const stored = identifier(local.table);
    const columnsOf = async (table: string) => (await connector.inspect(`FROM ${table}`, signal)).columns;
    const storedColumns = await columnsOf(stored);
    const rows = await query(`FROM ${stored}`);
    const table = rowsOf(stored, storedColumns, rows[0] ?? {});
    const columns = (table === stored ? storedColumns : await columnsOf(table)).map((column) => column.name);
    const sample = table === stored ? rows : await query(`FROM ${table}`);
    return { path, connector, name: table, columns, sample, wasLists: file.wasLists, query };
  });
}

function columnsOf(train: Table, { columns: given, areSessions = false }: FilesToRead): Columns {
  const user = given.user ?? (areSessions ? guessSessionColumn(train.columns) : undefined);
  const guess = guessColumns(train.columns, { ...given, user, time: given.time ?? undefined }, train.sample);
  if (guess.kind === "unclear") throw new FileError(`${train.path}: ${guess.reasons.join(". ")}.`);
  // A label is never guessed: without a label column given, every row is positive.
  return {
    ...guess,
    time: given.time === null ? null : guess.time,
    label: given.label === undefined ? null : guess.label,
  };
}

type StagedFile = {
  readonly checked: StagedInteractions;
  readonly rejected: number;
  readonly warnings: readonly string[];
};

/** Checks the rows of a file and keeps the accepted ones in the table `train_rows` or `test_rows`, ids as text. */
async function stageInteractions(
  { staging, signal }: Context,
  table: Table,
  {
    user,
    item,
    time,
    label,
    part,
    positive: types,
  }: Columns & {
    readonly part: "train" | "test";
    readonly positive: readonly string[] | undefined;
  },
): Promise<StagedFile> {
  const has = (column: string | null): column is string => column !== null && table.columns.includes(column);
  for (const column of [user, item]) checkColumn(table, column);
  const query = `SELECT ${identifier(user)}, ${identifier(item)}, ${has(time) ? identifier(time) : "0"} AS created_at,
    ${has(label) ? isPositive(identifier(label), types) : "true"} AS positive FROM ${table.name}`;
  const source = await table.connector.read(query, { signal });
  const rows = await stageRows(staging, { name: `${part}_file`, source });
  const schema: ModelSchema = {
    user: { id: user },
    item: { id: item },
    interaction: { created_at: "created_at", label: { type: "Binary", name: "positive" }, source: { query } },
  };
  const checked = await checkInteractions(staging, rows, schema, Date.now() / 1000);
  const unreadable = unreadableOf(source);
  const rejected = { ...checked.rejected, ...unreadable };
  const { label: positive } = schema.interaction;
  const report = { rows: rows.rows + countRejected(unreadable), rejected, rejectedFractionMax: REJECTED_FRACTION_MAX };
  checkRows({ ...report, label: positive });
  await runStaged(
    staging,
    `CREATE TABLE ${part}_rows AS SELECT row, ${checked.userKey.text("accepted.user_id")} AS user_id,
     ${checked.itemKey.text("accepted.item_id")} AS item_id, seconds, positive, rating FROM ${checked.acceptedSql} accepted`,
  );
  const keys = { userKey: ofText(checked.userKey), itemKey: ofText(checked.itemKey) };
  const events = guessEventColumn(table.columns.filter((name) => ![user, item, time].includes(name)));
  const lacks = (column: string | null) => column !== null && !has(column);
  const warnings = [
    ...checked.notes,
    ...(table.wasLists ? ["each line is read as the id of a user and the ids of the user's items."] : []),
    ...(lacks(time) ? [`without the column ${JSON.stringify(time)}, rows are in the order of the file.`] : []),
    ...(events && label === null && part === "train"
      ? [`every row counts as positive; --label-column ${events} --positive TYPES takes types of events.`]
      : []),
    ...(lacks(label) ? [`without the column ${JSON.stringify(label)}, every row counts as positive.`] : []),
    ...describeRejected(rejected).map((reason) => `rows left out: ${reason}`),
  ];
  return {
    checked: { ...checked, ...keys, acceptedSql: `${part}_rows` },
    rejected: countRejected(rejected),
    warnings: warnings.map((warning) => `${table.path}: ${warning}`),
  };
}

/** SQL that holds for true and for numbers above 0, or for types of events. DuckDB takes NaN for the largest number. */
function isPositive(column: string, types: readonly string[] | undefined): string {
  const text = `trim(CAST(${column} AS VARCHAR))`;
  if (types) return `coalesce(${text} IN (${types.map(literal).join(", ")}), false)`;
  const number = `TRY_CAST(${text} AS DOUBLE)`;
  return `coalesce(lower(${text}) IN ('true', 't', 'yes', 'y') OR (${number} > 0 AND NOT isnan(${number})), false)`;
}

type Attributes = { readonly columns: readonly AttributeColumn[]; readonly warnings: readonly string[] };
type Described = {
  readonly what: "user" | "item";
  /** The column of the interactions. */
  readonly id: string;
  readonly count: number;
  readonly train: Table;
};

/** The attributes of every user or item that has a number, in the order of the numbers; none without a file. */
async function readAttributeFile(
  context: Context,
  path: string | undefined,
  { what, id: wanted, count, train }: Described,
): Promise<Attributes> {
  if (path === undefined) return { columns: [], warnings: [] };
  const { staging, signal, idColumns } = context;
  const index = `${what}s` as const;
  const table = await openTable(context, { path, name: index, rowsOf: attributesOf(what) });
  return await aboutFile(path, async () => {
    const id = (await findIdColumn({ id: wanted, role: what }, train, table)) ?? wanted;
    checkColumn(table, id);
    idColumns.push(id);
    const columns = attributeColumns({ id }, table.columns, what);
    const source = await table.connector.read(`FROM ${table.name}`, { signal, columns });
    const rows = await stageRows(staging, { name: `${what}_rows`, source });
    const staged = await checkAttributes(staging, rows, { entity: { id }, what });
    const read = await readAttributes(staging, staged, { index, count });
    const unknownIds = await unknownIdsWarning(staging, staged, { known: index, what });
    const found = guessIdColumn(wanted, [id]) ? [] : [`the ids are read from the column ${JSON.stringify(id)}.`];
    const warnings = [...found, ...staged.warnings, ...(unknownIds ? [unknownIds] : []), ...read.warnings];
    return { columns: read.columns, warnings: warnings.map((warning) => `${path}: ${warning}`) };
  });
}

function checkColumn({ path, columns }: Table, column: string): void {
  if (columns.includes(column)) return;
  throw new FileError(`${path} has no column ${JSON.stringify(column)}; its columns are ${listOfColumns(columns)}.`);
}

const COLUMN_FAULTS = ["too_many_rejected_rows", "unsupported_column_type"];
const COLUMN_HINT =
  "Name other columns with --user-column, --item-column or --time-column; --time-column none takes the order of the file.";

/** The result of the work. Errors name the file as the person wrote it. */
async function aboutFile<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const isOfFile = error instanceof StageError || (error instanceof Error && "code" in error);
    if (!isOfFile) throw error;
    const hint = COLUMN_FAULTS.includes(String(error.code)) ? `. ${COLUMN_HINT}` : "";
    throw new FileError(`${path} cannot be read: ${error.message}${hint}`, { cause: error });
  }
}
