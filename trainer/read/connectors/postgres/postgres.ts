import type { ConnectorConfig } from "../../../../shared/model-spec.ts";
import type { ConnectorSettings } from "../../../settings.ts";
import type { Connector, ConnectorContext, Inspection, ReadOptions, SourceColumn, SourceRows } from "../connector.ts";
import { startDeadline, withinLimits } from "../limits.ts";
import { rowChunks } from "../row-chunks.ts";
import { closedError } from "../source-error.ts";
import { identifier, innerQuery } from "../sql-text.ts";
import { type ColumnReader, readersOf } from "./columns.ts";
import { parsePostgresConfig } from "./config.ts";
import { openSession, type PostgresSession, type RawResult } from "./session.ts";

/**
 * Tables of a Postgres server, or of another one with its protocol. All reads are server-side cursors in one read-only
 * transaction, so they see one state of the database and hold a few thousand rows in memory.
 */
export async function connectPostgres(config: ConnectorConfig, context: ConnectorContext): Promise<Connector> {
  const target = parsePostgresConfig(config, context);
  const options = { ...context.settings, allowPrivate: context.settings.allowPrivateAddresses };
  const open = () => openSession(target, options);
  return postgresConnector(await open(), open, context.settings); // a wrong password fails here, before any query
}

function postgresConnector(
  first: PostgresSession,
  open: () => Promise<PostgresSession>,
  settings: ConnectorSettings,
): Connector {
  let session = first;
  /** Continues the transaction that all reads share, or begins a new one after a failure. */
  const begin = async (caller: AbortSignal) => {
    caller.throwIfAborted();
    if (session.isBroken()) {
      await session.close();
      session = await open();
    }
    const current = session;
    const deadline = startDeadline(caller, settings.timeoutSeconds);
    const stop = () => current.stop(deadline.signal.reason);
    deadline.signal.addEventListener("abort", stop, { once: true });
    if (deadline.signal.aborted) stop(); // the caller aborted while the session was opened
    const end = async () => {
      deadline.end();
      deadline.signal.removeEventListener("abort", stop);
      if (!current.isBroken()) await current.run(`CLOSE ${CURSOR}`).catch(() => undefined); // a failure breaks the session
    };
    return { session: current, end };
  };
  return {
    async inspect(query, signal): Promise<Inspection> {
      const { session, end } = await begin(signal);
      try {
        const estimate = await estimateOf(session, query);
        const { columns } = await openCursor(session, query, { limit: 0 });
        return { columns, ...estimate, estimatedCostUsd: 0 };
      } finally {
        await end();
      }
    },

    async read(query, { signal, columns: wanted, limit }: ReadOptions): Promise<SourceRows> {
      const { session, end } = await begin(signal);
      try {
        const { estimatedRows } = await estimateOf(session, query);
        const { columns, readers } = await openCursor(session, query, { wanted, limit });
        const chunks = withinLimits(readChunks(session, readers), { rowsMax: settings.rowsMax, end });
        return { columns, chunks, expectedRows: limit ?? estimatedRows };
      } catch (error) {
        await end();
        throw error;
      }
    },

    async close() {
      session.stop(closedError("Postgres"));
      await session.close();
    },
  };
}

const CURSOR = "shortlist_rows";
const FETCH_ROWS_FIRST = 16;
const FETCH_ROWS_MAX = 8192;
/** Bytes that one fetch should bring: the wider the rows, the fewer are fetched at a time. */
const FETCH_BYTES = 4 * 2 ** 20;

type CursorOptions = {
  readonly wanted?: readonly string[] | undefined;
  readonly limit?: number | undefined;
};
type Cursor = { readonly columns: readonly SourceColumn[]; readonly readers: readonly ColumnReader[] };

/** The query as a cursor. Postgres itself refuses to make a cursor of anything but a SELECT. */
async function openCursor(session: PostgresSession, query: string, options: CursorOptions): Promise<Cursor> {
  const { wanted, limit } = options;
  const list = wanted?.map(identifier).join(", ") ?? "*";
  const end = limit === undefined ? "" : ` LIMIT ${limit}`;
  const declare = `DECLARE ${CURSOR} NO SCROLL CURSOR FOR SELECT ${list} FROM`;
  await runOver(session, query, (source) => `${declare} ${source}${end}`);
  const { fields } = await session.run(`FETCH FORWARD 0 FROM ${CURSOR}`);
  const readers = await readersOf(
    fields.map(({ dataTypeID }) => dataTypeID),
    (oids) => arraysAmong(session, oids),
  );
  return { columns: fields.map(({ name }, i) => ({ name, type: readers[i]!.type })), readers };
}

/** The array types among the given types, such as arrays of enums or of citext. */
async function arraysAmong(session: PostgresSession, oids: readonly number[]): Promise<number[]> {
  const { rows } = await session.run(
    `SELECT oid FROM pg_catalog.pg_type WHERE oid IN (${oids.join(", ")}) AND typcategory = 'A'`,
  );
  return rows.map(([oid]) => Number(oid));
}

async function* readChunks(session: PostgresSession, readers: readonly ColumnReader[]) {
  const types = readers.map(({ type }) => type);
  let fetchRows = FETCH_ROWS_FIRST;
  let next = session.run(`FETCH FORWARD ${fetchRows} FROM ${CURSOR}`);
  for (;;) {
    const { rows } = await next;
    if (rows.length === 0) return;
    fetchRows = nextFetch(rows, fetchRows);
    // The server works on the next rows while these are converted.
    next = session.run(`FETCH FORWARD ${fetchRows} FROM ${CURSOR}`);
    next.catch(() => undefined); // thrown when it is awaited; a reader that stops early never awaits it
    yield* rowChunks(types, rows.length, (column, row) => {
      const text = rows[row]![column] ?? null;
      return text === null ? null : readers[column]!.read(text);
    });
  }
}

function nextFetch(rows: RawResult["rows"], before: number): number {
  let size = 1;
  for (const row of rows) for (const value of row) size += value?.length ?? 0;
  const fit = Math.floor((FETCH_BYTES / size) * rows.length);
  return Math.max(1, Math.min(fit, 4 * before, FETCH_ROWS_MAX));
}

/** Runs a statement that has the customer's query in it as a table. */
function runOver(session: PostgresSession, query: string, statement: (source: string) => string): Promise<RawResult> {
  const inner = innerQuery(query);
  const sql = statement(`(\n${inner}\n) AS source`);
  return session.run(sql, { text: inner, offset: sql.indexOf(`(\n${inner}\n) AS source`) + 2 });
}

/** The planner's estimate; null where the server's EXPLAIN has another form. */
async function estimateOf(session: PostgresSession, query: string) {
  const none = { estimatedRows: null, estimatedBytes: null };
  const { rows } = await runOver(session, query, (source) => `EXPLAIN (FORMAT JSON) SELECT * FROM ${source}`);
  try {
    const plan = (JSON.parse(rows.map(([line]) => line).join("\n")) as { Plan: Record<string, number> }[])[0]!.Plan;
    const [count, width] = [plan["Plan Rows"], plan["Plan Width"]];
    return count === undefined || width === undefined ? none : { estimatedRows: count, estimatedBytes: count * width };
  } catch {
    return none;
  }
}
