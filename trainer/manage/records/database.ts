/**
 * The database of models and runs: an embedded Postgres (PGlite) in the state folder, or the operator's server, which several
 * trainers may share.
 */
import { Pool } from "pg";
import { openEmbedded } from "./embedded-postgres.ts";
import { MIGRATIONS } from "./migrations.ts";

export type SqlRow = Readonly<Record<string, unknown>>;
export type SqlValue = string | number | boolean | Date | null;

export type Queries = {
  /** Runs one statement with values for $1, $2, … */
  query(text: string, values?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
};

export type Database = Queries & {
  /** Commits all of the work or nothing. `work` may run several times, so it must change nothing outside the database. */
  transaction<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result>;
  /** No other process uses the database, so leases of other trainers are dead. */
  readonly isEmbedded: boolean;
  /** Rejects when the database can do nothing more until the process is restarted. Never resolves. */
  readonly failed: Promise<never>;
  /** Frees the space of old rows, and shortens the log. To be called every hour. */
  maintain(): Promise<void>;
  close(): Promise<void>;
};

/**
 * Opens the database and updates its tables. `url` null: embedded, in `stateDirectory`, which must be locked.
 *
 * @param migrations The steps that make the tables; those of an earlier release in tests.
 */
export async function openDatabase(
  url: string | null,
  stateDirectory: string,
  migrations = MIGRATIONS,
): Promise<Database> {
  const database = url === null ? await embedded(stateDirectory) : await openServer(url);
  try {
    await migrate(database, migrations);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/** Whether a row with the same key exists already. */
export const isDuplicate = (error: unknown) => sqlStateOf(error) === "23505";

/** Whether another trainer made the same table, type or index at the same time, so that a retry finds it. */
const wasMadeMeanwhile = (error: unknown) => /^(23505|42P0[67]|42710|XX000|40)/.test(sqlStateOf(error));

const ATTEMPTS_MAX = 8;
const CONNECTIONS_MAX = 8;

async function embedded(stateDirectory: string): Promise<Database> {
  const { postgres, failed } = await openEmbedded(stateDirectory);
  return {
    isEmbedded: true,
    failed,
    query: async (text, values = []) => (await postgres.query<SqlRow>(text, [...values])).rows,
    transaction: (work) =>
      retried(() =>
        postgres.transaction((inner) =>
          work({ query: async (text, values = []) => (await inner.query<SqlRow>(text, [...values])).rows }),
        ),
      ),
    async maintain() {
      // PGlite has no background processes that reuse the space of old rows and shorten the log.
      await postgres.query("vacuum");
      await postgres.query("checkpoint");
    },
    close: () => postgres.close(),
  };
}

/** Time limits, so that no statement waits forever. `query_timeout` is for a server that is gone and cannot end the statement itself. */
const TIMEOUTS = {
  connectionTimeoutMillis: 10_000,
  statement_timeout: 60_000,
  query_timeout: 65_000,
  keepAlive: true,
};

async function openServer(url: string): Promise<Database> {
  const pool = new Pool({ connectionString: url, max: CONNECTIONS_MAX, ...TIMEOUTS });
  // The pool replaces an idle connection that breaks; the next query fails if the server is gone.
  pool.on("error", () => {});
  try {
    await pool.query("select 1");
  } catch (cause) {
    await pool.end();
    // The driver's sentence names host and port, never the password.
    const reason = cause instanceof Error ? cause.message || sqlStateOf(cause) : String(cause);
    throw new Error(`The database at DATABASE_URL does not answer: ${reason}.`, { cause });
  }
  return {
    isEmbedded: false,
    failed: new Promise(() => {}), // broken connections to a server are replaced
    query: async (text, values = []) => (await pool.query(text, [...values])).rows as SqlRow[],
    transaction: (work) => retried(() => inTransaction(pool, work)),
    maintain: async () => {}, // a server does this by itself
    close: () => pool.end(),
  };
}

async function inTransaction<Result>(pool: Pool, work: (queries: Queries) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query("begin");
    const result = await work({
      query: async (text, values = []) => (await client.query(text, [...values])).rows as SqlRow[],
    });
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch((reason: Error) => {
      broken = reason;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

const SERIALIZATION = new Set(["40001", "40P01"]);

/** Repeats work that the database asks to repeat. */
async function retried<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS_MAX || !SERIALIZATION.has(sqlStateOf(error))) throw error;
    }
  }
}

const sqlStateOf = (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : "");

/** Several trainers may start at once. If another one performs a step first, this one retries and finds it done. */
async function migrate(database: Database, migrations: typeof MIGRATIONS): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await database.query("create schema if not exists shortlist");
      await database.query(
        "create table if not exists shortlist.migrations (step int4 primary key, applied_at timestamptz not null)",
      );
      for (const [index, statements] of migrations.entries()) await applyStep(database, index + 1, statements);
      break;
    } catch (error) {
      if (attempt === ATTEMPTS_MAX || !wasMadeMeanwhile(error)) throw error;
    }
  }
  const rows = await database.query("select max(step) as step from shortlist.migrations");
  const step = Number(rows[0]!.step);
  if (step > migrations.length)
    throw new Error(
      `The database is at step ${step}, newer than this trainer, which knows ${migrations.length}: update the trainer.`,
    );
}

const applyStep = (database: Database, step: number, statements: readonly string[]) =>
  database.transaction(async (queries) => {
    const done = await queries.query("select step from shortlist.migrations where step = $1", [step]);
    if (done.length > 0) return;
    await queries.query("insert into shortlist.migrations (step, applied_at) values ($1, now())", [step]);
    for (const statement of statements) await queries.query(statement);
  });
