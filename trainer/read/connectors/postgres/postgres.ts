import { DuckDBDataChunk, type DuckDBValue } from "@duckdb/node-api";
import type { ConnectorConfig } from "../../../../shared/model-spec.ts";
import { StageError } from "../../../stage/stage-error.ts";
import type { Connector, ConnectorContext, Inspection, ReadOptions } from "../connector.ts";
import { identifier } from "../duckdb/quote.ts";
import { endingWith } from "../ending-with.ts";
import { innerQuery } from "../inner-query.ts";
import type { SourceColumn, SourceRows } from "../source-rows.ts";
import { type ColumnReader, readersOf } from "./columns.ts";
import { type PostgresTarget, parsePostgresConfig } from "./config.ts";
import { openSession, type PostgresSession, type RawResult } from "./session.ts";

/**
 * Tables of a Postgres server, or of what speaks its protocol. Every read is a server-side cursor in the one read-only
 * transaction of the connector: one state of the database, memory as large as a few thousand rows.
 */
export async function connectPostgres(config: ConnectorConfig, context: ConnectorContext): Promise<Connector> {
  const target = parsePostgresConfig(config, context);
  const { timeoutSeconds, allowPrivateAddresses } = context.settings;
  const options = { timeoutSeconds, allowPrivate: allowPrivateAddresses };
  await (await openSession(target, options)).close(); // a wrong password is told before any query
  return postgresConnector(target, () => openSession(target, options), context);
}

function postgresConnector(
  target: PostgresTarget,
  open: () => Promise<PostgresSession>,
  { settings }: ConnectorContext,
): Connector {
  let session: PostgresSession | undefined;
  /** The transaction that all reads share, so that interactions and attributes are of one state; a new one after a failure. */
  const begin = async (signal: AbortSignal) => {
    signal.throwIfAborted();
    if (session?.isBroken()) await session.close();
    if (!session || session.isBroken()) session = await open();
    const current = session;
    const watch = stopInTime(current, signal, settings.timeoutSeconds);
    const end = async () => {
      watch.end();
      if (!current.isBroken()) await current.run(`CLOSE ${CURSOR}`).catch(() => undefined); // broken then: not used again
    };
    return { session: current, watch, end };
  };
  return {
    async inspect(query, { sampleRows, signal }): Promise<Inspection> {
      const { session, end } = await begin(signal);
      try {
        const estimate = await estimateOf(session, query);
        const { columns, readers } = await openCursor(session, query, { limit: sampleRows });
        const { rows } = await session.run(`FETCH FORWARD ${Math.max(1, sampleRows)} FROM ${CURSOR}`);
        const sample = rows.slice(0, sampleRows).map((row) => sampleRow(columns, readers, row));
        return { columns, sample, ...estimate, estimatedCostUsd: 0 };
      } finally {
        await end();
      }
    },

    async read(query, { signal, columns: wanted, limit }: ReadOptions): Promise<SourceRows> {
      const { session, end } = await begin(signal);
      try {
        const { estimatedRows } = await estimateOf(session, query);
        const { columns, readers } = await openCursor(session, query, { wanted, limit });
        const chunks = readChunks(session, readers, settings.rowsMax);
        return { columns, chunks: endingWith(chunks, end), expectedRows: limit ?? estimatedRows };
      } catch (error) {
        await end();
        throw error;
      }
    },

    async close() {
      session?.stop(new StageError("fetching", "source_closed", `The connector to ${target.host} is closed`));
      await session?.close();
    },
  };
}

const CURSOR = "shortlist_rows";
const CHUNK_ROWS = 2048;
const FETCH_ROWS_FIRST = 16;
const FETCH_ROWS_MAX = 8192;
/** What one fetch should bring: rows are fetched fewer at a time the wider they are. */
const FETCH_BYTES = 4 * 2 ** 20;

