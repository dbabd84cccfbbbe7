import type { Socket } from "node:net";
import pg from "pg";
import { StageError } from "../../../stage/stage-error.ts";
import { allowedAddress } from "../network-guard.ts";
import { type PostgresTarget, tlsOptions } from "./config.ts";
import { explainPostgresError, type InnerQuery } from "./errors.ts";

export type RawResult = {
  readonly fields: readonly pg.FieldDef[];
  readonly rows: readonly (readonly (string | null)[])[];
};

/** One connection in one read-only transaction: everything read through it is one state of the database. */
export type PostgresSession = {
  /** Runs one statement; values are Postgres's text. `inner` is the customer's query inside it, for error positions. */
  run(sql: string, inner?: InnerQuery): Promise<RawResult>;
  /** Whether a statement has failed or the session was stopped: the transaction is over then. */
  isBroken(): boolean;
  /** Ends whatever runs, on the server too; later calls throw the reason. */
  stop(reason: unknown): void;
  close(): Promise<void>;
};

type SessionOptions = {
  readonly timeoutSeconds: number;
  readonly allowPrivate: boolean;
  /** How often a server that starts up or has no connection left is asked again. */
  readonly attempts?: number;
};

const CONNECT_MS = 15_000;
const ATTEMPTS = 3;
const PAUSE_MS = 1_000;
const LAST_WORDS_MS = 4_000;

export async function openSession(target: PostgresTarget, options: SessionOptions): Promise<PostgresSession> {
  const address = await allowedAddress(target.host, { allowPrivate: options.allowPrivate });
  const client = await connectWithPatience(target, address, options);
  const state: { stopped?: { readonly reason: unknown }; failed: boolean } = { failed: false };
  const stopped = () => state.stopped;
  let running = 0;
  let cancelled: Promise<void> | undefined;
  // What the server says between two statements, such as why it ends the connection: the next one only finds it cut.
  let lastWords: unknown;
  client.on("error", (error: Error & { readonly code?: string }) => {
    if (/^[0-9A-Z]{5}$/.test(error.code ?? "")) lastWords ??= error;
  });

  const run = async (sql: string, inner?: InnerQuery): Promise<RawResult> => {
    const before = stopped();
    if (before) throw before.reason;
    running++;
    try {
      // The extended protocol takes one statement only, so a query cannot end the transaction and go on.
      return await client.query({
        text: sql,
        rowMode: "array",
        types: RAW,
        queryMode: "extended",
      } as pg.QueryArrayConfig);
    } catch (error) {
      state.failed = true;
      const during = stopped();
      throw during ? during.reason : explainPostgresError(lastWords ?? error, target, inner);
    } finally {
      running--;
    }
  };
  const session: PostgresSession = {
    run,
    isBroken: () => state.failed || state.stopped !== undefined,
    stop(reason) {
      if (state.stopped) return;
      state.stopped = { reason };
      const pid = (client as unknown as { readonly processID: number | null }).processID;
      if (pid !== null && running > 0) cancelled = cancelOnServer(target, address, pid);
      void client.end().catch(() => undefined);
    },
    async close() {
      state.stopped ??= { reason: new StageError("fetching", "source_closed", "The connector is closed") };
      // Who closes may end the process, and with it what is still to be said to the server.
      await Promise.all([hangUp(client), cancelled]);
    },
  };
  try {
    await run("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
    await run(`SET LOCAL statement_timeout = ${options.timeoutSeconds * 1000}`);
    await run(`SET LOCAL idle_in_transaction_session_timeout = ${options.timeoutSeconds * 1000}`);
    await run("SET LOCAL TIME ZONE 'UTC'");
    await run("SET LOCAL DateStyle = 'ISO, YMD'");
    await run("SET LOCAL IntervalStyle = 'iso_8601'");
    await run("SET LOCAL extra_float_digits = 1"); // with 0, several doubles are written alike
    return session;
  } catch (error) {
    await session.close();
    throw error;
  }
}

const RAW = { getTypeParser: () => (text: string) => text } as unknown as pg.CustomTypesConfig;

async function connectWithPatience(target: PostgresTarget, address: string, options: SessionOptions) {
  for (let attempt = 1; ; attempt++) {
    const client = newClient(target, address);
    try {
      await client.connect();
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      const explained = explainPostgresError(error, target);
      if (!explained.retryable || attempt >= (options.attempts ?? ATTEMPTS)) throw explained;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * 2 ** (attempt - 1)));
    }
  }
}

function newClient(target: PostgresTarget, address: string): pg.Client {
  const client = new pg.Client({
    host: address,
    port: target.port,
    database: target.database,
    user: target.user,
    // Never the operator's own: pg would look into PGPASSWORD and ~/.pgpass for a password that is not given.
    password: target.password ?? (() => ""),
    ssl: tlsOptions(target),
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    application_name: "shortlist",
    options: "",
  });
  // A connection cut between two statements is told by the next one.
  client.on("error", () => undefined);
  return client;
}

/** A backend that computes does not notice a closed connection. Best effort: the statement has its timeout too. */
async function cancelOnServer(target: PostgresTarget, address: string, pid: number): Promise<void> {
  const client = newClient(target, address);
  const callOff = cutOffAfter(client, LAST_WORDS_MS);
  try {
    await client.connect();
    await client.query("SELECT pg_cancel_backend($1)", [pid]);
  } catch {
    return; // gone already, or not reachable: nothing more can be done from here
  } finally {
    await client.end().catch(() => undefined);
    callOff();
  }
}

async function hangUp(client: pg.Client): Promise<void> {
  const callOff = cutOffAfter(client, LAST_WORDS_MS);
  await client.end().catch(() => undefined);
  callOff();
}

/** A server that is silent answers no goodbye either. */
function cutOffAfter(client: pg.Client, ms: number): () => void {
  const { connection } = client as unknown as { readonly connection: { readonly stream: Socket } };
  const timer = setTimeout(() => connection.stream.destroy(), ms);
  return () => clearTimeout(timer);
}
