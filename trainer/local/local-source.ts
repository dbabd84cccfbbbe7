import { basename } from "node:path";
import { EventType } from "../../shared/events/event.ts";
import {
  guessColumns,
  guessIdColumn,
  guessSessionColumn,
  isBasket,
  listOfColumns,
} from "../../shared/guess-columns.ts";
import { type ConnectorConfig, ModelName } from "../../shared/model-spec.ts";
import { connect } from "../read/connectors/connect.ts";
import { type Connector, jsonRows } from "../read/connectors/connector.ts";
import { fileSettings } from "../read/connectors/file/file-settings.ts";
import { isPattern, type LocalTable, localTable } from "../read/connectors/file/local-table.ts";
import { identifier } from "../read/connectors/sql-text.ts";
import { idText } from "../read/rules/id-expression.ts";
import { findIdColumn } from "../read/tables/id-column.ts";
import { attributesOf, interactionsOf } from "../read/tables/rows-of-table.ts";
import { StageError } from "../stage/stage-error.ts";
import { type LabelOfRows, labelOfRows } from "./label-of-rows.ts";
import { LocalError, sentence } from "./local-error.ts";
import { LOCAL_CUSTOMER } from "./local-state.ts";
import type { GivenFiles } from "./start-flags.ts";

export type Row = Readonly<Record<string, unknown>>;

/** A table of the File connector. Its paths are absolute, since the trainer may also read other folders with such files. */
export type Table = LocalTable & {
  /** For SQL. */
  readonly name: string;
  readonly columns: readonly string[];
  /** The first rows of a query, read by the same connector that the trainer uses. */
  query(sql: string): Promise<readonly Row[]>;
  /** The rows of a query over the file, as an expression after FROM. Ids are the texts that a training uses for them. */
  withIds(sql: string): Promise<string>;
};

/** A model described by files on this machine. */
export type LocalSource = Awaited<ReturnType<typeof describeFiles>>;

type Columns = {
  readonly user: string;
  readonly item: string;
  readonly time: string | null;
  /** Whether the users are sessions, by the name of their column. */
  readonly areSessions: boolean;
};
/** `idColumns` are those whose ids are read as they are written, once they are known. */
type Access = { readonly tempDirectory: string; readonly signal: AbortSignal; readonly idColumns: string[] };

const SAMPLE_ROWS = 50;

/**
 * Reads the columns of the files and guesses the meaning of those that were not given.
 *
 * @throws LocalError if a file is not a table or its columns cannot be guessed.
 */
export async function describeFiles(
  files: GivenFiles,
  { model, ...given }: Omit<Access, "idColumns"> & { readonly model: string | null },
) {
  const access = { ...given, idColumns: [] as string[] };
  try {
    const interactions = await tableOf(files.interactions, access, interactionsOf);
    const sample = await interactions.query(`SELECT * FROM ${interactions.name} LIMIT ${SAMPLE_ROWS}`);
    const columns = guessColumns(interactions.columns, files.columns, sample);
    if (columns.kind === "unclear") throw new LocalError(`${columns.reasons.join("; ")}.`);
    access.idColumns.push(columns.user, columns.item);
    const items = await describedOf({ role: "item", path: files.items, id: columns.item }, interactions, access);
    const users = await describedOf({ role: "user", path: files.users, id: columns.user }, interactions, access);
    if (files.session !== undefined && !interactions.columns.includes(files.session))
      throw new LocalError(`--session-column: there is no column ${JSON.stringify(files.session)}.`);
    const label = await labelOfRows(interactions, columns, files.positive);
    const areSessions = guessSessionColumn([columns.user]) !== undefined || isBasket(columns.user);
    const session = files.session ?? (areSessions ? columns.user : undefined);
    const others = interactions.columns.filter((name) => ![columns.user, columns.item].includes(name));
    const offered = session === undefined ? guessSessionColumn(others) : undefined;
    const tables = [interactions, items, users].filter((table) => table !== null);
    return {
      body: creationBody(
        model ?? modelNameOf(isPattern(files.interactions) ? interactions.path : files.interactions),
        { interactions, items, users },
        { ...columns, label, session, timeFormat: files.timeFormat },
      ),
      /** Folders that the trainer must be allowed to read. */
      folders: [...new Set(tables.map(({ folder }) => folder))],
      /** The latest change of a file. */
      changedMs: Math.max(...tables.map((table) => table.changedMs)),
      interactions,
      items,
      columns,
      /** The meaning of the columns, for the terminal. */
      findings: [
        findingsOf({ ...columns, areSessions }, label, offered),
        ...[items, users].flatMap((table) => (table?.found === undefined ? [] : [table.found])),
      ].join("\n"),
    };
  } catch (error) {
    throw inOneSentence(error);
  }
}

const inOneSentence = (error: unknown): unknown =>
  error instanceof StageError ? new LocalError(sentence(error.message), { cause: error }) : error;

