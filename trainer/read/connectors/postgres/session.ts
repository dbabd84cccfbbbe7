import type { Socket } from "node:net";
import pg from "pg";
import type { ConnectorSettings } from "../../../settings.ts";
import { allowedAddress } from "../network-guard.ts";
import { closedError, silentError } from "../source-error.ts";
import { type PostgresTarget, tlsOptions } from "./config.ts";
import { explainPostgresError, type InnerQuery } from "./errors.ts";

export type RawResult = {
  readonly fields: readonly pg.FieldDef[];
  readonly rows: readonly (readonly (string | null)[])[];
};

/** One connection with one read-only transaction: all reads see one state of the database. */
export type PostgresSession = {
  /** Runs one statement. Values come as Postgres's text. `inner` is the customer's query inside it, for error positions. */
  run(sql: string, inner?: InnerQuery): Promise<RawResult>;
  /** True once a statement has failed or the session was stopped. Its transaction is over then. */
  isBroken(): boolean;
  /** Cancels the running statement, also on the server. Later calls throw the reason. */
  stop(reason: unknown): void;
  close(): Promise<void>;
};

type SessionOptions = Pick<ConnectorSettings, "connectSeconds" | "silenceSeconds" | "timeoutSeconds"> & {
  readonly allowPrivate: boolean;
  /** Attempts to connect while the server starts up or has no connection left. */
  readonly attempts?: number;
};

const ATTEMPTS = 3;
const PAUSE_MS = 1_000;
/** Time for closing the connection or cancelling a statement before the socket is destroyed. */
const CLOSE_MS = 4_000;

export async function openSession(target: PostgresTarget, options: SessionOptions): Promise<PostgresSession> {
  const address = await allowedAddress(target.host, { allowPrivate: options.allowPrivate });
  const client = await connectWithRetries(target, address, options);
  const state: { stopped?: { readonly reason: unknown }; failed: boolean } = { failed: false };
  const stopped = () => state.stopped;
  let running = 0;
  let cancelled: Promise<void> | undefined;
  // An error that the server sends between two statements, such as why it closes the connection. The next statement would only
  // find the connection cut.
  let earlierError: unknown;
  client.on("error", (error: Error & { readonly code?: string }) => {
    if (/^[0-9A-Z]{5}$/.test(error.code ?? "")) earlierError ??= error;
  });

  const run = async (sql: string, inner?: InnerQuery): Promise<RawResult> => {
    const before = stopped();
    if (before) throw before.reason;
    running++;
    const giveUp = () => session.stop(silentError(options.silenceSeconds, "SHORTLIST_SILENCE_SECONDS"));
    const timer = setTimeout(giveUp, options.silenceSeconds * 1000);
    try {
      // The extended protocol allows only one statement, so a query cannot end the transaction and continue.
      return await client.query({
        text: sql,
        rowMode: "array",
        types: RAW,
        queryMode: "extended",
      } as pg.QueryArrayConfig);
    } catch (error) {
      state.failed = true;
      const during = stopped();
      throw during ? during.reason : explainPostgresError(earlierError ?? error, target, inner);
    } finally {
      clearTimeout(timer);
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
      state.stopped ??= { reason: closedError("Postgres") };
      // The caller may end the process after this, so the cancellation must have been sent.
      await Promise.all([hangUp(client), cancelled]);
    },
  };
  const giveUp = () => session.stop(silentError(options.connectSeconds, "SHORTLIST_CONNECT_SECONDS"));
  const timer = setTimeout(giveUp, options.connectSeconds * 1000);
  try {
    await run("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
    await run(`SET LOCAL statement_timeout = ${options.timeoutSeconds * 1000}`);
    await run(`SET LOCAL idle_in_transaction_session_timeout = ${options.timeoutSeconds * 1000}`);
    await run("SET LOCAL TIME ZONE 'UTC'");
    await run("SET LOCAL DateStyle = 'ISO, YMD'");
    await run("SET LOCAL IntervalStyle = 'iso_8601'");
    await run("SET LOCAL extra_float_digits = 1"); // with 0, different doubles have the same text
    return session;
  } catch (error) {
    await session.close();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

const RAW = { getTypeParser: () => (text: string) => text } as unknown as pg.CustomTypesConfig;

async function connectWithRetries(target: PostgresTarget, address: string, options: SessionOptions) {
  for (let attempt = 1; ; attempt++) {
    const client = newClient(target, address, options.connectSeconds);
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

function newClient(target: PostgresTarget, address: string, connectSeconds: number): pg.Client {
  const client = new pg.Client({
    host: address,
    port: target.port,
    database: target.database,
    user: target.user,
    // Without this, pg would take the operator's own password from PGPASSWORD or ~/.pgpass.
    password: target.password ?? (() => ""),
    ssl: tlsOptions(target),
    connectionTimeoutMillis: connectSeconds * 1000,
    keepAlive: true,
    application_name: "shortlist",
    options: "",
  });
  // A connection cut between two statements fails the next one.
  client.on("error", () => undefined);
  return client;
}

/** Cancels the statement on the server, which does not notice a closed connection while it computes. Best effort. */
async function cancelOnServer(target: PostgresTarget, address: string, pid: number): Promise<void> {
  const client = newClient(target, address, CLOSE_MS / 1000);
  const cancelDestroy = destroyAfter(client, CLOSE_MS);
  try {
    await client.connect();
    await client.query("SELECT pg_cancel_backend($1)", [pid]);
  } catch {
    return; // the statement has ended or the server is unreachable; statement_timeout ends it at the latest
  } finally {
    await client.end().catch(() => undefined);
    cancelDestroy();
  }
}

async function hangUp(client: pg.Client): Promise<void> {
  const cancelDestroy = destroyAfter(client, CLOSE_MS);
  await client.end().catch(() => undefined);
  cancelDestroy();
}

/** Destroys the socket after the given time, because a silent server does not answer when the connection is closed either. */
function destroyAfter(client: pg.Client, ms: number): () => void {
  const { connection } = client as unknown as { readonly connection: { readonly stream: Socket } };
  const timer = setTimeout(() => connection.stream.destroy(), ms);
  return () => clearTimeout(timer);
}