type CursorOptions = {
  readonly wanted?: readonly string[] | undefined;
  readonly limit?: number | undefined;
};
type Cursor = { readonly columns: readonly SourceColumn[]; readonly readers: readonly ColumnReader[] };

/** The query as a cursor. Postgres itself refuses as a cursor whatever is no SELECT. */
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

/** Of types that the database defines itself: arrays of enums, of citext, … */
async function arraysAmong(session: PostgresSession, oids: readonly number[]): Promise<number[]> {
  const { rows } = await session.run(
    `SELECT oid FROM pg_catalog.pg_type WHERE oid IN (${oids.join(", ")}) AND typcategory = 'A'`,
  );
  return rows.map(([oid]) => Number(oid));
}

async function* readChunks(session: PostgresSession, readers: readonly ColumnReader[], rowsMax: number) {
  const types = readers.map(({ type }) => type);
  let fetchRows = FETCH_ROWS_FIRST;
  let total = 0;
  let next = session.run(`FETCH FORWARD ${fetchRows} FROM ${CURSOR}`);
  for (;;) {
    const { rows } = await next;
    if (rows.length === 0) return;
    total += rows.length;
    if (total > rowsMax)
      throw new StageError(
        "fetching",
        "too_many_rows",
        `The query gives more than the ${rowsMax} rows allowed; narrow it, such as to the newest interactions`,
      );
    fetchRows = nextFetch(rows, fetchRows);
    // The server works on the next rows while these are taken over.
    next = session.run(`FETCH FORWARD ${fetchRows} FROM ${CURSOR}`);
    next.catch(() => undefined); // told when it is awaited, unless the reader has left
    for (let from = 0; from < rows.length; from += CHUNK_ROWS) {
      yield chunkOf(types, readers, rows.slice(from, from + CHUNK_ROWS));
    }
  }
}

function nextFetch(rows: RawResult["rows"], before: number): number {
  let size = 1;
  for (const row of rows) for (const value of row) size += value?.length ?? 0;
  const fit = Math.floor((FETCH_BYTES / size) * rows.length);
  return Math.max(1, Math.min(fit, 4 * before, FETCH_ROWS_MAX));
}

function chunkOf(types: readonly SourceColumn["type"][], readers: readonly ColumnReader[], rows: RawResult["rows"]) {
  const chunk = DuckDBDataChunk.create(types, rows.length);
  for (const [column, { read }] of readers.entries()) {
    chunk.setColumnValues(
      column,
      rows.map((row) => (row[column] === null ? null : read(row[column]!))),
    );
  }
  return chunk;
}

function sampleRow(
  columns: readonly SourceColumn[],
  readers: readonly ColumnReader[],
  row: readonly (string | null)[],
) {
  const plain = (value: DuckDBValue) => (typeof value === "bigint" || typeof value === "object" ? undefined : value);
  return Object.fromEntries(
    columns.map(({ name }, i) => [name, row[i] === null ? null : (plain(readers[i]!.read(row[i]!)) ?? row[i]!)]),
  );
}

/** Runs a statement over the customer's query, which stands in it as a table. */
function runOver(session: PostgresSession, query: string, statement: (source: string) => string): Promise<RawResult> {
  const inner = innerQuery(query);
  const sql = statement(`(\n${inner}\n) AS source`);
  return session.run(sql, { text: inner, offset: sql.indexOf(`(\n${inner}\n) AS source`) + 2 });
}

/** What the planner expects; null where the server does not tell it in this form. */
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

/** Stops the session at the deadline or when the signal is aborted. */
function stopInTime(session: PostgresSession, signal: AbortSignal, seconds: number) {
  const message = `The query ran longer than the ${seconds} seconds allowed; make it read less, or ask the operator for more time`;
  const onAbort = () => session.stop(signal.reason);
  const timer = setTimeout(() => session.stop(new StageError("fetching", "source_timeout", message)), seconds * 1000);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort(); // while the session was opened
  return {
    end() {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}
