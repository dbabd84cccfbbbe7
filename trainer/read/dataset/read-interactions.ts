import type { DuckDBDataChunk } from "@duckdb/node-api";
import type { StagedInteractions } from "./check-interactions.ts";
import type { Interactions } from "./dataset.ts";
import { readRow, type Staging, streamStaged } from "./staging.ts";

const PROGRESS_EVERY_CHUNKS = 64;

/**
 * Order of a user's interactions of the same second: by a hash of user and item, or in the order of the rows. An order that
 * is the same for many users, such as by item id, would teach models what comes next where times say nothing about it.
 */
export type TieOrder = "hash" | "row";

export type ReadInteractions = { readonly interactions: Interactions; readonly duplicates: number };

/**
 * The accepted rows as arrays, with the indices that numberIds gave. Rows of the same user, item and second become one
 * interaction, the one with the strongest label.
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
  // The same order as in pushdown/relation.ts.
  const order = tieOrder === "row" ? "row" : "substr(md5(users.text || item_keys.text), 1, 8), item";
  const sql = `SELECT CAST(users.rowid AS INTEGER) AS user, item, CAST(seconds AS UINTEGER) AS seconds,
      CAST(positive AS UTINYINT) AS positive, TRY_CAST(rating AS FLOAT) AS rating
    FROM ${staged.acceptedSql} accepted JOIN users ON users.key = user_id JOIN item_keys ON item_keys.key = item_id
    ORDER BY user, seconds, ${order}`;
  const collector = collectInteractions({
    rows: staged.accepted,
    userCount: Number(counts.users),
    itemCount: Number(counts.items),
    hasRatings: staged.hasRatings,
    tieOrder,
  });
  let rows = 0;
  let chunks = 0;
  for await (const chunk of streamStaged(staging, sql)) {
    collector.add(chunk);
    rows += chunk.rowCount;
    if (++chunks % PROGRESS_EVERY_CHUNKS === 0) progress?.(rows);
  }
  return collector.end();
}

type CollectSize = {
  readonly rows: number;
  readonly userCount: number;
  readonly itemCount: number;
  readonly hasRatings: boolean;
  readonly tieOrder: TieOrder;
};

/** Takes rows sorted by user, second and item, or by user, second and row. Columns: user, item, second, positive, rating. */
function collectInteractions(size: CollectSize) {
  const userStart = new Uint32Array(size.userCount + 1);
  const items = new Int32Array(size.rows);
  const times = new Uint32Array(size.rows);
  const positive = new Uint8Array(size.rows);
  const ratings = size.hasRatings ? new Float32Array(size.rows) : null;
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
      const [users, itemOf, seconds, labels, values] = [0, 1, 2, 3, 4].map((i) => chunk.getColumnVector(i));
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
      return { interactions: { userCount, itemCount, userStart, ...columns }, duplicates };
    },
  };
}
