import type { PostgresServer } from "../fixtures/postgres-server.ts";

const USERS_PER_ROW = 1 / 100;
const ITEMS_MAX = 100_000;
const BEGIN_SECONDS = 1_700_000_000;
const YEAR_SECONDS = 365 * 86_400;
const GROUP_ITEMS = 50;
const TASTES = 3;
/** The newest rows, which no model reads: they judge its lists. */
const HELD_FRACTION = 0.02;

export const usersOf = (rows: number): number => Math.floor(rows * USERS_PER_ROW);
const itemsOf = (rows: number): number => GROUP_ITEMS * Math.floor(Math.min(ITEMS_MAX, usersOf(rows)) / GROUP_ITEMS);
const HELD_FROM = `to_timestamp(${BEGIN_SECONDS + Math.floor(YEAR_SECONDS * (1 - HELD_FRACTION))})`;

/** The rows that a model learns from. */
export const LEARNT_QUERY = `SELECT user_id, item_id, created_at, label FROM interactions WHERE created_at < ${HELD_FROM}`;
/** All rows of a fraction of the users, and whether they are held. */
export const judgedQuery = (fraction: number): string =>
  `SELECT user_id, item_id, created_at >= ${HELD_FROM} AS held, label FROM interactions
   WHERE (hashint8extended(user_id, 11) & 1048575) < ${Math.ceil(fraction * 2 ** 20)}`;

/**
 * Fills the table `interactions` (user_id bigint, item_id integer, created_at timestamptz, label boolean), in the order of time like a log,
 * without an index. A year with one user per hundred rows, some with thousands of rows, and at most 100,000 items. Half of the rows are of
 * the three groups of 50 items that a user prefers, by a power law within each; popular groups have more users. The other rows are of
 * popular items (rank = items^u). One row in ten is negative. The same number of rows always gives the same table.
 */
export async function fillInteractions(server: PostgresServer, rows: number): Promise<void> {
  const [users, items] = [usersOf(rows), itemsOf(rows)];
  const groups = items / GROUP_ITEMS;
  const taste = `(hashint8extended(user_id * ${TASTES} + floor(${TASTES} * c * c)::bigint, 7) & 4294967295) / 4294967296.0::float8`;
  const own = `${GROUP_ITEMS} * floor(${groups} * power(${taste}, 1.5)) + floor(${GROUP_ITEMS} * d * d)`;
  // Popular items belong to different groups: 7919 is prime and does not divide the number of items.
  const popular = `(floor(power(${items + 1}, d))::bigint - 1) * 7919 % ${items}`;
  await server.execute(
    `SET max_parallel_workers_per_gather = 0; SELECT setseed(0.5);
     CREATE UNLOGGED TABLE interactions AS
     SELECT user_id, least(${items - 1}, CASE WHEN b < 0.5 THEN ${own} ELSE ${popular} END)::integer AS item_id, created_at, label
     FROM (SELECT floor(${users} * power(random(), 1.5))::bigint AS user_id, random() AS b, random() AS c, random() AS d,
       to_timestamp(${BEGIN_SECONDS} + floor(i * ${YEAR_SECONDS / rows})) AS created_at, random() < 0.9 AS label
       FROM generate_series(0, ${rows - 1}::bigint) AS i OFFSET 0) AS drawn`,
  );
  await server.execute("ANALYZE interactions");
}
