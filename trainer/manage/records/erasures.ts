/**
 * Users whom a customer has had erased. The database has them for good; the bucket's list (shared/erased-users.ts) is
 * what edges and trainings look at. The row is written first, so that an erasure that was accepted is not lost, and the
 * caller hears of success only when the list has it.
 */
import { ERASED_USERS_MAX, erasureHash, hashesOf } from "../../../shared/erased-users.ts";
import type { UserId } from "../../../shared/ids.ts";
import { errorForLog, type Log } from "../../log/log.ts";
import { addErasedUsers, listIsFull, readErasedUsers } from "../../store/erased-list.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import type { Database } from "./database.ts";

export type Erasures = {
  /** The user's hash is in the database and in the list. Doing it again changes nothing. Throws StoreError, Problem. */
  erase(customer: string, user: UserId): Promise<void>;
  /** Writes lists that a crash or a failing bucket has left behind the database; what fails is logged, and tried at the next call. */
  settle(): Promise<void>;
  /** Makes good for lists that are gone from the bucket or were put back from an older copy. What cannot be read or written is logged. */
  restore(): Promise<void>;
  /** The same for one customer's. */
  restoreOf(customer: string): Promise<void>;
  /** For each customer, when the last user was erased of those erased before a moment. */
  lastBefore(ms: number): Promise<readonly { readonly customer: string; readonly erasedMs: number }[]>;
};

export type ErasureParts = {
  readonly database: Database;
  readonly store: ObjectStore;
  readonly nowMs: () => number;
  /** 32 random hex digits. */
  readonly newSalt: () => string;
  readonly log: Log;
};

/** A list that was lost is written again with up to half a million users. */
const MARKED_AT_ONCE = 1000;
const LISTS_AT_ONCE = 16;

export function erasures({ database, store, nowMs, newSalt, log }: ErasureParts): Erasures {
  const write = oneAtATime((customer) => writeList(customer, database, store));
  /** One customer's trouble does not keep the others waiting. */
  const logged = (customer: string, work: (customer: string) => Promise<void>) =>
    work(customer).catch((error: unknown) =>
      log({ event: "erased_list_failed", level: "error", customer, error: errorForLog(error) }),
    );
  const restoreList = async (customer: string) => {
    const list = await readErasedUsers(store, customer);
    const there = new Set(list && hashesOf(list));
    const lost = (await hashesIn(customer, "listed", database)).filter((hash) => !there.has(hash));
    await mark(lost, { customer, listed: false, database });
    await write(customer);
  };
  return {
    async erase(customer, user) {
      const salt = (await saltOf(customer, database)) ?? (await makeSalt(customer, { database, store, newSalt }));
      const hash = await erasureHash(salt, user);
      await insert(customer, hash, { database, nowMs });
      await write(customer);
    },
    async settle() {
      const rows = await database.query("select distinct customer from shortlist.erased_users where not listed");
      for (let at = 0; at < rows.length; at += LISTS_AT_ONCE)
        await Promise.all(rows.slice(at, at + LISTS_AT_ONCE).map(({ customer }) => logged(customer as string, write)));
    },
    async restore() {
      const rows = await database.query("select distinct customer from shortlist.erased_users where listed");
      for (const { customer } of rows) await logged(customer as string, restoreList);
    },
    async restoreOf(customer) {
      if ((await saltOf(customer, database)) !== undefined) await logged(customer, restoreList);
    },
    async lastBefore(ms) {
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

/** The salt of the bucket's list if there is one, since a database may be new; else a new one. The first writer's counts. */
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
 * A user who was erased before is to be listed again: the list may have been lost. The customer's salt is locked, so that
 * those who come at once are counted one after the other.
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

/** The list with everyone who is not on it yet. */
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

/** Those by name: who was erased meanwhile is not on the list yet. */
async function mark(hashes: readonly string[], { customer, listed, database }: Marking): Promise<void> {
  for (let at = 0; at < hashes.length; at += MARKED_AT_ONCE) {
    const some = hashes.slice(at, at + MARKED_AT_ONCE);
    const marks = some.map((_, i) => `$${i + 2}`).join(", ");
    const set = `update shortlist.erased_users set listed = ${listed}`;
    await database.query(`${set} where customer = $1 and hash in (${marks})`, [customer, ...some]);
  }
}

/**
 * Work for a key, never twice at once: R2 takes one write per second and object. Who asks while it is under way waits
 * for one further turn, which all of them share.
 */
function oneAtATime(work: (key: string) => Promise<void>): (key: string) => Promise<void> {
  const turns = new Map<string, { readonly now: Promise<void>; next: Promise<void> | undefined }>();
  const begin = (key: string): Promise<void> => {
    const now = work(key).finally(() => {
      if (turns.get(key)?.now === now && turns.get(key)?.next === undefined) turns.delete(key);
    });
    turns.set(key, { now, next: undefined });
    return now;
  };
  return (key) => {
    const turn = turns.get(key);
    if (turn === undefined) return begin(key);
    turn.next ??= turn.now.then(
      () => begin(key),
      () => begin(key),
    );
    return turn.next;
  };
}
