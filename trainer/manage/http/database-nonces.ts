import type { Database } from "../records/database.ts";
import { NONCE_MS, type Nonces } from "./forwarded.ts";

const PURGE_EVERY_MS = 60_000;

/**
 * The nonces that any trainer of this database has seen, before a restart as well: a signed request that was copied on
 * its way is refused by all of them.
 */
export function databaseNonces(database: Database, nowMs: () => number): Nonces {
  let purgedMs = Number.NEGATIVE_INFINITY;
  return {
    async add(nonce) {
      const now = nowMs();
      if (now - purgedMs > PURGE_EVERY_MS) {
        purgedMs = now;
        await database.query("delete from shortlist.forward_nonces where expires_at < $1", [
          new Date(now).toISOString(),
        ]);
      }
      const inserted = await database.query(
        `insert into shortlist.forward_nonces (nonce, expires_at) values ($1, $2)
         on conflict (nonce) do nothing returning nonce`,
        [nonce, new Date(now + NONCE_MS).toISOString()],
      );
      return inserted.length > 0;
    },
  };
}
