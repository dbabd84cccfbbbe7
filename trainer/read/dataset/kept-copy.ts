/**
 * The copy that is kept of a model's interactions between its runs: `kept.json`, which says what is kept, and the rows
 * in a Parquet file that it names by digest.
 *
 *     interactions/kept.json                what, of which query, up to when; replaced whole
 *     interactions/<sha-256>.parquet        columns c0, c1, …: the rows before the moment that kept.json tells
 *     interactions/writing-…                a copy on its way; of no meaning
 *
 * The rows are written first, synced and named by their bytes; then kept.json is. So at any moment, and after a crash at
 * any moment, kept.json is whole, old or new, and rows that are not what it names are found out by their digest. Whoever
 * cannot use a copy reads the source in full: nothing here is the only place of anything.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { z } from "zod";
import { literal } from "../connectors/duckdb/quote.ts";
import type { Tally } from "../connectors/since.ts";
import type { SourceColumn } from "../connectors/source-rows.ts";
import { runStaged, type StagedTable, type Staging } from "./staging.ts";

/** Where in a model's folder. */
export const KEPT_ROWS_FOLDER = "interactions";
/** Written anew whenever a copy is put in place. */
export const KEPT_LIST = "kept.json";
const FORMAT = 1;
const LIST_BYTES_MAX = 1_000_000;

const WholeNumber = z.string().regex(/^-?\d{1,30}$/);
const KeptList = z.strictObject({
  format: z.literal(FORMAT),
  /** Digest of all that decides which rows a query gives: another one, another copy. */
  binding: z.string(),
  columns: z.array(z.strictObject({ name: z.string(), type: z.string() })).min(1),
  /** Rows before this moment are kept. */
  since: z.strictObject({ epochSeconds: z.int(), number: WholeNumber }),
  /** What they amount to in the source, the rows of erased users included. */
  before: z.strictObject({ rows: z.int().nonnegative(), times: WholeNumber }),
  /** Of these, how many are kept. */
  rows: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  sizeBytes: z.int().positive(),
  /** When the source was last read in full: epoch milliseconds. */
  fullReadMs: z.number(),
});
type KeptList = z.infer<typeof KeptList>;

/** Up to where rows are kept. */
export type KeptPart = {
  readonly since: { readonly epochSeconds: number; readonly number: bigint };
  readonly before: Tally;
};

/** A copy that is what it says it is. */
export type KeptCopy = KeptPart & {
  readonly path: string;
  readonly columns: KeptList["columns"];
  readonly rows: number;
  readonly fullReadMs: number;
};

/** `absent`: there is none. `other`: it is of another query. `damaged`: it cannot be used. */
export type NoCopy = { readonly kind: "absent" | "other" | "damaged" };

/** The kept copy, read through and found whole. Throws only the signal's reason. */
export async function openKept(
  directory: string,
  { binding, signal }: { readonly binding: string; readonly signal: AbortSignal },
): Promise<({ readonly kind: "kept" } & KeptCopy) | NoCopy> {
  try {
    const listPath = join(directory, KEPT_LIST);
    const found = await stat(listPath).catch((error) => (isAbsence(error) ? undefined : Promise.reject(error)));
    if (found === undefined) return { kind: "absent" };
    if (found.size > LIST_BYTES_MAX) return { kind: "damaged" };
    const list = KeptList.parse(JSON.parse(await readFile(listPath, { encoding: "utf8", signal })));
    if (list.binding !== binding) return { kind: "other" };
    const path = join(directory, `${list.sha256}.parquet`);
    if ((await stat(path)).size !== list.sizeBytes) return { kind: "damaged" };
    if ((await digestOf(path, signal)) !== list.sha256) return { kind: "damaged" };
    const { columns, rows, fullReadMs, since, before } = list;
    return {
      kind: "kept",
      path,
      columns,
      rows,
      fullReadMs,
      since: { epochSeconds: since.epochSeconds, number: BigInt(since.number) },
      before: { rows: before.rows, times: BigInt(before.times) },
    };
  } catch {
    signal.throwIfAborted();
    return { kind: "damaged" };
  }
}

