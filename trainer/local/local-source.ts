import { createHash } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { connect } from "../read/connectors/connect.ts";
import { type Connector, jsonRows } from "../read/connectors/connector.ts";
import { findFiles } from "../read/connectors/duckdb/files.ts";
import { fileSettings } from "../read/connectors/file/file-settings.ts";
import { identifier } from "../read/connectors/sql-text.ts";
import { guessColumns } from "../read/dataset/guess-columns.ts";
import { StageError } from "../stage/stage-error.ts";
import { type CreationBody, creationBody, type LocalColumns, type SourceTable } from "./creation-body.ts";
import { labelMeaning } from "./label-meaning.ts";
import { LocalError, sentence } from "./local-error.ts";
import { LOCAL_CUSTOMER } from "./local-state.ts";
import type { GivenFiles } from "./start-flags.ts";

/** A model described by files on this machine. */
export type LocalSource = {
  readonly body: CreationBody;
  /** Folders that the trainer must be allowed to read. */
  readonly folders: readonly string[];
  /** Changes whenever the files or the creation body change. */
  readonly fingerprint: string;
  readonly interactions: SourceTable;
  readonly items: SourceTable | null;
  readonly columns: LocalColumns;
  /** The meaning of the columns, one line each, for the terminal. */
  readonly findings: readonly string[];
};

const GENERIC_STEMS = /^(interactions?|events?|data|ratings?|train|log|rows)$/i;

/**
 * Reads the columns of the files and guesses the meaning of those that were not given.
 *
 * @throws LocalError if a file is not a table or its columns cannot be guessed.
 */
export async function describeFiles(
  files: GivenFiles,
  { model, tempDirectory, signal }: { model: string | null; tempDirectory: string; signal: AbortSignal },
): Promise<LocalSource> {
  const given = [files.interactions, files.items, files.users].filter((path) => path !== null);
  const folders = [...new Set(await Promise.all(given.map(async (path) => dirname(await realpath(path)))))];
  const access = { folders, tempDirectory, signal };
  try {
    const interactions = await tableOf(files.interactions, access);
    const items = files.items === null ? null : await tableOf(files.items, access);
    const users = files.users === null ? null : await tableOf(files.users, access);
    const columns = await columnsOf(interactions, files.columns, access);
    const name = model ?? modelNameOf(files.interactions);
    const ids = {
      item: items && idColumn(items, columns.item, "items"),
      user: users && idColumn(users, columns.user, "users"),
    };
    const body = creationBody({ name, interactions, items, users, columns, ids });
    return {
      body,
      folders,
      fingerprint: await fingerprintOf(body, { paths: given, folders }),
      interactions,
      items,
      columns,
      findings: findingsOf(columns, files.columns),
    };
  } catch (error) {
    if (!(error instanceof StageError)) throw error;
    throw new LocalError(sentence(error.message), { cause: error });
  }
}

export type FileAccess = {
  readonly folders: readonly string[];
  readonly tempDirectory: string;
  readonly signal: AbortSignal;
};

/** The first rows of a query, read by the same connector that the trainer uses. */
export async function queryRows(
  table: SourceTable,
  query: string,
  { rowsMax, ...access }: FileAccess & { readonly rowsMax: number },
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const connector = await open(table.path, access);
  try {
    return await jsonRows(await connector.read(query, { signal: access.signal, limit: rowsMax }));
  } finally {
    await connector.close();
  }
}

async function tableOf(path: string, access: FileAccess): Promise<SourceTable> {
  const [file] = await findFiles(await realpath(path), access.folders);
  const connector = await open(file!.path, access);
  try {
    const query = `SELECT * FROM ${identifier(file!.table)}`;
    const source = await connector.read(query, { signal: access.signal, limit: 1 });
    const { columns } = source;
    if ((await jsonRows(source)).length === 0) throw new LocalError(`${path} has no rows.`);
    return { path: file!.path, name: file!.table, columns: columns.map((column) => column.name) };
  } finally {
    await connector.close();
  }
}

function open(path: string, { folders, tempDirectory }: FileAccess): Promise<Connector> {
  const settings = fileSettings(folders, tempDirectory);
  return connect({ type: "File", location: path }, { customer: LOCAL_CUSTOMER, settings });
}

async function columnsOf(table: SourceTable, given: GivenFiles["columns"], access: FileAccess): Promise<LocalColumns> {
  const guess = guessColumns(table.columns, given);
  if (guess.kind === "unclear") throw new LocalError(`${guess.reasons.join("; ")}.`);
  const { user, item, time } = guess;
  const label =
    guess.label === null
      ? null
      : await labelMeaning(guess.label, (expressions) => selectRow(table, expressions, access));
  return { user, item, time, label };
}

const selectRow = async (table: SourceTable, expressions: string, access: FileAccess) =>
  (await queryRows(table, `SELECT ${expressions} FROM ${identifier(table.name)}`, { ...access, rowsMax: 1 }))[0]!;

/** Finds the id column of an attribute table: the same name as in the interactions, else `id`, else a common name. */
function idColumn(table: SourceTable, name: string, what: "items" | "users"): string {
  if (table.columns.includes(name)) return name;
  const plain = table.columns.find((column) => /^_?id$/i.test(column));
  const role = what === "items" ? "item" : "user";
  const other = { item: "user_id", user: "item_id" }[role];
  const guess = guessColumns([...table.columns.filter((column) => column !== other), other]);
  const found = plain ?? (guess.kind === "guessed" ? guess[role] : undefined);
  if (found !== undefined) return found;
  throw new LocalError(
    `No column of --${what} looks like the ${role}'s id: call it ${JSON.stringify(name)} as in --data; ` +
      `the columns are ${table.columns.map((column) => JSON.stringify(column)).join(", ")}.`,
  );
}

/** Names the model after the file, or after its folder if the file name is generic. */
function modelNameOf(path: string): string {
  const stem = basename(path).replace(/\.[^.]+(\.(gz|zst))?$/i, "");
  const specific = GENERIC_STEMS.test(stem) ? basename(dirname(path)) : stem;
  const name = specific
    .replace(/[^A-Za-z0-9_.-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 63);
  return name === "" ? "local" : name;
}

type FingerprintFiles = { readonly paths: readonly string[]; readonly folders: readonly string[] };

/** `request.files`: digests of the creation body and of the files. Moving all files of one folder together keeps the first part. */
async function fingerprintOf(body: CreationBody, { paths, folders }: FingerprintFiles): Promise<string> {
  const hash = createHash("sha256");
  for (const path of paths) {
    const { size, mtimeMs } = await stat(path);
    hash.update(JSON.stringify([path, size, mtimeMs]));
  }
  const within = (name: string, value: unknown) =>
    name === "location" && folders.length === 1 ? basename(value as string) : value;
  const request = createHash("sha256").update(JSON.stringify(body, within)).digest("hex").slice(0, 16);
  return `${request}.${hash.digest("hex").slice(0, 16)}`;
}

function findingsOf({ user, item, time, label }: LocalColumns, given: GivenFiles["columns"]): string[] {
  const line = (role: keyof GivenFiles["columns"], text: string) =>
    `${role.padEnd(6)} ${text}${given[role] === undefined ? "  (guessed)" : ""}`;
  return [
    line("user", user),
    line("item", item),
    time === null ? "time   none found: all interactions get the same time" : line("time", time),
    label === null
      ? "label  none found: every row counts as positive"
      : line("label", `${label.column}, ${label.sentence}`),
  ];
}
