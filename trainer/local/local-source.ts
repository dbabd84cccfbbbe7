import { createHash } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { connect } from "../read/connectors/connect.ts";
import type { Connector } from "../read/connectors/connector.ts";
import { findFiles } from "../read/connectors/duckdb/files.ts";
import { identifier } from "../read/connectors/duckdb/quote.ts";
import { fileSettings } from "../read/connectors/file/file-settings.ts";
import { guessColumns } from "../read/dataset/guess-columns.ts";
import { StageError } from "../stage/stage-error.ts";
import { type CreationBody, creationBody, type LocalColumns, type SourceTable } from "./creation-body.ts";
import { labelMeaning } from "./label-meaning.ts";
import { LocalError, sentence } from "./local-error.ts";
import { LOCAL_CUSTOMER } from "./local-state.ts";
import type { GivenFiles } from "./start-flags.ts";

/** Files on this machine as a model: what to ask the service for, and how to look into them ourselves. */
export type LocalSource = {
  readonly body: CreationBody;
  /** Folders that the service must be allowed to read. */
  readonly folders: readonly string[];
  /** Changes when the files or what is asked for do. */
  readonly fingerprint: string;
  readonly interactions: SourceTable;
  readonly items: SourceTable | null;
  readonly columns: LocalColumns;
  /** What was found out, line by line, for the person at the terminal. */
  readonly findings: readonly string[];
};

const GENERIC_STEMS = /^(interactions?|events?|data|ratings?|train|log|rows)$/i;

/**
 * Looks into the files and decides what their columns mean.
 *
 * @throws LocalError in one sentence when a file is no table or its columns cannot be told.
 */
export async function describeFiles(
  files: GivenFiles,
  { model, tempDirectory, signal }: { model: string | null; tempDirectory: string; signal: AbortSignal },
): Promise<LocalSource> {
  const given = [files.interactions, files.items, files.users].filter((path) => path !== null);
  const folders = [...new Set(await Promise.all(given.map(async (path) => dirname(await realpath(path)))))];
  const look = { folders, tempDirectory, signal };
  try {
    const interactions = await tableOf(files.interactions, look);
    const items = files.items === null ? null : await tableOf(files.items, look);
    const users = files.users === null ? null : await tableOf(files.users, look);
    const columns = await columnsOf(interactions, files.columns, look);
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

export type Look = {
  readonly folders: readonly string[];
  readonly tempDirectory: string;
  readonly signal: AbortSignal;
};

/** A few rows that a query gives, read as the service itself would read them. */
export async function queryRows(
  table: SourceTable,
  query: string,
  { rowsMax, ...look }: Look & { readonly rowsMax: number },
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const connector = await open(table.path, look);
  try {
    return (await connector.inspect(query, { sampleRows: rowsMax, signal: look.signal })).sample;
  } finally {
    await connector.close();
  }
}

async function tableOf(path: string, look: Look): Promise<SourceTable> {
  const [file] = await findFiles(await realpath(path), look.folders);
  // In full: the service may read the folders of other models too, and a file of that name may lie in one of them.
  const location = file!.path;
  const connector = await open(file!.path, look);
  try {
    const query = `SELECT * FROM ${identifier(file!.table)}`;
    const { columns, sample } = await connector.inspect(query, { sampleRows: 1, signal: look.signal });
    if (sample.length === 0) throw new LocalError(`${path} has no rows.`);
    return { path: file!.path, location, name: file!.table, columns: columns.map((column) => column.name) };
  } finally {
    await connector.close();
  }
}

function open(path: string, { folders, tempDirectory }: Look): Promise<Connector> {
  const settings = fileSettings(folders, tempDirectory);
  return connect({ type: "File", location: path }, { customer: LOCAL_CUSTOMER, settings });
}

async function columnsOf(table: SourceTable, given: GivenFiles["columns"], look: Look): Promise<LocalColumns> {
  const guess = guessColumns(table.columns, given);
  if (guess.kind === "unclear") throw new LocalError(`${guess.reasons.join("; ")}.`);
  const { user, item, time } = guess;
  const label =
    guess.label === null ? null : await labelMeaning(guess.label, (expressions) => ask(table, expressions, look));
  return { user, item, time, label };
}

const ask = async (table: SourceTable, expressions: string, look: Look) =>
  (await queryRows(table, `SELECT ${expressions} FROM ${identifier(table.name)}`, { ...look, rowsMax: 1 }))[0]!;

/** The column of an attribute table that holds the same ids: by the same name, else `id`, else by a common name. */
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

/** After the file, or its folder when the file's name says nothing. */
function modelNameOf(path: string): string {
  const stem = basename(path).replace(/\.[^.]+(\.(gz|zst))?$/i, "");
  const telling = GENERIC_STEMS.test(stem) ? basename(dirname(path)) : stem;
  const name = telling
    .replace(/[^A-Za-z0-9_.-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 63);
  return name === "" ? "local" : name;
}

type FilesAsked = { readonly paths: readonly string[]; readonly folders: readonly string[] };

/** What is asked for, and of which files: those of one folder may be moved together. */
async function fingerprintOf(body: CreationBody, { paths, folders }: FilesAsked): Promise<string> {
  const hash = createHash("sha256");
  for (const path of paths) {
    const { size, mtimeMs } = await stat(path);
    hash.update(JSON.stringify([path, size, mtimeMs]));
  }
  const within = (name: string, value: unknown) =>
    name === "location" && folders.length === 1 ? basename(value as string) : value;
  const asked = createHash("sha256").update(JSON.stringify(body, within)).digest("hex").slice(0, 16);
  return `${asked}.${hash.digest("hex").slice(0, 16)}`;
}

function findingsOf({ user, item, time, label }: LocalColumns, given: GivenFiles["columns"]): string[] {
  const told = (role: keyof GivenFiles["columns"], text: string) =>
    `${role.padEnd(6)} ${text}${given[role] === undefined ? "  (guessed)" : ""}`;
  return [
    told("user", user),
    told("item", item),
    time === null ? "time   none found: all interactions count as equally old" : told("time", time),
    label === null
      ? "label  none found: every row counts as positive"
      : told("label", `${label.column}, ${label.sentence}`),
  ];
}
