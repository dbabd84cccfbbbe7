/** Interactions with planted tastes, and the next choice of some users, which a model should find. */
import { existsSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { literal } from "../../trainer/read/connectors/sql-text.ts";

const ROWS_PER_USER = 25;
const ROWS_PER_ITEM = 250;
const ITEMS_MAX = 100_000;
/** Groups of items. A user likes two of them. */
const TASTES = 100;
const LIKED_FRACTION = 0.6;
/** The part p of the catalog has p^(1/3) of the choices. */
const POPULARITY_EXPONENT = 3;
const HELD_OUT_USERS = 4000;
const BEGIN_SECONDS = 1_700_000_000;
const YEAR_SECONDS = 365 * 86_400;
/** Change this with the recipe, since finished files are kept. */
const RECIPE = 1;

/** A user's history in the order of time, and the choice that came next, which the training has not seen. */
export type HeldOut = { readonly items: readonly number[]; readonly next: number };

/** A folder with `interactions.parquet`, and the users to judge a model by. */
export type MemoryData = { readonly folder: string; readonly heldOut: readonly HeldOut[] };

/**
 * Draws `rows` interactions over a year, 25 of a user, of one item for 250 rows up to 100,000. Three of five are items of the user's two
 * tastes. Drawn once and kept in the temporary folder.
 */
export async function memoryData(rows: number): Promise<MemoryData> {
  const folder = join(tmpdir(), "shortlist-bench-memory", `${RECIPE}-${rows}`);
  const [path, heldOut] = [join(folder, "interactions.parquet"), join(folder, "held-out.json")];
  const instance = await DuckDBInstance.create(":memory:", { threads: "1", memory_limit: "4GB" });
  const connection = await instance.connect();
  try {
    if (!existsSync(path)) await draw(connection, rows, { folder, path, heldOut });
    const reader = await connection.runAndReadAll(`SELECT items, next FROM read_json(${literal(heldOut)})`);
    const lists = reader.getRowObjectsJson() as unknown as { readonly items: string[]; readonly next: string }[];
    return { folder, heldOut: lists.map(({ items, next }) => ({ items: items.map(Number), next: Number(next) })) };
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

type Paths = { readonly folder: string; readonly path: string; readonly heldOut: string };

async function draw(connection: DuckDBConnection, rows: number, { folder, path, heldOut }: Paths): Promise<void> {
  await mkdir(folder, { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  const copied = `${literal(unfinished)} (FORMAT parquet, COMPRESSION zstd)`;
  const every = Math.max(1, Math.floor(rows / ROWS_PER_USER / HELD_OUT_USERS));
  await connection.run(`CREATE TABLE next AS SELECT user_id, max(i) AS last FROM (${drawnSql(rows)})
    WHERE user_id % ${every} = 0 GROUP BY user_id`);
  await connection.run(`COPY (SELECT user_id, item_id, created_at, label FROM (${drawnSql(rows)}) ANTI JOIN next
    ON next.last = i) TO ${copied}`);
  await connection.run(`COPY (SELECT items, next FROM (
      SELECT user_id, list(item_id ORDER BY i) FILTER (i < last) AS items, max(item_id) FILTER (i = last) AS next
      FROM (${drawnSql(rows)}) JOIN next USING (user_id) GROUP BY user_id)
    WHERE items IS NOT NULL AND NOT list_contains(items, next)) TO ${literal(heldOut)} (FORMAT json, ARRAY true)`);
  await rename(unfinished, path);
}

/** DuckDB's hash of a number is the same everywhere, so it serves as random numbers. Row i is older than row i + 1. */
function drawnSql(rows: number): string {
  const users = Math.max(1, Math.floor(rows / ROWS_PER_USER));
  const items = Math.max(TASTES, Math.min(ITEMS_MAX, Math.floor(rows / ROWS_PER_ITEM)));
  const chance = (stream: number) => `(hash(i + ${stream}000000000000) / 18446744073709551616::DOUBLE)`;
  const taste = `CASE WHEN ${chance(4)} < 0.5 THEN hash(user_id) % ${TASTES} ELSE hash(user_id + 7000000000) % ${TASTES} END`;
  return `SELECT i, user_id, created_at, label, CAST(least(${items - 1}, CASE WHEN ${chance(3)} < ${LIKED_FRACTION}
      THEN rank - rank % ${TASTES} + ${taste} ELSE rank END) AS BIGINT) AS item_id
    FROM (SELECT i, CAST(floor(${users} * ${chance(1)}) AS BIGINT) AS user_id,
      CAST(floor(${items} * ${chance(2)} ** ${POPULARITY_EXPONENT}) AS BIGINT) AS rank,
      CAST(${BEGIN_SECONDS} + floor(i * (${YEAR_SECONDS} / ${rows})) AS BIGINT) AS created_at, 1::TINYINT AS label
      FROM range(0, ${rows}) drawn(i))`;
}
