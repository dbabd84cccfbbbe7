import { existsSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { eventFileKey } from "../../shared/events/event-store.ts";
import { literal } from "../../trainer/read/connectors/sql-text.ts";

const USERS_PER_ROW = 1 / 100;
const ITEMS_MAX = 100_000;
const BEGIN_SECONDS = 1_700_000_000;
const YEAR_SECONDS = 365 * 86_400;
const TASTES = 20;
/** Change this with the recipe, since finished files are kept. */
const RECIPE = 1;

/** A folder with `interactions.parquet`, sorted by time like a log. */
export type ScaleFile = { readonly folder: string; readonly path: string };

/**
 * Generates interactions over a year in one Parquet file: one user per hundred rows, one item per hundred rows up to
 * 100,000, Zipf popularity (rank = items^u). Half of a user's rows fall on the twentieth of the items that matches the
 * user's taste. Generated once and kept in the temporary folder.
 */
export async function scaleFile(rows: number): Promise<ScaleFile> {
  const folder = join(tmpdir(), "shortlist-bench-scale", `${RECIPE}-${rows}`);
  const path = join(folder, "interactions.parquet");
  if (existsSync(path)) return { folder, path };
  await mkdir(folder, { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  await withDuckDb(async (connection) => {
    await connection.run("SET preserve_insertion_order = true");
    await connection.run(
      `COPY (SELECT * EXCLUDE (i) FROM (${drawnSql(rows)})) TO ${literal(unfinished)} (FORMAT parquet, COMPRESSION zstd)`,
    );
  });
  await rename(unfinished, path);
  return { folder, path };
}

const EVENTS_PER_FILE = 100_000;

/** The same interactions as the event files of one shard, about as large as those that the trainer has merged. */
export async function scaleEvents(rows: number, bucket: string): Promise<void> {
  await withDuckDb(async (connection) => {
    for (let first = 1; first <= rows; first += EVENTS_PER_FILE) {
      const last = Math.min(rows, first + EVENTS_PER_FILE - 1);
      const file = join(bucket, eventFileKey("bench", { shard: "0-0", first, last }));
      await mkdir(dirname(file), { recursive: true });
      await connection.run(
        `COPY (SELECT 'e' || i AS event_id, user_id::VARCHAR AS user_id, item_id::VARCHAR AS item_id, 'view' AS type,
           created_at, NULL::DOUBLE AS value, NULL::VARCHAR AS rank_id, i + 1 AS seq
         FROM (${drawnSql(rows, { from: first - 1, to: last })})) TO ${literal(file)} (FORMAT json, COMPRESSION gzip)`,
      );
    }
  });
}

/** DuckDB's hash of a number is the same everywhere, so it serves as random numbers. */
function drawnSql(rows: number, { from, to } = { from: 0, to: rows }): string {
  const users = Math.max(1, Math.floor(rows * USERS_PER_ROW));
  const items = Math.max(1, Math.min(ITEMS_MAX, users));
  const chance = (stream: number) => `(hash(i + ${stream}000000000000) / 18446744073709551616::DOUBLE)`;
  return `SELECT i, user_id,
      least(${items - 1}, CASE WHEN ${chance(3)} < 0.5 THEN rank - rank % ${TASTES} + user_id % ${TASTES} ELSE rank END)
      AS item_id, created_at, label
    FROM (SELECT i, CAST(floor(${users} * ${chance(1)}) AS BIGINT) AS user_id,
      CAST(least(${items}, floor(${items + 1} ** ${chance(2)})) AS BIGINT) - 1 AS rank,
      CAST(${BEGIN_SECONDS} + floor(i * (${YEAR_SECONDS} / ${rows})) AS BIGINT) AS created_at, 1::TINYINT AS label
      FROM range(${from}, ${to}) drawn(i))`;
}

/**
 * Seconds that DuckDB takes to read the file and count each user's rows; the better of two, as the first warms the
 * disk cache.
 */
export async function scanSeconds({ path }: ScaleFile): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  await withDuckDb(async (connection) => {
    for (let i = 0; i < 2; i++) {
      const begin = performance.now();
      await connection.runAndReadAll(
        `SELECT count(*), max(rows), max(newest) FROM (SELECT user_id, count(*) AS rows, max(item_id) AS item,
          max(created_at) AS newest FROM read_parquet(${literal(path)}) GROUP BY user_id)`,
      );
      best = Math.min(best, (performance.now() - begin) / 1000);
    }
  });
  return best;
}

async function withDuckDb(work: (connection: DuckDBConnection) => Promise<void>): Promise<void> {
  const instance = await DuckDBInstance.create(":memory:", { threads: "2", memory_limit: "2GB" });
  const connection = await instance.connect();
  try {
    await work(connection);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
