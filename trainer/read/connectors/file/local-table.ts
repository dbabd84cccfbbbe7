import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import type { ConnectorConfig } from "../../../../shared/model-spec.ts";
import { findFiles, findTables } from "../duckdb/files.ts";

/** What a person at this machine names as one table: a file, a folder or a pattern. */
export type LocalTable = {
  /** Absolute, with links resolved: the file, or the folder that has the files. */
  readonly path: string;
  /** How a connector names it, absolute: a file, a folder or a pattern. */
  readonly location: string;
  /** The folders to allow. */
  readonly folders: readonly string[];
  readonly table: string;
  readonly config: ConnectorConfig;
  /** The latest change of a file. */
  readonly changedMs: number;
};

/** One or more tables of one connector. */
export type LocalTables = Omit<LocalTable, "location" | "table">;

const PATTERN = /[*?[{]/;
export const isPattern = (path: string): boolean => PATTERN.test(path);

/**
 * @param given Absolute.
 * @throws StageError as findFiles does; the error of the file system where there is no such file or folder.
 */
export async function localTable(given: string): Promise<LocalTable> {
  const isNamed = !isPattern(given) || (await stat(given).catch(() => undefined)) !== undefined;
  if (isNamed && (await stat(given)).isFile()) {
    const path = await realpath(given);
    const folder = dirname(path);
    const [file] = await findFiles(path, [folder]);
    const config = { type: "File", location: path };
    return {
      path,
      location: path,
      folders: [folder],
      table: file!.table,
      config,
      changedMs: (await stat(path)).ctimeMs,
    };
  }
  const parts = given.split(sep);
  const firstPattern = isNamed ? parts.length : parts.findIndex(isPattern);
  const path = await realpath(parts.slice(0, firstPattern).join(sep) || sep);
  const table = basename(path) || "files";
  const location = join(path, ...parts.slice(firstPattern));
  const tables = { [table]: location };
  const files = await findTables(tables, [path]);
  const changes = await Promise.all(files.map(async ({ realPath }) => (await stat(realPath)).ctimeMs));
  return { path, location, folders: [path], table, config: { type: "File", tables }, changedMs: Math.max(...changes) };
}

/** Two tables of one connector, as `lines` and `orders`. */
export function localTables(lines: LocalTable, orders: LocalTable): LocalTables {
  const tables = { lines: lines.location, orders: orders.location };
  return {
    path: lines.path,
    folders: [...lines.folders, ...orders.folders],
    config: { type: "File", tables },
    changedMs: Math.max(lines.changedMs, orders.changedMs),
  };
}
