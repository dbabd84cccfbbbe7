import type { DuckDBDataChunk } from "@duckdb/node-api";
import type { StagedInteractions } from "./check-interactions.ts";
import type { Interactions } from "./dataset.ts";
import { type Sessions, sessionNumbering } from "./sessions.ts";
import { readRow, type Staging, streamStaged } from "./staging.ts";

/**
 * Order of a user's interactions of the same second: by a hash of user and item, or in the order of the rows. An order that
 * is the same for many users, such as by item id, would teach models what comes next where times say nothing about it.
 */
export type TieOrder = "hash" | "row";

export type ReadInteractions = {
  readonly interactions: Interactions;
  /** Null where no column names sessions. */
  readonly sessions: Sessions | null;
  readonly duplicates: number;
};

/**
 * The accepted rows as arrays, with the indices that numberIds gave. Rows of the same user, item and second become one
 * interaction, the one with the strongest label, in the session with the smallest name.
 */
export async function readInteractions(
  staging: Staging,
  staged: StagedInteractions,
  { tieOrder, progress }: { readonly tieOrder: TieOrder; readonly progress?: (rows: number) => void },
): Promise<ReadInteractions> {
  const counts = await readRow(
    staging,
    "SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM items) AS items",
  );
  // The same order as in pushdown/relation.ts. As a number, since DuckDB takes 1.6 times as long to sort keys of texts.
  const hash = "CAST('0x' || substr(md5(users.text || item_keys.text), 1, 8) AS UINTEGER)";
  const order = tieOrder === "row" ? "row" : `${hash}, item`;
  const [session, bySession] = staged.hasSessions ? [`, ${SESSION_KEY}`, ", session_id NULLS LAST"] : ["", ""];
  const sql = `SELECT CAST(users.rowid AS INTEGER) AS user, item, CAST(seconds AS UINTEGER) AS seconds,
      CAST(positive AS UTINYINT) AS positive, TRY_CAST(rating AS FLOAT) AS rating${session}
    FROM ${staged.acceptedSql} accepted JOIN users ON users.key = user_id JOIN item_keys ON item_keys.key = item_id
    ORDER BY user, seconds, ${order}${bySession}`;
  const collector = collectInteractions({
    rows: staged.accepted,
    userCount: Number(counts.users),
    itemCount: Number(counts.items),
    hasRatings: staged.hasRatings,
    hasSessions: staged.hasSessions,
    tieOrder,
  });
  for await (const chunk of streamStaged(staging, sql, progress)) collector.add(chunk);
  return collector.end();
}

/** A number that names a session among those of its user: two of them are equal by chance once in 10^16 times. */
const SESSION_KEY = `CASE WHEN session_id IS NOT NULL
  THEN CAST(hash(session_id) & CAST(${Number.MAX_SAFE_INTEGER} AS UBIGINT) AS DOUBLE) END AS session`;

type CollectSize = {
  readonly rows: number;
  readonly userCount: number;
  readonly itemCount: number;
  readonly hasRatings: boolean;
  readonly hasSessions: boolean;
  readonly tieOrder: TieOrder;
};

/** Takes rows sorted by user, second and item, or by user, second and row. Columns: user, item, second, positive, rating, session. */
function collectInteractions(size: CollectSize) {
  const userStart = new Uint32Array(size.userCount + 1);
  const items = new Int32Array(size.rows);
  const times = new Uint32Array(size.rows);
  const positive = new Uint8Array(size.rows);
  const ratings = size.hasRatings ? new Float32Array(size.rows) : null;
  const sessions = size.hasSessions ? { of: new Uint32Array(size.rows), ...sessionNumbering() } : null;
  let count = 0;
  let duplicates = 0;
  let lastUser = -1;
  let lastSecond = -1;
  /** Positions of the items of the last user and second; used when rows keep their order. */
  const rowOfItem = new Map<number, number>();

  /** The position of the interaction with this user, second and item, or −1. */
  const findDuplicate = (user: number, second: number, item: number): number => {
    if (user !== lastUser || second !== lastSecond) {
      rowOfItem.clear();
      lastUser = user;
      lastSecond = second;
      return -1;
    }
    if (items[count - 1] === item) return count - 1;
    return rowOfItem.get(item) ?? -1;
  };

  return {
    add(chunk: DuckDBDataChunk): void {
      const columns = Array.from({ length: chunk.columnCount }, (_, i) => chunk.getColumnVector(i));
      const [users, itemOf, seconds, labels, values, keys] = columns;
      for (let i = 0; i < chunk.rowCount; i++) {
        const user = users!.getItem(i) as number;
        const item = itemOf!.getItem(i) as number;
        const second = seconds!.getItem(i) as number;
        const label = labels!.getItem(i) as number;
        const same = findDuplicate(user, second, item);
        const row = same >= 0 ? same : count++;
        duplicates += same >= 0 ? 1 : 0;
        items[row] = item;
        times[row] = second;
        positive[row] = same >= 0 ? Math.max(positive[row]!, label) : label;
        if (ratings) {
          const value = values!.getItem(i) as number;
          ratings[row] = same >= 0 ? Math.max(ratings[row]!, value) : value;
        }
        if (sessions && same < 0) sessions.of[row] = sessions.numberOf(user, keys!.getItem(i) as number | null, second);
        if (size.tieOrder === "row") rowOfItem.set(item, row);
        userStart[user + 1] = count;
      }
    },
    end(): ReadInteractions {
      const trim = <Column extends Int32Array | Uint32Array | Uint8Array | Float32Array>(column: Column) =>
        (count === size.rows ? column : column.slice(0, count)) as Column;
      const { userCount, itemCount } = size;
      for (let user = 0; user < userCount; user++)
        userStart[user + 1] = Math.max(userStart[user]!, userStart[user + 1]!); // users without rows
      const columns = {
        items: trim(items),
        times: trim(times),
        positive: trim(positive),
        ratings: ratings && trim(ratings),
      };
      return {
        interactions: { userCount, itemCount, userStart, ...columns },
        sessions: sessions && { count: sessions.count(), of: trim(sessions.of) },
        duplicates,
      };
    },
  };
}
