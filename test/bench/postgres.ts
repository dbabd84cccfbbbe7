import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { findPostgres, type PostgresServer, startPostgres } from "../fixtures/postgres-server.ts";
import { type Bench, compared } from "./bench.ts";

/** Result of the measured process. Memory is resident memory, highest in the first fifth of the rows and after it. */
export type PostgresMeasured = {
  readonly rows: number;
  readonly seconds: number;
  readonly earlyMb: number;
  readonly lateMb: number;
};

const ROWS = 5e6;
const QUERY = "SELECT user_id, item_id, created_at, label FROM interactions";

/**
 * Reads five million interactions from a real Postgres server through the connector, in a separate process that
 * discards them. The reference is psql's COPY of the same query just before. `--rows` changes the number.
 */
export const postgres: Bench = async ({ say, flags }) => {
  const bin = findPostgres();
  if (bin === undefined) {
    say("  skipped: no Postgres server is installed here");
    return [];
  }
  const rows = Math.round(Number(flags.get("rows") ?? ROWS));
  if (!(rows >= 1e4 && rows <= 1e8)) throw new Error(`--rows must be between 1e4 and 1e8, not ${flags.get("rows")}.`);
  const server = await startPostgres(bin);
  try {
    say(`  ${rows.toLocaleString("en-US")} rows on ${server.version}`);
    await server.execute(
      `CREATE TABLE interactions AS SELECT 'user-' || i % 100000 AS user_id, i * 7919 % 50000 AS item_id,
         timestamptz '2026-01-01' + i * interval '1 second' AS created_at, i % 3 > 0 AS label
       FROM generate_series(1, ${rows}::bigint) AS i`,
    );
    await server.execute("ANALYZE interactions");
    const copySeconds = copied(bin, server);
    const measured = await readInProcess(server);
    if (measured.rows !== rows) throw new Error(`${measured.rows} rows arrived, not ${rows}.`);
    say(`  ${measured.seconds.toFixed(1)} s; psql's COPY takes ${copySeconds.toFixed(1)} s`);
    return [
      { name: "postgres.rows", value: rows, unit: "rows" },
      compared("postgres.rows_per_second", "rows/s", rows / measured.seconds, rows / copySeconds),
      { name: "postgres.peak_mb", value: Math.max(measured.earlyMb, measured.lateMb), unit: "MB" },
      { name: "postgres.growth_mb", value: measured.lateMb - measured.earlyMb, unit: "MB" },
    ];
  } finally {
    await server.stop();
  }
};

function copied(bin: string, { port, password }: PostgresServer): number {
  const begin = performance.now();
  const place = ["-h", "127.0.0.1", "-p", String(port), "-U", "owner", "-d", "postgres"];
  execFileSync(join(bin, "psql"), [...place, "-qc", `COPY (${QUERY}) TO STDOUT`], {
    env: { PGPASSWORD: password, PATH: process.env.PATH },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return (performance.now() - begin) / 1000;
}

async function readInProcess({ port, password }: PostgresServer): Promise<PostgresMeasured> {
  const child = fork(join(import.meta.dirname, "postgres-process.ts"), [String(port), QUERY], {
    execArgv: ["--no-warnings"],
    env: { ...process.env, BENCH_PASSWORD: password },
  });
  const ended = once(child, "close").then(([code]) => {
    throw new Error(`The measured process ended with code ${code}.`);
  });
  ended.catch(() => undefined);
  const [measured] = await Promise.race([once(child, "message"), ended]);
  return measured as PostgresMeasured;
}
