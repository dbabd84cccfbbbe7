import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import type { ConnectorSettings } from "../../../settings.ts";
import type { StageError } from "../../../stage/stage-error.ts";
import { startDeadline } from "../limits.ts";
import { identifier, literal } from "../sql-text.ts";
import { type FileTable, NO_TEXTS, type TextColumns } from "./columns.ts";
import { explainDuckDBError } from "./errors.ts";
import type { SourceFile } from "./files.ts";
import { interruptible, isStuck } from "./interruptible.ts";
import { tableOfFiles } from "./table-of-files.ts";

/** A DuckDB instance with views of some files. It can reach nothing else. */
export type Sandbox = {
  readonly connection: DuckDBConnection;
  /** A second connection, which parses queries before the first one runs them. */
  readonly parser: DuckDBConnection;
  /** How the file of each view is read; none for other views. */
  readonly tables: ReadonlyMap<string, FileTable>;
  /** From now on, reads these columns of the views as they are written, all others by their types, and all files. */
  readAsText(columns: TextColumns): Promise<void>;
  /** Until the next `readAsText`, tables of many files leave out those that were last written before this time. */
  leaveOutOlder(writtenSinceMs: number): Promise<void>;
  /** An error of this instance as the customer may see it. */
  readonly explain: (error: unknown) => StageError;
  close(): Promise<void>;
};

/** `timeoutSeconds` is also the time for opening all files. */
type SandboxSettings = Pick<
  ConnectorSettings,
  "memoryMb" | "tempDirectory" | "diskBytesMax" | "timeoutSeconds" | "typedByRows"
>;

const THREADS_MAX = 4;
/** Files of fewer bytes together are read by one thread: with two, reading a few rows takes a tenth more processor time. */
const SHARED_BYTES_MIN = 1e6;
/** Compiling deep expressions takes quadratic time and cannot be interrupted: 15 s at 900, below 1 s at 250. */
const EXPRESSION_DEPTH_MAX = 250;
const TEMP_BYTES_PER_MEMORY_BYTE = 16;

/**
 * A locked instance with one view per table, or with other views of these files. Its SQL can open no other file, network or extension
 * and change no setting. It spills into a folder of its own, at most 16 times its memory and no more than a run may take of the disk.
 *
 * Throws StageError that names the file which does not have the format of its name; `source_timeout`.
 */
export async function openSandbox(
  files: readonly SourceFile[],
  settings: SandboxSettings,
  createViews: CreateViews = viewPerTable,
): Promise<Sandbox> {
  await mkdir(settings.tempDirectory, { recursive: true });
  const folder = await mkdtemp(join(settings.tempDirectory, "file-connector-"));
  const shown = files.flatMap(({ path, realPath, shownAs }) =>
    [path, realPath].map((each) => ({ path: each, shownAs })),
  );
  const hidden = [folder, ...shown];
  const explain = (error: unknown) => explainDuckDBError(error, hidden);
  const isSmall = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) < SHARED_BYTES_MIN;
  const instance = await DuckDBInstance.create(":memory:", {
    threads: String(isSmall ? 1 : Math.min(THREADS_MAX, availableParallelism())),
    memory_limit: `${settings.memoryMb}MB`,
    temp_directory: folder,
    max_temp_directory_size: `${Math.ceil(Math.min(settings.memoryMb * TEMP_BYTES_PER_MEMORY_BYTE, settings.diskBytesMax / 1e6))}MB`,
    max_expression_depth: String(EXPRESSION_DEPTH_MAX),
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    allow_community_extensions: "false",
    allow_persistent_secrets: "false",
  });
  const connection = await instance.connect();
  const parser = await instance.connect();
  const close = async () => {
    if (isStuck(connection)) return; // the run's folder is removed with the run
    connection.closeSync();
    parser.closeSync();
    instance.closeSync();
    await rm(folder, { recursive: true, force: true });
  };
  const tables = new Map<string, FileTable>();
  const { signal, end } = startDeadline(new AbortController().signal, settings.timeoutSeconds);
  try {
    const opening = { files, hidden, signal, typedByRows: settings.typedByRows ?? -1, tables };
    await interruptible(connection, { signal, explain }, () => createViews(connection, opening));
    await lock(connection, files);
    await parser.run("SET TimeZone = 'UTC'").catch(() => undefined);
    let texts = NO_TEXTS;
    let changed: Iterable<string> = []; // tables whose views do not read all files by their types
    const show = async (names: Iterable<string>, writtenSinceMs?: number) => {
      for (const name of names)
        await connection.run(viewSql(name, tables.get(name)!.from(texts.get(name), writtenSinceMs)));
    };
    const readAsText = async (columns: TextColumns) => {
      texts = columns;
      await show(new Set([...changed, ...columns.keys()]));
      changed = columns.keys();
    };
    const leaveOutOlder = async (writtenSinceMs: number) => {
      changed = tables.keys();
      await show(tables.keys(), writtenSinceMs);
    };
    return { connection, parser, tables, readAsText, leaveOutOlder, explain, close };
  } catch (error) {
    await close();
    throw explain(error);
  } finally {
    end();
  }
}

type CreateViews = (connection: DuckDBConnection, opening: Opening) => Promise<unknown>;

type Opening = {
  readonly files: readonly SourceFile[];
  readonly hidden: Parameters<typeof explainDuckDBError>[1];
  readonly signal: AbortSignal;
  readonly typedByRows: number;
  /** Filled with the tables of the views. */
  readonly tables: Map<string, FileTable>;
};

async function viewPerTable(
  connection: DuckDBConnection,
  { files, hidden, signal, typedByRows, tables }: Opening,
): Promise<void> {
  const explain = (error: unknown, file: SourceFile | undefined) => explainDuckDBError(error, hidden, file);
  for (const [name, some] of Map.groupBy(files, ({ table }) => table))
    try {
      const checkStopped = () => signal.throwIfAborted();
      const table = await tableOfFiles(connection, some, { typedByRows, checkStopped, explain });
      await connection.run(viewSql(name, table.from()));
      tables.set(name, table);
    } catch (error) {
      throw explain(error, some.length === 1 ? some[0] : undefined);
    }
}

const viewSql = (table: string, from: string): string =>
  `CREATE OR REPLACE VIEW ${identifier(table)} AS SELECT * FROM ${from}`;

async function lock(connection: DuckDBConnection, files: readonly SourceFile[]): Promise<void> {
  const settings = [
    "TimeZone = 'UTC'",
    `allowed_paths = [${files.map((file) => literal(file.path)).join(", ")}]`,
    "enable_external_access = false",
    "lock_configuration = true",
  ];
  for (const setting of settings) await connection.run(`SET GLOBAL ${setting}`);
}
