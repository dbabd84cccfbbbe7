import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { StageError } from "../../../stage/stage-error.ts";
import { sourceError } from "../source-error.ts";
import { identifier, literal } from "../sql-text.ts";
import { explainDuckDBError } from "./errors.ts";
import type { SourceFile } from "./files.ts";
import { tableFunction } from "./table.ts";

/** A DuckDB instance with views of some files, which can reach nothing else. */
export type Sandbox = {
  readonly connection: DuckDBConnection;
  /** A second connection, which parses queries before the first one runs them. */
  readonly parser: DuckDBConnection;
  /** An error of this instance as the customer may see it. */
  readonly explain: (error: unknown) => StageError;
  /** With `abandoned`, the instance stays open, because it still runs a statement. */
  close(abandoned: boolean): Promise<void>;
};

export type SandboxSettings = {
  readonly memoryMb: number;
  readonly tempDirectory: string;
  /** Time for opening all files. */
  readonly timeoutSeconds: number;
  /** Rows of a text file from which the types of its columns are found; absent: all. */
  readonly typedByRows?: number;
};

const THREADS_MAX = 4;
/** Compiling deep expressions takes quadratic time and cannot be interrupted: 15 s at 900, below 1 s at 250. */
const EXPRESSION_DEPTH_MAX = 250;
const TEMP_BYTES_PER_MEMORY_BYTE = 16;

/**
 * A locked instance with one view per file. Its SQL can open no other file, network or extension and change no setting. It spills
 * at most 16 times its memory into a folder of its own.
 *
 * Throws StageError that names the file which does not have the format of its name; `source_timeout`.
 */
export async function openSandbox(files: readonly SourceFile[], settings: SandboxSettings): Promise<Sandbox> {
  await mkdir(settings.tempDirectory, { recursive: true });
  const folder = await mkdtemp(join(settings.tempDirectory, "file-connector-"));
  const hidden = [folder, ...files.map((file) => ({ path: file.path, shownAs: file.shownAs }))];
  const explain = (error: unknown) => explainDuckDBError(error, hidden);
  let instance: DuckDBInstance | undefined;
  let views = Promise.resolve();
  const release = async () => {
    instance?.closeSync();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    instance = await DuckDBInstance.create(":memory:", {
      threads: String(Math.min(THREADS_MAX, availableParallelism())),
      memory_limit: `${settings.memoryMb}MB`,
      temp_directory: folder,
      max_temp_directory_size: `${settings.memoryMb * TEMP_BYTES_PER_MEMORY_BYTE}MB`,
      max_expression_depth: String(EXPRESSION_DEPTH_MAX),
      autoinstall_known_extensions: "false",
      autoload_known_extensions: "false",
      allow_community_extensions: "false",
      allow_persistent_secrets: "false",
    });
    const connection = await instance.connect();
    const parser = await instance.connect();
    const late = new AbortController();
    views = createViews(connection, files, { hidden, late: late.signal, typedByRows: settings.typedByRows ?? -1 });
    await withinTime(views, settings.timeoutSeconds, () => {
      late.abort();
      connection.interrupt();
    });
    await lock(connection, files);
    await parser.run("SET TimeZone = 'UTC'").catch(() => undefined);
    return {
      connection,
      parser,
      explain,
      async close(abandoned) {
        // Closing the instance while a connection still runs a statement would crash the process.
        if (abandoned) return;
        connection.closeSync();
        parser.closeSync();
        await release();
      },
    };
  } catch (error) {
    // Finding types cannot be interrupted. After a timeout it goes on, and the instance is closed once it has ended.
    const released = views.catch(() => undefined).then(release);
    if (isTimeout(error)) released.catch(() => undefined);
    else await released;
    throw explain(error);
  }
}

type Opening = {
  readonly hidden: Parameters<typeof explainDuckDBError>[1];
  readonly late: AbortSignal;
  readonly typedByRows: number;
};

async function createViews(
  connection: DuckDBConnection,
  files: readonly SourceFile[],
  { hidden, late, typedByRows }: Opening,
): Promise<void> {
  for (const file of files)
    try {
      late.throwIfAborted();
      const source = await tableFunction(connection, file, typedByRows);
      await connection.run(`CREATE VIEW ${identifier(file.table)} AS SELECT * FROM ${source}`);
    } catch (error) {
      throw explainDuckDBError(error, hidden, file);
    }
}

async function withinTime(views: Promise<void>, seconds: number, stop: () => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      stop();
      reject(timeoutError(seconds));
    }, seconds * 1000);
  });
  await Promise.race([views, late]).finally(() => clearTimeout(timer));
}

const timeoutError = (seconds: number) =>
  sourceError({
    code: "source_timeout",
    message: `Finding the types of the files' columns took longer than the ${seconds} seconds allowed; give fewer or smaller files, or Parquet`,
  });

const isTimeout = (error: unknown) => error instanceof StageError && error.code === "source_timeout";

async function lock(connection: DuckDBConnection, files: readonly SourceFile[]): Promise<void> {
  const settings = [
    "TimeZone = 'UTC'",
    `allowed_paths = [${files.map((file) => literal(file.path)).join(", ")}]`,
    "enable_external_access = false",
    "lock_configuration = true",
  ];
  for (const setting of settings) await connection.run(`SET GLOBAL ${setting}`);
}
