import type { DuckDBDataChunk } from "@duckdb/node-api";
import { type ErasedUsers, hashesOf } from "../../../shared/erased-users.ts";
import { type PackedStrings, stringAt } from "../../../shared/packed-strings.ts";
import { RECORD_HISTORY_MAX } from "../../../shared/user-records.ts";
import { readRow, type StagedTable, type Staging, streamStaged } from "../dataset/staging.ts";
import type { UserHistories } from "./user-histories.ts";
import { createSpool, hashOfHex, readSpool, type SpoolWriter } from "./user-spool.ts";

/** A file with the history of every user. */
export type UserSpool = {
  readonly path: string;
  readonly salt: Uint8Array;
  readonly userCount: number;
  /** The ids of the items, by the index that the file uses. */
  readonly itemIds: PackedStrings;
};

export type SpoolOptions = {
  readonly path: string;
  readonly erased: ErasedUsers | undefined;
  readonly progress: (rows: number) => void;
};

/**
 * Rows that are sorted at once for each MB of the staging database. With 333,000, DuckDB ran out of memory while it merged them, with
 * 100,000 it did not (LOG.md, "A run within its memory").
 */
const SORTED_ROWS_PER_MB = 50_000;
const SLICES_MAX = 256;

/** Conditions that divide the rows into slices of the users, in the order of their hashes, which are hexadecimal. */
function slicesByHash(rows: number, memoryMb: number): string[] {
  const count = Math.max(1, Math.min(SLICES_MAX, Math.ceil(rows / (SORTED_ROWS_PER_MB * memoryMb))));
  const bound = (i: number) =>
    `'${Math.floor((i * 256) / count)
      .toString(16)
      .padStart(2, "0")}'`;
  return Array.from({ length: count }, (_, i) => {
    const [from, to] = [i === 0 ? "true" : `c0 >= ${bound(i)}`, i === count - 1 ? "true" : `c0 < ${bound(i + 1)}`];
    return `${from} AND ${to}`;
  });
}

/**
 * Sorts the staged rows of the relation `records` out of core, slice by slice, and writes them as a spool, without erased users. An item's
 * index is its rowid in the staged table `items (text)`. Rows of items that are not in that table are left out: they came
 * after the items were read.
 *
 * @returns The number of users written. Throws StageError `user_hash_collision`.
 */
export async function spoolUsers(staging: Staging, rows: StagedTable, options: SpoolOptions): Promise<number> {
  const { erased, progress } = options;
  const erasedHash = rows.columns.length > 5 ? "c5" : "NULL::VARCHAR";
  const sql = (slice: string) => `SELECT c0, CAST(items.rowid AS INTEGER) AS item, CAST(c2 AS UINTEGER) AS seconds,
      CAST(c3 AS UTINYINT) AS positive, ${erasedHash}
    FROM ${rows.name} JOIN items ON items.text = CAST(c1 AS VARCHAR) WHERE ${slice} ORDER BY c0, seconds, c4, item`;
  const spool = await createSpool(options.path);
  try {
    const users = userCollector(spool, new Set(erased ? hashesOf(erased) : []));
    const { count } = await readRow(staging, `SELECT count(*) AS count FROM ${rows.name}`);
    let before = 0;
    for (const slice of slicesByHash(Number(count), staging.memoryMb)) {
      let sorted = 0;
      for await (const chunk of streamStaged(staging, sql(slice), (more) => progress(before + more))) {
        await users.add(chunk);
        sorted += chunk.rowCount;
      }
      before += sorted;
    }
    await users.end();
    return await spool.end();
  } finally {
    await spool.close();
  }
}

/** Takes rows sorted by user and second. Columns: hash, item, second, positive, hash to recognise erased users by. */
function userCollector(spool: SpoolWriter, erased: ReadonlySet<string>) {
  let name = "";
  let isErased = false;
  let items: number[] = [];
  let times: number[] = [];
  let seen = new Set<number>();

  const finish = async () => {
    if (name === "" || isErased) return;
    await spool.add(hashOfHex(name), {
      items: items.slice(-RECORD_HISTORY_MAX),
      times: times.slice(-RECORD_HISTORY_MAX),
      seen: Uint32Array.from(seen).sort(),
    });
  };
  const begin = (next: string, erasedHash: string | null) => {
    name = next;
    isErased = erasedHash !== null && erased.has(erasedHash);
    items = [];
    times = [];
    seen = new Set();
  };
  return {
    async add(chunk: DuckDBDataChunk): Promise<void> {
      const [names, itemOf, seconds, labels, erasedHashes] = [0, 1, 2, 3, 4].map((i) => chunk.getColumnVector(i));
      for (let i = 0; i < chunk.rowCount; i++) {
        const user = names!.getItem(i) as string;
        if (user !== name) {
          await finish();
          begin(user, erasedHashes!.getItem(i) as string | null);
        }
        const item = itemOf!.getItem(i) as number;
        seen.add(item);
        if (labels!.getItem(i) !== 1) continue;
        items.push(item);
        times.push(seconds!.getItem(i) as number);
      }
    },
    end: finish,
  };
}

/** The users of a spool, with the item indices of a catalog that has all its items. */
export function spooledHistories(spool: UserSpool, itemIds: PackedStrings): UserHistories {
  const itemCount = itemIds.start.length - 1;
  const { userCount, salt } = spool;
  return {
    userCount,
    itemCount,
    salt,
    async *batches() {
      const newIndex = indexIn(itemIds, spool.itemIds);
      const renumbered = (items: ArrayLike<number>) => Uint32Array.from(items, (item) => newIndex[item]!);
      for await (const batch of readSpool(spool.path))
        yield batch.map(({ hash, content: { items, times, seen } }) => ({
          hash,
          content: { items: renumbered(items), times, seen: renumbered(seen).sort() },
        }));
    },
  };
}

/** The catalog index of each id. */
function indexIn(catalog: PackedStrings, ids: PackedStrings): Uint32Array {
  const count = ids.start.length - 1;
  const positions = new Map<string, number>();
  for (let item = 0; item < catalog.start.length - 1; item++) positions.set(stringAt(catalog, item), item);
  return Uint32Array.from({ length: count }, (_, i) => {
    const position = positions.get(stringAt(ids, i));
    if (position === undefined) throw new Error(`The catalog lacks ${JSON.stringify(stringAt(ids, i))}.`);
    return position;
  });
}
