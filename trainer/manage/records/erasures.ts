/**
 * Users whom a customer has erased. The database keeps them for good. Edges and trainings read the list in the bucket
 * (shared/erased-users.ts). The row is written first, so that an accepted erasure is not lost; the call succeeds once the list
 * has the user too.
 */
import { ERASED_USERS_MAX, erasureHash, hashesOf } from "../../../shared/erased-users.ts";
import type { UserId } from "../../../shared/ids.ts";
import { errorForLog, type Log } from "../../log/log.ts";
import { addErasedUsers, listIsFull, readErasedUsers } from "../../store/erased-list.ts";
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
};

/** Rows of one UPDATE. A list that was lost has up to half a million users. */
const UPDATE_ROWS = 1000;
const LISTS_AT_ONCE = 16;

export function erasures({ database, store, nowMs, newSalt, log }: ErasureParts) {
  const inTurn = oneAtATime();
  const write = (customer: string) => inTurn(customer, () => writeList(customer, database, store));
  /** A failure with one customer's list must not affect the others. */
  const logged = (customer: string, work: (customer: string) => Promise<void>) =>
    work(customer).catch((error: unknown) =>
      log({ event: "erased_list_failed", level: "error", customer, error: errorForLog(error) }),
    );
  const restoreList = async (customer: string) => {
    const list = await readErasedUsers(store, customer);
    const present = new Set(list && hashesOf(list));
    const lost = (await hashesIn(customer, "listed", database)).filter((hash) => !present.has(hash));
    await mark(lost, { customer, listed: false, database });
    await write(customer);
  };
  return {
    /** Writes the user's hash to the database and the list. Idempotent. Throws StoreError, Problem. */
    async erase(customer: string, user: UserId): Promise<void> {
      const salt = (await saltOf(customer, database)) ?? (await makeSalt(customer, { database, store, newSalt }));
      const hash = await erasureHash(salt, user);
      await insert(customer, hash, { database, nowMs });
      await write(customer);
    },
    /** Writes lists that lack users of the database. A failure is logged, and the next call tries again. */
    async settle(): Promise<void> {
      const rows = await database.query("select distinct customer from shortlist.erased_users where not listed");
      for (let at = 0; at < rows.length; at += LISTS_AT_ONCE)
        await Promise.all(rows.slice(at, at + LISTS_AT_ONCE).map(({ customer }) => logged(customer as string, write)));
    },
    /** Repairs lists that are missing in the bucket or were replaced by an older copy. A failure is logged. */
    async restore(): Promise<void> {
      const rows = await database.query("select distinct customer from shortlist.erased_users where listed");
      for (const { customer } of rows) await logged(customer as string, restoreList);
    },
    /** Repairs one customer's list. */
    async restoreOf(customer: string): Promise<void> {
      if ((await saltOf(customer, database)) !== undefined) await logged(customer, restoreList);
    },
    /** For each customer, the newest erasure before a time. */
    async lastBefore(ms: number) {
      const rows = await database.query(
        "select customer, max(erased_at) as erased_at from shortlist.erased_users where erased_at < $1 group by customer",
        [new Date(ms).toISOString()],
      );
      return rows.map(({ customer, erased_at }) => ({
        customer: customer as string,
        erasedMs: new Date(erased_at as string | Date).getTime(),
      }));
    },
  };
}

const saltOf = async (customer: string, database: Database): Promise<string | undefined> =>
  (await database.query("select salt from shortlist.erasure_salts where customer = $1", [customer]))[0]?.salt as
    | string
    | undefined;

/** The salt of an existing list, since the database may be newer than the bucket, or a new one. The first writer wins. */
async function makeSalt(
  customer: string,
  { database, store, newSalt }: Omit<ErasureParts, "nowMs" | "log">,
): Promise<string> {
  const salt = (await readErasedUsers(store, customer))?.salt ?? newSalt();
  await database.query(
    "insert into shortlist.erasure_salts (customer, salt) values ($1, $2) on conflict (customer) do nothing",
    [customer, salt],
  );
  return (await saltOf(customer, database))!;
}

/**
 * Inserts the hash as not listed. A user who was erased before is listed again, since the list may have been lost. The lock
 * on the customer's salt makes simultaneous erasures count one after the other.
 */
async function insert(customer: string, hash: string, { database, nowMs }: Pick<ErasureParts, "database" | "nowMs">) {
  await database.transaction(async (queries) => {
    await queries.query("select salt from shortlist.erasure_salts where customer = $1 for update", [customer]);
    const [known] = await queries.query(
      "update shortlist.erased_users set listed = false where customer = $1 and hash = $2 returning hash",
      [customer, hash],
    );
    if (known !== undefined) return;
    const [{ count } = { count: 0 }] = await queries.query(
      "select count(*) as count from shortlist.erased_users where customer = $1",
      [customer],
    );
    if (Number(count) >= ERASED_USERS_MAX) throw listIsFull();
    await queries.query(
      "insert into shortlist.erased_users (customer, hash, erased_at, listed) values ($1, $2, $3, false)",
      [customer, hash, new Date(nowMs()).toISOString()],
    );
  });
}

/** Adds the users to the list that it lacks. */
async function writeList(customer: string, database: Database, store: ObjectStore): Promise<void> {
  const hashes = await hashesIn(customer, "not listed", database);
  if (hashes.length === 0) return;
  await addErasedUsers(store, customer, { salt: (await saltOf(customer, database))!, hashes });
  await mark(hashes, { customer, listed: true, database });
}

async function hashesIn(customer: string, which: "listed" | "not listed", database: Database): Promise<string[]> {
  const rows = await database.query(`select hash from shortlist.erased_users where customer = $1 and ${which}`, [
    customer,
  ]);
  return rows.map(({ hash }) => hash as string);
}

type Marking = { readonly customer: string; readonly listed: boolean; readonly database: Database };

/** Marks users by hash, not all of the customer's: a user who was erased meanwhile is not on the list yet. */
async function mark(hashes: readonly string[], { customer, listed, database }: Marking): Promise<void> {
  for (let at = 0; at < hashes.length; at += UPDATE_ROWS) {
    const some = hashes.slice(at, at + UPDATE_ROWS);
    const parameters = some.map((_, i) => `$${i + 2}`).join(", ");
    const update = `update shortlist.erased_users set listed = ${listed}`;
    await database.query(`${update} where customer = $1 and hash in (${parameters})`, [customer, ...some]);
  }
}
