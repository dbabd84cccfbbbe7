import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { erasedUsersOf } from "../../../../shared/erased-users.ts";
import { packStrings } from "../../../../shared/packed-strings.ts";
import { RECORD_HISTORY_MAX } from "../../../../shared/user-records.ts";
import { spooledHistories, spoolUsers } from "../../../../trainer/read/spool/spool-users.ts";
import { openStagedRows, type StagedRows } from "../../../fixtures/rows-staged.ts";

let staged: StagedRows;
let folder: string;
let tables = 0;
const salt = new Uint8Array(16);
const itemIds = packStrings(["a", "b", "c"]);
const A = "0000000100000002aaaaaaaa";
const B = "00000001fffffff0bbbbbbbb";
const C = "fffffffe00000000cccccccc";

beforeAll(async () => {
  staged = await openStagedRows();
  folder = await mkdtemp(join(tmpdir(), "spool-users-"));
  await staged.staging.connection.run("CREATE TABLE items AS SELECT * FROM (VALUES ('a'), ('b'), ('c')) v(text)");
});
afterAll(async () => {
  await staged.close();
  await rm(folder, { recursive: true });
});

const spool = (rows: string, erased?: ReturnType<typeof erasedUsersOf>) =>
  spoolOf(`SELECT * FROM (VALUES ${rows})`, erased);

async function spoolOf(sql: string, erased?: ReturnType<typeof erasedUsersOf>, memoryMb = staged.staging.memoryMb) {
  const table = await staged.stage(`records_${tables++}`, sql);
  const path = join(folder, "users.bin");
  const userCount = await spoolUsers({ ...staged.staging, memoryMb }, table, {
    path,
    erased,
    progress: () => undefined,
  });
  return { path, salt, userCount, itemIds };
}

async function read(spooled: Awaited<ReturnType<typeof spool>>, catalog = itemIds) {
  const histories = spooledHistories(spooled, catalog);
  const users = (await Array.fromAsync(histories.batches())).flat();
  return users.map(({ hash, content }) => [
    hash.high,
    hash.low,
    [...(content.items as Uint32Array)],
    [...(content.times as number[])],
    [...(content.seen as Uint32Array)],
  ]);
}

const ROWS = `('${C}', 'a', 5, 1, '0'), ('${A}', 'c', 9, 1, '1'), ('${B}', 'b', 7, 0, '0'), ('${A}', 'a', 9, 1, '2'),
  ('${A}', 'c', 3, 1, '3'), ('${A}', 'b', 4, 0, '0')`;

test.each([0.02, 0.003, 0])(
  "with %d MB, slices of the users are sorted one after the other, with the same result",
  async (mb) => {
    const sql =
      "SELECT substr(md5(CAST(i % 997 AS VARCHAR)), 1, 24), chr(97 + CAST(i % 3 AS INTEGER)), i, 1, '0' FROM range(3000) t(i)";
    const whole = await read(await spoolOf(sql));
    expect(whole.length).toBe(997);
    expect(await read(await spoolOf(sql, undefined, mb))).toEqual(whole);
  },
);

test("rows in any order become users by hash, with sorted histories and seen items", async () => {
  const spooled = await spool(ROWS);
  expect(spooled.userCount).toBe(3);
  expect(await read(spooled)).toEqual([
    [1, 2, [2, 2, 0], [3, 9, 9], [0, 1, 2]],
    [1, 0xfffffff0, [], [], [1]],
    [0xfffffffe, 0, [0], [5], [0]],
  ]);
});

test("items get the indices of the version's catalog", async () => {
  const spooled = await spool(ROWS);
  const [first] = await read(spooled, packStrings(["new", "c", "b", "a"]));
  expect(first).toEqual([1, 2, [1, 1, 3], [3, 9, 9], [1, 2, 3]]);
  await expect(read(spooled, packStrings(["a", "b"]))).rejects.toThrow('lacks "c"');
});

test("a user with more rows than a record holds keeps the newest, and every seen item", async () => {
  const count = 3 * RECORD_HISTORY_MAX + 7;
  const spooled = await spoolOf(
    `SELECT '${A}', CASE WHEN i < 5 THEN 'c' WHEN i % 2 = 0 THEN 'a' ELSE 'b' END, i, 1, '0' FROM range(${count}) t(i)`,
  );
  const [[, , items, times, seen]] = (await read(spooled)) as [[number, number, number[], number[], number[]]];
  const newest = Array.from({ length: RECORD_HISTORY_MAX }, (_, i) => count - RECORD_HISTORY_MAX + i);
  expect(times).toEqual(newest);
  expect(items).toEqual(newest.map((i) => i % 2));
  expect(seen).toEqual([0, 1, 2]);
});

test("rows of unknown items and erased users are left out", async () => {
  const rows = `('${A}', 'a', 5, 1, '0', '00000000000000ff'), ('${B}', 'b', 5, 1, '0', '0000000000000001'), ('${B}', 'new', 6, 1, '0', '0000000000000001')`;
  const spooled = await spool(rows, erasedUsersOf("ab", ["00000000000000ff"]));
  expect(spooled.userCount).toBe(1);
  expect(await read(spooled)).toEqual([[1, 0xfffffff0, [1], [5], [1]]]);
});

test("two users with the same hash end the run", async () => {
  const twin = `${A.slice(0, 16)}00000000`;
  await expect(spool(`('${A}', 'a', 5, 1, '0'), ('${twin}', 'b', 5, 1, '0')`)).rejects.toMatchObject({
    code: "user_hash_collision",
    retryable: true,
  });
});