/** A new table with the kept rows. The columns are those of the source now, of the types of the copy's. */
export async function loadKept(
  staging: Staging,
  copy: KeptCopy,
  { name, columns, signal }: { readonly name: string; readonly columns: readonly SourceColumn[]; signal: AbortSignal },
): Promise<void> {
  const list = columns.map(({ type }, i) => `CAST(c${i} AS ${type}) AS c${i}`).join(", ");
  await runStaged(staging, `CREATE TABLE ${name} AS SELECT ${list} FROM read_parquet(${literal(copy.path)})`, signal);
}

export type KeepOptions = {
  readonly directory: string;
  readonly binding: string;
  readonly part: KeptPart;
  /** SQL condition of the rows to keep. */
  readonly isBefore: string;
  readonly fullReadMs: number;
  readonly signal: AbortSignal;
  /** Called after each step. */
  readonly onStep?: (step: "copied" | "synced" | "named" | "listed" | "swept") => void;
};

/** Keeps rows of a staged table in place of what was kept before. When it throws, the copy before is as it was. */
export async function keepRows(staging: Staging, table: StagedTable, options: KeepOptions): Promise<void> {
  const { directory, binding, part, isBefore, fullReadMs, signal, onStep = () => undefined } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const writing = join(directory, `writing-${process.pid}-${crypto.randomUUID()}`);
  try {
    const list = table.columns.map(({ sql, type }) => (isExact(type) ? sql : `CAST(${sql} AS VARCHAR) AS ${sql}`));
    const rows = `SELECT ${list.join(", ")} FROM ${table.name} WHERE ${isBefore}`;
    await runStaged(staging, `COPY (${rows}) TO ${literal(writing)} (FORMAT parquet, COMPRESSION zstd)`, signal);
    onStep("copied");
    const sizeBytes = await syncFile(writing);
    const sha256 = await digestOf(writing, signal);
    onStep("synced");
    const path = join(directory, `${sha256}.parquet`);
    await rename(writing, path);
    await syncDirectory(directory);
    onStep("named");
    const kept: KeptList = {
      format: FORMAT,
      binding,
      columns: table.columns.map(({ name, type }) => ({ name, type: String(type) })),
      since: { epochSeconds: part.since.epochSeconds, number: String(part.since.number) },
      before: { rows: part.before.rows, times: String(part.before.times) },
      rows: await countIn(staging, path),
      sha256,
      sizeBytes,
      fullReadMs,
    };
    await writeList(directory, KeptList.parse(kept), `${writing}.json`);
    onStep("listed");
    await sweep(directory, new Set([KEPT_LIST, `${sha256}.parquet`]));
    onStep("swept");
  } catch (error) {
    await Promise.allSettled([rm(writing, { force: true }), rm(`${writing}.json`, { force: true })]);
    signal.throwIfAborted();
    throw error;
  }
}

/** Removes what is kept, if anything is. */
export const dropKept = (directory: string): Promise<void> => rm(directory, { recursive: true, force: true });

/** Types that Parquet gives back as they were. Values of others are kept as text. */
const EXACT: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.BOOLEAN,
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.FLOAT,
  DuckDBTypeId.DOUBLE,
  DuckDBTypeId.DECIMAL,
  DuckDBTypeId.VARCHAR,
  DuckDBTypeId.BLOB,
  DuckDBTypeId.DATE,
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_NS,
  DuckDBTypeId.TIMESTAMP_TZ,
  DuckDBTypeId.UUID,
]);
const isExact = (type: DuckDBType): boolean => EXACT.has(type.typeId);

async function countIn({ connection }: Staging, path: string): Promise<number> {
  const reader = await connection.runAndReadAll(`SELECT count(*) FROM read_parquet(${literal(path)})`);
  return Number(reader.value(0, 0));
}

async function digestOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  for await (const bytes of createReadStream(path, { signal, highWaterMark: 2 ** 20 })) hash.update(bytes as Buffer);
  return hash.digest("hex");
}

async function syncFile(path: string): Promise<number> {
  const file = await open(path, "r+");
  try {
    await file.sync();
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}

/** Makes renames in a folder last. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

async function writeList(directory: string, list: KeptList, writing: string): Promise<void> {
  const file = await open(writing, "wx", 0o600);
  try {
    await file.writeFile(JSON.stringify(list));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(writing, join(directory, KEPT_LIST));
  await syncDirectory(directory);
}

/** What another run is just writing goes too: its copy is found damaged then, and the source is read in full. */
async function sweep(directory: string, kept: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(directory))
    if (!kept.has(name)) await rm(join(directory, name), { recursive: true, force: true });
}

const isAbsence = (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT";
