import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { guessIdColumn, listOfColumns } from "../../shared/guess-columns.ts";
import { NULL_WORDS } from "../../shared/ids.ts";
import { connect } from "../read/connectors/connect.ts";
import { type Connector, jsonRows } from "../read/connectors/connector.ts";
import { isTableFile } from "../read/connectors/duckdb/files.ts";
import { fileSettings } from "../read/connectors/file/file-settings.ts";
import { type LocalTables, localTable, localTables } from "../read/connectors/file/local-table.ts";
import { identifier, literal } from "../read/connectors/sql-text.ts";
import { idText } from "../read/rules/id-expression.ts";
import { areDifferent, flagsOf } from "../read/tables/folder-tables.ts";
import { findIdColumn } from "../read/tables/id-column.ts";
import { joinOrders } from "../read/tables/join-orders.ts";
import { attributesOf, interactionsOf, type RowsOf } from "../read/tables/rows-of-table.ts";
import { StageError } from "../stage/stage-error.ts";
import { LocalError, sentence } from "./local-error.ts";
import { LOCAL_CUSTOMER } from "./local-state.ts";
import { shellQuoted } from "./shell-quoted.ts";

export type Row = Readonly<Record<string, unknown>>;

/** A table of the File connector. Its paths are absolute, since the trainer may also read other folders with such files. */
export type Table = LocalTables & {
  /** For SQL. */
  readonly name: string;
  readonly columns: readonly string[];
  /** The first rows of a query, read by the same connector that the trainer uses. */
  query(sql: string): Promise<readonly Row[]>;
  /** The rows of a query over the file, as an expression after FROM. Ids are the texts that a training uses for them. */
  withIds(sql: string): Promise<string>;
};

/** A table of users or items. */
export type Described = Table & {
  readonly idColumn: string;
  /** What is said of an id column that was found by more than its name. */
  readonly found: string | undefined;
};

/** `idColumns` are those whose ids are read as they are written, once they are known. */
export type Access = { readonly tempDirectory: string; readonly signal: AbortSignal; readonly idColumns: string[] };

/** SQL of whether a column has a value that is not a word for nothing. */
export function isFilled(column: string): string {
  const nothing = ["", ...NULL_WORDS].map(literal).join(", ");
  return `coalesce(trim(CAST(${identifier(column)} AS VARCHAR)) NOT IN (${nothing}), false)`;
}

/** How many rows a query gives at most. */
export const SAMPLE_ROWS = 50;

export const inOneSentence = (error: unknown): unknown =>
  error instanceof StageError ? new LocalError(sentence(error.message), { cause: error }) : error;

/**
 * The interactions of a file.
 *
 * @param orders Another file with the orders whose lines the rows are.
 */
export async function interactionsIn(path: string, orders: string | undefined, access: Access): Promise<Table> {
  await refuseDifferentTables(path, access);
  const lines = await placeOf(path);
  if (orders === undefined) return await tableOf(lines, identifier(lines.table), { access, rowsOf: interactionsOf });
  const both = localTables(lines, await placeOf(orders));
  const open = (name: string) => tableOf(both, name, { access, rowsOf: (table) => table });
  const joined = await joinOrders(await open("lines"), await open("orders"));
  if (joined === undefined)
    throw new LocalError(`--orders needs a column with the id of the order in ${path}, such as "order_id".`);
  return await tableOf(both, joined, { access, rowsOf: interactionsOf });
}

/** A folder with more files than this is one table of many files. */
const TABLES_MAX = 20;

