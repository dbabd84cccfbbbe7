import { mkdtemp, rm, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import {
  type DuckDBAppender,
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBInstance,
  type DuckDBType,
  DuckDBTypeId,
} from "@duckdb/node-api";
import { checkingError, StageError } from "../../stage/stage-error.ts";
import type { SourceRows } from "../connectors/connector.ts";
import { interruptible } from "../connectors/duckdb/interruptible.ts";
import { streamWhole } from "../connectors/duckdb/whole-stream.ts";
import { identifier } from "../connectors/sql-text.ts";

/** A DuckDB database of one run, on disk. It never runs a customer's SQL. */
export type Staging = {
  readonly connection: DuckDBConnection;
  readonly memoryMb: number;
  /** Stops the running statement, and all later ones, with its reason. */
  readonly signal: AbortSignal;
  /** Throws StageError `disk_budget_exceeded` when the database is larger than the run's disk budget. */
  checkDisk(): Promise<void>;
  /** Closes the database and deletes its files. */
  close(): Promise<void>;
};

export type StagingOptions = {
  readonly workDirectory: string;
  readonly memoryMb: number;
  /** The largest size of the database, and of what it spills. Default: no limit. */
  readonly diskBytesMax?: number;
  readonly signal: AbortSignal;
};

/**
 * DuckDB's own advice is 125 MB for each thread. With 61 MB, two threads ran out of memory while they merged ten million sorted rows of
 * records, and one did not.
 */
export const THREAD_MB = 125;

/** Opens an empty database in a new folder below `workDirectory`. DuckDB spills into the same folder. */
export async function openStaging(options: StagingOptions): Promise<Staging> {
  const { workDirectory, memoryMb, signal, diskBytesMax = Number.POSITIVE_INFINITY } = options;
  const folder = await mkdtemp(join(workDirectory, "staging-"));
  const path = join(folder, "rows.duckdb");
  const instance = await DuckDBInstance.create(path, {
    threads: String(Math.max(1, Math.min(8, availableParallelism(), Math.floor(memoryMb / THREAD_MB)))),
    memory_limit: `${Math.max(64, Math.floor(memoryMb))}MB`,
    temp_directory: join(folder, "spilled"),
    ...(Number.isFinite(diskBytesMax) && { max_temp_directory_size: `${Math.ceil(diskBytesMax / 1e6)}MB` }),
    preserve_insertion_order: "true",
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
  });
  const connection = await instance.connect();
  await connection.run("SET GLOBAL TimeZone = 'UTC'");
  await connection.run("PRAGMA disable_checkpoint_on_shutdown"); // the file is deleted when it is closed
  return {
    connection,
    memoryMb,
    signal,
    async checkDisk() {
      const sizeOf = (file: string) =>
        stat(file).then(
          ({ size }) => size,
          () => 0,
        );
      const [rows, log] = await Promise.all([sizeOf(path), sizeOf(`${path}.wal`)]);
      if (rows + log > diskBytesMax) throw diskBudgetExceeded(`more than ${diskBytesMax} bytes of disk`);
    },
    async close() {
      connection.closeSync();
      instance.closeSync();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A table of staged rows. Its columns are c0, c1, …; `rowid` is the position of the row in the source. */
export type StagedTable = {
  readonly name: string;
  readonly rows: number;
  readonly columns: readonly { readonly sql: string; readonly name: string; readonly type: DuckDBType }[];
};

const PROGRESS_EVERY_CHUNKS = 64;
const CHECK_DISK_EVERY_CHUNKS = 8;

/** Copies a query's rows into a new table, chunk by chunk, in constant memory. */
export async function stageRows(
  staging: Staging,
  table: { readonly name: string; readonly source: SourceRows },
  progress: (rows: number) => void = () => undefined,
): Promise<StagedTable> {
  for (const { name, type } of table.source.columns) if (type.typeId === DuckDBTypeId.VARIANT) throw unstorable(name);
  const definition = columnsOf(table.source).map(({ sql, type }) => `${sql} ${type}`);
  await staging.connection.run(`CREATE TABLE ${identifier(table.name)} (${definition.join(", ")})`);
  return await appendRows(staging, table, progress);
}

const unstorable = (name: string) =>
  checkingError(
    "unsupported_column_type",
    `The column ${JSON.stringify(name)} has the type VARIANT, which cannot be read; convert it in the query, or leave it out`,
  );

/** Appends a query's rows to a table of the same columns. Returns the table with the number of appended rows. */
export async function appendRows(
  staging: Staging,
  table: { readonly name: string; readonly source: SourceRows },
  progress: (rows: number) => void,
): Promise<StagedTable> {
  const appender = await staging.connection.createAppender(table.name);
  let rows = 0;
  try {
    let chunks = 0;
    for await (const chunk of table.source.chunks) {
      staging.signal.throwIfAborted();
      appender.appendDataChunk(chunk);
      rows += chunk.rowCount;
      if (++chunks % PROGRESS_EVERY_CHUNKS === 0) progress(rows);
      if (chunks % CHECK_DISK_EVERY_CHUNKS === 0) await staging.checkDisk();
    }
    appender.closeSync();
  } catch (error) {
    closeQuietly(appender);
    throw explainStaging(error);
  }
  progress(rows);
  return { name: table.name, rows, columns: columnsOf(table.source) };
}

const columnsOf = ({ columns }: SourceRows) => columns.map(({ name, type }, i) => ({ sql: `c${i}`, name, type }));

/** Makes a table of one column of texts, with `rowid` as their position. */
export async function stageTexts(
  staging: Staging,
  { name, column }: { readonly name: string; readonly column: string },
  texts: Iterable<string>,
): Promise<void> {
  await staging.connection.run(`CREATE OR REPLACE TABLE ${name} (${column} VARCHAR)`);
  const appender = await staging.connection.createAppender(name);
  try {
    for (const text of texts) {
      appender.appendVarchar(text);
      appender.endRow();
    }
    appender.closeSync();
  } catch (error) {
    closeQuietly(appender);
    throw explainStaging(error);
  }
}

/** Closing writes buffered rows, which fails again on a full disk. The first error is the one to report. */
function closeQuietly(appender: DuckDBAppender): void {
  try {
    appender.closeSync();
  } catch {
    // The staging folder is removed anyway.
  }
}

/** Runs a statement. A full disk and too little memory become StageErrors. */
export async function runStaged(staging: Staging, sql: string): Promise<void> {
  await interrupted(staging, () => staging.connection.run(sql));
}

/** The rows of a small result, as JavaScript values. */
export async function readStaged(staging: Staging, sql: string): Promise<Record<string, unknown>[]> {
  return await interrupted(staging, async () => (await staging.connection.runAndReadAll(sql)).getRowObjectsJS());
}

/** The only row of a result. */
export const readRow = async (staging: Staging, sql: string): Promise<Record<string, unknown>> =>
  (await readStaged(staging, sql))[0]!;

/**
 * The chunks of a large result, while it is computed. The database can run no other statement until they end.
 *
 * @param progress Called now and then with the number of rows so far.
 */
export async function* streamStaged(
  staging: Staging,
  sql: string,
  progress?: (rows: number) => void,
): AsyncGenerator<DuckDBDataChunk> {
  const stream = await interrupted(staging, () => streamWhole(staging.connection, sql));
  let [rows, chunks] = [0, 0];
  try {
    const next = () => interrupted(staging, stream.next);
    for (let chunk = await next(); chunk !== undefined; chunk = await next()) {
      yield chunk;
      rows += chunk.rowCount;
      if (++chunks % PROGRESS_EVERY_CHUNKS === 0) progress?.(rows);
    }
  } finally {
    await stream.leave();
  }
}

const interrupted = <Value>({ connection, signal }: Staging, step: () => Promise<Value>): Promise<Value> =>
  interruptible(connection, { signal, explain: explainStaging }, step);

function explainStaging(error: unknown): unknown {
  const message = error instanceof Error ? error.message : String(error);
  const make = (code: string, text: string, retryable: boolean) =>
    new StageError("checking", code, text, { cause: error, retryable });
  if (/max_temp_directory_size/i.test(message)) return diskBudgetExceeded("more disk than is allowed");
  if (/No space left on device/i.test(message))
    return make(
      "work_disk_full",
      "The trainer's disk is full: free space below its state folder, or read fewer rows",
      false,
    );
  if (/^Out of Memory Error/.test(message))
    return make(
      "work_memory_full",
      "The rows do not fit the memory of this run: give it more, or read fewer rows",
      true,
    );
  return error;
}

/** The code is that of a run whose folders are found too large (manage/runs/run-child.ts). */
const diskBudgetExceeded = (needed: string): StageError =>
  new StageError(
    "fetching",
    "disk_budget_exceeded",
    `The rows need ${needed} (SHORTLIST_RUN_DISK_BYTES); narrow the query, such as to the newest interactions, or ask the operator for more`,
  );
