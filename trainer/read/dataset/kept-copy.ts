/**
 * The copy of a model's older interactions that lasts from one run to the next: one Parquet file, always replaced whole.
 * Its columns are c0, c1, … as they were staged. Its metadata says which source the rows came from and up to which
 * moment. The file is only a cache: a run that cannot use it reads the source in full.
 */
import { appendFile, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import * as z from "zod";
import { StageError } from "../../stage/stage-error.ts";
import type { SourceColumn } from "../connectors/connector.ts";
import { literal } from "../connectors/sql-text.ts";
import { readRow, runStaged, type StagedTable, type Staging } from "./staging.ts";

/** The folder of the copy, inside the model's folder. */
export const KEPT_FOLDER = "interactions";
/** The copy, inside its folder. */
export const KEPT_FILE = "rows.parquet";
const METADATA_KEY = "shortlist";

const CopyMetadata = z.object({
  /** Digest of everything that decides which rows a query gives. A copy of another digest is of no use. */
  source: z.string(),
  /** The copy holds every row before this moment: epoch seconds. */
  before: z.int(),
  /** Units per second, where times are whole numbers: 1, 1000, 1000000 or 1000000000. */
  unit: z.union([z.literal(1), z.literal(1_000), z.literal(1_000_000), z.literal(1_000_000_000), z.literal("day")]),
  /** When the source was last read in full: epoch milliseconds. */
  fullReadMs: z.number(),
});
export type CopyMetadata = z.infer<typeof CopyMetadata>;

export type KeptCopy = CopyMetadata & { readonly path: string };

/** The copy with its metadata; undefined when there is none that can be read. */
export async function openKept(staging: Staging, directory: string): Promise<KeptCopy | undefined> {
  const path = join(directory, KEPT_FILE);
  const sql = `SELECT decode(value) AS text FROM parquet_kv_metadata(${literal(path)}) WHERE decode(key) = '${METADATA_KEY}'`;
  try {
    const row = await readRow(staging, sql);
    return { path, ...CopyMetadata.parse(JSON.parse(String(row?.text))) };
  } catch {
    staging.signal.throwIfAborted();
    return undefined;
  }
}

/** Makes a table of the copy's rows. Returns their number. A damaged copy is removed, and the run has to be repeated. */
export async function loadKept(
  staging: Staging,
  { path }: KeptCopy,
  { name, columns }: { readonly name: string; readonly columns: readonly SourceColumn[] },
): Promise<number> {
  const list = columns.map(({ type }, i) => `CAST(c${i} AS ${type}) AS c${i}`).join(", ");
  try {
    await runStaged(staging, `CREATE TABLE ${name} AS SELECT ${list} FROM read_parquet(${literal(path)})`);
  } catch (error) {
    staging.signal.throwIfAborted();
    if (error instanceof StageError) throw error;
    await rm(path, { force: true });
    const message = "The rows that were kept of the last run are damaged; the next attempt reads all rows";
    throw new StageError("fetching", "kept_rows_damaged", message, { cause: error, retryable: true });
  }
  const row = await readRow(staging, `SELECT count(*) AS rows FROM ${name}`);
  return Number(row.rows);
}

export type KeepOptions = {
  readonly directory: string;
  readonly metadata: CopyMetadata;
  /** SQL condition of the rows to keep. */
  readonly condition: string;
};

/** Replaces the copy by rows of a staged table. When this throws, the previous copy is unchanged. */
export async function keepRows(staging: Staging, table: StagedTable, options: KeepOptions): Promise<void> {
  const { directory, metadata, condition } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // Unfinished files of runs that crashed.
  for (const name of await readdir(directory))
    if (name !== KEPT_FILE) await rm(join(directory, name), { recursive: true, force: true });
  const unfinished = join(directory, `${crypto.randomUUID()}.unfinished`);
  const list = table.columns.map(({ sql, type }) => (isExact(type) ? sql : `CAST(${sql} AS VARCHAR) AS ${sql}`));
  const format = `FORMAT parquet, COMPRESSION zstd, KV_METADATA {${METADATA_KEY}: ${literal(JSON.stringify(metadata))}}`;
  try {
    const rows = `SELECT ${list.join(", ")} FROM ${table.name} WHERE ${condition}`;
    await runStaged(staging, `COPY (${rows}) TO ${literal(unfinished)} (${format})`);
    await appendFile(unfinished, "", { flush: true }); // so that a crash after the rename cannot leave a file with holes
    await rename(unfinished, join(directory, KEPT_FILE));
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

export const dropKept = (directory: string): Promise<void> => rm(directory, { recursive: true, force: true });

/** DuckDB writes integers of 128 bits to Parquet as doubles, so they are kept as text. */
const isExact = ({ typeId }: DuckDBType) => typeId !== DuckDBTypeId.HUGEINT && typeId !== DuckDBTypeId.UHUGEINT;