/** The files of a folder are one table. If they are the tables of a shop instead, the error says how to name them. */
async function refuseDifferentTables(path: string, access: Access): Promise<void> {
  if (!(await stat(path).catch(() => undefined))?.isDirectory()) return;
  const files = (await readdir(path)).filter(isTableFile);
  if (files.length < 2 || files.length > TABLES_MAX) return;
  const tables = files.map(async (file) => {
    const whole = join(path, file);
    const place = await placeOf(whole);
    const { columns } = await tableOf(place, identifier(place.table), { access, rowsOf: interactionsOf });
    return { file, columns, bytes: (await stat(whole)).size };
  });
  const settled = await Promise.allSettled(tables);
  const found = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])); // others are empty or no tables
  if (found.length < 2 || !areDifferent(found)) return;
  const flags = Object.entries(flagsOf(found)).map(([flag, file]) => `--${flag} ${quoted(join(path, file))}`);
  const example = flags.length === 0 ? "with --data" : `such as ${flags.join(" ")}`;
  throw new LocalError(
    `The files of ${path} have different columns, so they are not one table: name them, ${example}.`,
  );
}

const quoted = (path: string) => (/^[\w./+-]+$/.test(path) ? path : shellQuoted(path));

/** A file of users or items with the column that has the interactions' ids. Null without a file. */
export async function describedIn(
  { role, path, id }: { readonly role: "user" | "item"; readonly path: string | null; readonly id: string },
  interactions: Table,
  access: Access,
): Promise<Described | null> {
  if (path === null) return null;
  const local = await placeOf(path);
  const table = await tableOf(local, identifier(local.table), { access, rowsOf: attributesOf(role) });
  const idColumn = await findIdColumn({ id, role }, interactions, table);
  if (idColumn === undefined) {
    const columns = listOfColumns(table.columns);
    throw new LocalError(
      `--${role}s needs a column with the ids that are in the column ${JSON.stringify(id)} of --data; its columns are ${columns}.`,
    );
  }
  const isSame = guessIdColumn(id, [idColumn]) !== undefined;
  const found = isSame ? undefined : `The ids of ${basename(path)} are in its column ${idColumn}.`;
  return { ...table, idColumn, found };
}

const placeOf = (path: string) =>
  localTable(path).catch((error) => {
    if (error instanceof StageError) throw error;
    throw new LocalError(`There is no file or folder ${path}.`, { cause: error });
  });

type Opening = {
  readonly access: Access;
  readonly rowsOf: RowsOf;
};

/** @param stored The table as the connector has it, for SQL. */
async function tableOf(
  local: LocalTables,
  stored: string,
  { access: { tempDirectory, signal, idColumns }, rowsOf }: Opening,
): Promise<Table> {
  const connected = async <Result>(work: (connector: Connector) => Promise<Result>) => {
    const context = { customer: LOCAL_CUSTOMER, settings: fileSettings(local.folders, tempDirectory), idColumns };
    const connector = await connect(local.config, context);
    return await work(connector).finally(() => connector.close());
  };
  const read = (sql: string) =>
    connected(async (connector) => {
      const source = await connector.read(sql, { signal, limit: SAMPLE_ROWS });
      return { columns: source.columns, rows: await jsonRows(source) };
    });
  const withIds = (sql: string) =>
    connected(async (connector) => {
      const { columns } = await connector.inspect(sql, signal);
      const ids = columns.filter((column) => idColumns.includes(column.name));
      const texts = ids.map((column) => [idText(identifier(column.name), column.type), identifier(column.name)]);
      return `(SELECT * REPLACE (${texts.map(([text, id]) => `${text} AS ${id}`).join(", ")}) FROM (\n${sql}\n))`;
    });
  /** Also called when the model is trained: its errors do not end the service. */
  const query = async (sql: string) => {
    const { rows } = await read(sql).catch((error) => Promise.reject(inOneSentence(error)));
    return rows;
  };
  const first = await read(`SELECT * FROM ${stored} LIMIT 1`);
  if (first.rows.length === 0) throw new LocalError(`${local.path} has no rows.`);
  const name = rowsOf(stored, first.columns, first.rows[0]!);
  const { columns } = name === stored ? first : await read(`SELECT * FROM ${name} LIMIT 1`);
  return { ...local, name, columns: columns.map((column) => column.name), query, withIds };
}
