/**
 * Users whom a customer has erased. The database keeps them for good. Edges and trainings read the list in the bucket
 * (shared/erased-users.ts). The row is written first, so that an accepted erasure is not lost; the call succeeds once the list
 * has the user too.
 */
import { forEachConcurrently } from "../../../shared/concurrently.ts";
import { ERASED_USERS_MAX, erasureHash, hashesOf } from "../../../shared/erased-users.ts";
import type { UserId } from "../../../shared/ids.ts";
import { errorForLog, type Log } from "../../log/log.ts";
import { addErasedUsers, listIsFull, readErasedUsers, replaceErasedUsers } from "../../store/erased-list.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { oneAtATime } from "../one-at-a-time.ts";
import type { Database } from "./database.ts";

export type Erasures = ReturnType<typeof erasures>;

export type ErasureParts = {
  readonly database: Database;
  readonly store: ObjectStore;
  readonly nowMs: () => number;
  /** Returns 32 random hex digits. */
  readonly newSalt: () => string;
  readonly log: Log;
  readonly usersMax?: number;
};

const LISTS_AT_ONCE = 16;

export function erasures({ database, store, nowMs, newSalt, log, usersMax = ERASED_USERS_MAX }: ErasureParts) {
  const inTurn = oneAtATime();
  /** Hashes by customer that are in the database, and perhaps not on the list yet. */
  const pending = new Map<string, Set<string>>();

  const saltOf = async (customer: string): Promise<string | undefined> => {
    const rows = await database.query("select salt from shortlist.erasure_salts where customer = $1", [customer]);
    return rows[0]?.salt as string | undefined;
  };
  const insert = (customer: string, hash: string) =>
    database.query(
      `insert into shortlist.erased_users (customer, hash, erased_at) values ($1, $2, $3)
       on conflict (customer, hash) do nothing`,
      [customer, hash, new Date(nowMs()).toISOString()],
    );
  /**
   * The salt of an existing list, since the database may be newer than the bucket, or a new one. The first writer wins. The users of
   * an existing list count as erased now.
   */
  const makeSalt = async (customer: string): Promise<string> => {
    const list = await readErasedUsers(store, customer);
    const salt = list?.salt ?? newSalt();
    for (const hash of list ? hashesOf(list) : []) await insert(customer, hash);
    await database.query(
      "insert into shortlist.erasure_salts (customer, salt) values ($1, $2) on conflict (customer) do nothing",
      [customer, salt],
    );
    return (await saltOf(customer))!;
  };
  const writePending = async (customer: string): Promise<void> => {
    const waiting = pending.get(customer) ?? new Set();
    const written = [...waiting];
    if (written.length > 0) await addErasedUsers(store, customer, { salt: (await saltOf(customer))!, hashes: written });
    for (const hash of written) waiting.delete(hash);
    if (waiting.size === 0) pending.delete(customer);
  };
  const write = (customer: string, hashes: readonly string[] = []): Promise<void> => {
    const waiting = pending.get(customer) ?? new Set();
    for (const hash of hashes) waiting.add(hash);
    pending.set(customer, waiting);
    return inTurn(customer, () => writePending(customer));
  };
  const restoreList = async (customer: string): Promise<void> => {
    const rows = await database.query(
      "select hash from shortlist.erased_users where customer = $1 order by erased_at limit $2",
      [customer, usersMax],
    );
    await write(
      customer,
      rows.map(({ hash }) => hash as string),
    ); // changes nothing if the list has them all
  };
  /** Does the work for every customer. A failure with one customer's list must not affect the others. */
  const forEach = (customers: readonly string[], work: (customer: string) => Promise<void>) =>
    forEachConcurrently(customers, LISTS_AT_ONCE, (customer) =>
      work(customer).catch((error: unknown) =>
        log({ event: "erased_list_failed", level: "error", customer, error: errorForLog(error) }),
      ),
    );
  return {
    /** Writes the user's hash to the database and the list. Idempotent. Throws StoreError, Problem. */
    async erase(customer: string, user: UserId): Promise<void> {
      const hash = await erasureHash((await saltOf(customer)) ?? (await makeSalt(customer)), user);
      const [room] = await database.query(
        `select count(*) < $3 or count(*) filter (where hash = $2) > 0 as is_there
         from shortlist.erased_users where customer = $1`,
        [customer, hash, usersMax],
      );
      if (!room!.is_there) throw listIsFull();
      await insert(customer, hash);
      await write(customer, [hash]);
    },
    /** Repeats writes to lists that have failed. */
    settle: () => forEach([...pending.keys()], write),
    /** Repairs lists that lack users of the database, such as those that were replaced by an older copy. */
    async restore(): Promise<void> {
      const rows = await database.query("select customer from shortlist.erasure_salts");
      await forEach(
        rows.map(({ customer }) => customer as string),
        restoreList,
      );
    },
    /** Repairs the customer's list before a run reads it. Returns the salt of user hashes. Throws StoreError, Problem. */
    async prepareList(customer: string): Promise<string> {
      const salt = (await saltOf(customer)) ?? (await makeSalt(customer));
      await addErasedUsers(store, customer, { salt, hashes: [] }); // an empty list, so that the salt outlives the database
      await restoreList(customer);
      return salt;
    },
  };
}

export type Pruning = { readonly customer: string; readonly from: string; readonly until: string };

/**
 * Forgets the erasures of a time, such as those of a stolen key. These users are known again after the next training. Every row is
 * added to the list before a call succeeds, so the rows that are left are the whole list.
 */
export async function pruneErasures(
  { customer, from, until }: Pruning,
  { database, store }: Pick<ErasureParts, "database" | "store">,
): Promise<{ readonly removed: number; readonly left: number }> {
  const ofTime = "customer = $1 and erased_at >= $2 and erased_at < $3";
  const parameters = [customer, from, until];
  const removed = await database.query(`delete from shortlist.erased_users where ${ofTime} returning hash`, parameters);
  const hashesLeft = async () => {
    const rows = await database.query("select hash from shortlist.erased_users where customer = $1", [customer]);
    return rows.map(({ hash }) => hash as string);
  };
  await replaceErasedUsers(store, customer, hashesLeft);
  return { removed: removed.length, left: (await hashesLeft()).length };
}

/** The number of a customer's erasures by the hour in which they came, oldest first. */
export async function erasuresByHour(customer: string, database: Database) {
  const rows = await database.query(
    `select date_trunc('hour', erased_at) as hour, count(*) as count from shortlist.erased_users
     where customer = $1 group by 1 order by 1`,
    [customer],
  );
  return rows.map(({ hour, count }) => `${new Date(hour as string | Date).toISOString()}  ${Number(count)}`);
}