/** @param expression The table for SQL, from its name, its columns and its first row. */
async function tableOf(
  given: string,
  { tempDirectory, signal, idColumns }: Access,
  expression: typeof interactionsOf = (name) => name,
): Promise<Table> {
  const local = await localTable(given).catch((error) => {
    if (error instanceof StageError) throw error;
    throw new LocalError(`There is no file or folder ${given}.`, { cause: error });
  });
  const connected = async <Result>(work: (connector: Connector) => Promise<Result>) => {
    const context = { customer: LOCAL_CUSTOMER, settings: fileSettings([local.folder], tempDirectory), idColumns };
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
  const table = identifier(local.table);
  const stored = await read(`SELECT * FROM ${table} LIMIT 1`);
  if (stored.rows.length === 0) throw new LocalError(`${given} has no rows.`);
  const name = expression(table, stored.columns, stored.rows[0]!);
  const { columns } = name === table ? stored : await read(`SELECT * FROM ${name} LIMIT 1`);
  const names = columns.map((column) => column.name);
  return { ...local, name, columns: names, query, withIds };
}

/** A table of users or items. */
type Described = Table & {
  readonly idColumn: string;
  /** What is said of an id column that was found by more than its name. */
  readonly found: string | undefined;
};

async function describedOf(
  { role, path, id }: { readonly role: "user" | "item"; readonly path: string | null; readonly id: string },
  interactions: Table,
  access: Access,
): Promise<Described | null> {
  if (path === null) return null;
  const table = await tableOf(path, access, (name, columns) => attributesOf(name, columns, role));
  const idColumn = await findIdColumn({ id, role }, interactions, table);
  if (idColumn === undefined) {
    const columns = listOfColumns(table.columns);
    throw new LocalError(
      `--${role}s needs a column with the ids that are in the column ${JSON.stringify(id)} of --data; its columns are ${columns}.`,
    );
  }
  const found = guessIdColumn(id, [idColumn])
    ? undefined
    : `The ids of ${basename(path)} are in its column ${idColumn}.`;
  return { ...table, idColumn, found };
}

type Entity = { readonly id: string; readonly source?: { readonly connector_id: string; readonly query: string } };
type Tables = { readonly interactions: Table; readonly items: Described | null; readonly users: Described | null };

/** The types of live events that the model learns from: those that web pages send, and those of the file. */
function eventMeanings({ label, types }: LabelOfRows) {
  const own = types.filter((type) => EventType.safeParse(type).success);
  const isPositive = (type: string) => label.type === "Events" && label.positive.includes(type);
  const meanings = own.map((type) => [type, { label: isPositive(type) }] as const);
  return { view: { label: true }, ...Object.fromEntries(meanings), purchase: { label: true } };
}

/**
 * The body of `POST /v0/models`: a connector and a query per file, and the connector of live events. The query adds a constant time or
 * label if there is none.
 */
function creationBody(
  model_name: string,
  { interactions, items, users }: Tables,
  {
    user,
    item,
    time,
    label,
    session,
    timeFormat,
  }: Omit<Columns, "areSessions"> & {
    readonly label: LabelOfRows;
    readonly session: string | undefined;
    readonly timeFormat: string | undefined;
  },
) {
  type Config = ConnectorConfig & { readonly location?: string };
  const files = Object.entries({ interactions, items, users }).flatMap(([id, table]): Config[] =>
    table ? [{ id, ...table.config }] : [],
  );
  const entity = (role: "user" | "item", id: string, table: Described | null): Entity => {
    if (table === null) return { id };
    const idName = identifier(table.idColumn);
    const query = `SELECT ${idName} AS ${identifier(id)}, * EXCLUDE (${idName}) FROM ${table.name}`;
    return { id, source: { connector_id: `${role}s`, query } };
  };
  const selected = [
    identifier(user),
    identifier(item),
    time === null ? "TIMESTAMP '2000-01-01' AS created_at" : identifier(time),
    label.sql,
    ...(session === undefined || session === user ? [] : [identifier(session)]),
  ];
  const query = `SELECT ${selected.join(", ")} FROM ${interactions.name}`;
  return {
    model_name,
    connector_configs: [...files, { id: "events", type: "Events" }],
    schema: {
      user: entity("user", user, users),
      item: entity("item", item, items),
      interaction: {
        created_at: time ?? "created_at",
        ...(timeFormat !== undefined && { created_at_format: timeFormat }),
        label: label.label,
        source: { connector_id: "interactions", query },
        ...(session !== undefined && { session_id: session }),
        events: eventMeanings(label),
      },
    },
  };
}

/** Names the model after the file. */
function modelNameOf(path: string): string {
  const name = basename(path)
    .split(".")[0]!
    .replaceAll(/[^A-Za-z0-9_-]+/g, "-");
  return ModelName.safeParse(name).success ? name : "local";
}

function findingsOf(
  { user, item, time, areSessions }: Columns,
  { meaning, offer }: LabelOfRows,
  session: string | undefined,
): string {
  const times = time === null ? "no time, so all interactions get the same" : `time ${time}`;
  return [
    `The columns: ${areSessions ? "session" : "user"} ${user}, item ${item}, ${times}, ${meaning}.`,
    ...(offer === null ? [] : [offer]),
    ...(session === undefined
      ? []
      : [`The column ${session} looks like sessions: --session-column ${session} learns what comes next in one.`]),
  ].join("\n");
}
