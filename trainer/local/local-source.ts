import { basename } from "node:path";
import { EventType } from "../../shared/events/event.ts";
import { guessColumns, guessOrderColumn, guessSessionColumn } from "../../shared/guess-columns.ts";
import { type ConnectorConfig, ModelName } from "../../shared/model-spec.ts";
import { isPattern } from "../read/connectors/file/local-table.ts";
import { identifier } from "../read/connectors/sql-text.ts";
import { type LabelOfRows, labelOfRows } from "./label-of-rows.ts";
import { LocalError } from "./local-error.ts";
import {
  type Access,
  type Described,
  describedIn,
  inOneSentence,
  interactionsIn,
  isFilled,
  SAMPLE_ROWS,
  type Table,
} from "./local-tables.ts";
import type { GivenFiles } from "./start-flags.ts";

/** A model described by files on this machine. */
export type LocalSource = Awaited<ReturnType<typeof describeFiles>>;

type Columns = {
  readonly user: string;
  readonly item: string;
  readonly time: string | null;
  /** Whether the users are sessions, by the name of their column. */
  readonly areSessions: boolean;
};

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
    const all = await interactionsIn(files.interactions, files.orders, access);
    const sample = await all.query(`SELECT * FROM ${all.name} LIMIT ${SAMPLE_ROWS}`);
    const columns = guessColumns(all.columns, files.columns, sample);
    if (columns.kind === "unclear") {
      const areOrders = files.orders === undefined && guessOrderColumn(all.columns) !== undefined;
      throw new LocalError(`${columns.reasons.join("; ")}.${areOrders ? LINES_ELSEWHERE : ""}`);
    }
    access.idColumns.push(columns.user, columns.item);
    const { interactions, leftOut } = await rowsWithItem(all, columns.item);
    const items = await describedIn({ role: "item", path: files.items, id: columns.item }, interactions, access);
    const users = await describedIn({ role: "user", path: files.users, id: columns.user }, interactions, access);
    if (files.session !== undefined && !interactions.columns.includes(files.session))
      throw new LocalError(`--session-column: there is no column ${JSON.stringify(files.session)}.`);
    const label = await labelOfRows(
      interactions,
      { ...columns, isGiven: files.columns.label !== undefined },
      files.positive,
    );
    const areOrders = guessOrderColumn([columns.user]) !== undefined;
    const areSessions = areOrders || guessSessionColumn([columns.user]) !== undefined;
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
      folders: [...new Set(tables.flatMap(({ folders }) => folders))],
      /** The latest change of a file. */
      changedMs: Math.max(...tables.map((table) => table.changedMs)),
      interactions,
      items,
      columns,
      /** The meaning of the columns, for the terminal. */
      findings: [
        findingsOf({ ...columns, areSessions }, label, offered),
        ...leftOut,
        ...(areOrders && files.orders === undefined ? [ORDERS_ELSEWHERE] : []),
        ...[items, users].flatMap((table) => (table?.found === undefined ? [] : [table.found])),
      ].join("\n"),
    };
  } catch (error) {
    throw inOneSentence(error);
  }
}

/** Logs have events without an item too. A few such rows are rejected by the training; where they are most rows, they are left out here. */
async function rowsWithItem(table: Table, item: string) {
  const [counted] = await table.query(
    `SELECT count(*) AS rows, count(*) FILTER (${isFilled(item)}) AS filled FROM ${table.name}`,
  );
  const { rows, filled } = counted as { readonly rows: number; readonly filled: number };
  if (filled === 0 || filled * 2 >= rows) return { interactions: table, leftOut: [] };
  return {
    interactions: { ...table, name: `(SELECT * FROM ${table.name} WHERE ${isFilled(item)})` },
    leftOut: [`${rows - filled} of ${rows} rows have no ${item}: they are left out.`],
  };
}

const LINES_ELSEWHERE = " If another file has the lines of these orders, that is --data, and this one is --orders.";
const ORDERS_ELSEWHERE = "If another file has the customers and times of these orders, --orders FILE adds them.";

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
