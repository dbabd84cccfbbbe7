/**
 * The process that `records.ts` measures: converts rows to page files. Arguments: work folder, number of users, MB of
 * memory for the staging database.
 */
import { hash as digestOf } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ItemIndex } from "../../shared/ids.ts";
import { type PackedStrings, stringAt } from "../../shared/packed-strings.ts";
import type { UserRecord } from "../../shared/snapshot.ts";
import { decodeUserDirectory } from "../../shared/user-records.ts";
import { watchPeakMemory } from "../../trainer/choose/files/peak-memory.ts";
import { packUserRecords } from "../../trainer/publish/write-user-records.ts";
import { readIds } from "../../trainer/read/dataset/number-ids.ts";
import { openStaging, runStaged, type StagedTable, type Staging } from "../../trainer/read/dataset/staging.ts";
import { hashOrder } from "../../trainer/read/spool/hash-order.ts";
import { spooledHistories, spoolUsers, type UserSpool } from "../../trainer/read/spool/spool-users.ts";
import { decodeUserRecords } from "../fixtures/user-page.ts";
import type { RecordsMeasured } from "./records.ts";

const [folder, usersText, memoryText] = process.argv.slice(2) as [string, string, string];
const users = Number(usersText);
const ITEMS = 1_000_000;
const HEAVY_USERS = 20;
const HEAVY_ROWS = 50_000;
const ROWS = 2;
const salt = new Uint8Array(16).fill(7);
const { signal } = new AbortController();
const say = (said: string) => process.send?.({ said });
const seconds = () => performance.now() / 1000;

const rowsOf = (user: number) => (user < HEAVY_USERS ? HEAVY_ROWS : ROWS);
/** The SQL below computes the same. Steps are coprime with the number of items, so no item repeats. */
const itemAt = (user: number, row: number) => (user * 7919 + row * 15_485_863) % ITEMS;

async function stage(staging: Staging): Promise<StagedTable> {
  await runStaged(
    staging,
    `CREATE TABLE items AS SELECT CAST(i AS VARCHAR) AS text FROM range(${ITEMS}) t(i) ORDER BY text`,
  );
  const hash = `substr(sha256(from_hex('${Buffer.from(salt).toString("hex")}') || encode('user-' || u)), 1, 24)`;
  const count = `CASE WHEN u < ${HEAVY_USERS} THEN ${HEAVY_ROWS} ELSE ${ROWS} END`;
  const rows = `SELECT u, unnest(range(${count})) AS r FROM range(${users}) t(u)`;
  await runStaged(
    staging,
    `CREATE TABLE record_rows AS SELECT ${hash} AS c0, CAST((u * 7919 + r * 15485863) % ${ITEMS} AS VARCHAR) AS c1,
      CAST(1700000000 + u % 86400 + r AS BIGINT) AS c2, CASE WHEN (u + r) % 5 = 0 THEN 0 ELSE 1 END AS c3,
      substr(md5(CAST(u AS VARCHAR) || r), 1, 8) AS c4
     FROM (${rows})`,
  );
  const columns = ["c0", "c1", "c2", "c3", "c4"].map((sql) => ({ sql, name: sql, type: undefined as never }));
  return { name: "record_rows", rows: 0, columns };
}

async function spool(): Promise<UserSpool & { readonly seconds: number }> {
  const staging = await openStaging({ workDirectory: folder, memoryMb: Number(memoryText), signal });
  try {
    const table = await stage(staging);
    say("rows are staged");
    peak = watchPeakMemory();
    const itemIds = await readIds(staging, "items");
    const begin = seconds();
    const path = join(folder, "users.spool");
    const userCount = await spoolUsers(staging, table, { path, erased: undefined, progress: () => undefined });
    return { path, salt, userCount, itemIds, seconds: seconds() - begin };
  } finally {
    await staging.close();
  }
}

async function pack(spooled: UserSpool) {
  const paths: string[] = [];
  let bytes = 0;
  const storePages = async (file: Uint8Array) => {
    bytes += file.length;
    paths.push(join(folder, `pages-${paths.length}.bin`));
    await writeFile(paths.at(-1)!, file);
  };
  const packed = await packUserRecords(spooledHistories(spooled, spooled.itemIds), { signal, storePages });
  const directory = decodeUserDirectory(packed.directory);
  return { paths, directory, bytes: bytes + packed.directory.length };
}

/** Hash of each user, and the users sorted by hash. */
function usersByHash() {
  const high = new Uint32Array(users);
  const low = new Uint32Array(users);
  for (let user = 0; user < users; user++) {
    const digest = digestOf("sha256", Buffer.concat([salt, Buffer.from(`user-${user}`)]), "buffer");
    high[user] = digest.readUInt32BE(0);
    low[user] = digest.readUInt32BE(4);
  }
  return { high, low, order: hashOrder(high, low) };
}

/** Checks every record for all items that its user has seen and one that the user has not. */
async function checkAll({ paths, directory }: Awaited<ReturnType<typeof pack>>, itemIds: PackedStrings) {
  const indexOf = new Int32Array(ITEMS);
  for (let item = 0; item < ITEMS; item++) indexOf[Number(stringAt(itemIds, item))] = item;
  const { high, low, order } = usersByHash();
  const found = { pairs: 0, missed: 0, asked: 0, hidden: 0, pageBytesMax: 0 };
  const check = (user: number, record: UserRecord) => {
    const rows = rowsOf(user);
    for (let row = 0; row < rows; row++) if (!record.hasSeen(indexOf[itemAt(user, row)]! as ItemIndex)) found.missed++;
    found.pairs += rows;
    found.asked++;
    if (record.hasSeen(indexOf[itemAt(user, rows + (user % 1000))]! as ItemIndex)) found.hidden++;
  };
  let file = { at: -1, bytes: new Uint8Array() };
  for (let k = 0; k < users; ) {
    const first = order[k]!;
    const place = directory.find({ high: high[first]!, low: low[first]! })!;
    if (place.file !== file.at) file = { at: place.file, bytes: await readFile(paths[place.file]!) };
    found.pageBytesMax = Math.max(found.pageBytesMax, place.length);
    for (const { hash, record } of decodeUserRecords(
      file.bytes.subarray(place.offset, place.offset + place.length),
      ITEMS,
    )) {
      const user = order[k++]!;
      if (hash.high !== high[user] || hash.low !== low[user]) throw new Error(`The record of user ${user} is missing.`);
      check(user, record);
    }
  }
  return found;
}

let peak = watchPeakMemory();
const spooled = await spool();
say(`${spooled.userCount} users are sorted and spooled in ${spooled.seconds.toFixed(1)} s, ${Math.round(peak())} MB`);
const packBegin = seconds();
const packed = await pack(spooled);
const packSeconds = seconds() - packBegin;
const peakMb = peak();
say(`packed in ${packSeconds.toFixed(1)} s, ${Math.round(peakMb)} MB`);
const { missed, asked, hidden, pairs, pageBytesMax } = await checkAll(packed, spooled.itemIds);
const measured: RecordsMeasured = {
  users: spooled.userCount,
  pairs,
  sortSeconds: spooled.seconds,
  packSeconds,
  peakMb,
  bytes: packed.bytes,
  pageBytesMax,
  missed,
  asked,
  hidden,
};
process.send?.({ measured }, () => process.disconnect());
