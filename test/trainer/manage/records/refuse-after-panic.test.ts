import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../../../trainer/manage/records/database.ts";
import { smallDisk } from "../../../fixtures/small-disk.ts";
import { putDatabase } from "../../../fixtures/trainer-state.ts";

const full = smallDisk("80m");

test.skipIf(full === undefined)("a disk without room for the log ends the database, and not this process", async () => {
  await putDatabase(full!);
  const database = await openDatabase(null, full!);
  const { bavail, bsize } = statfsSync(full!);
  writeFileSync(join(full!, "filler"), new Uint8Array(bavail * bsize - 2 ** 20));
  // A megabyte of log each; the file of 16 is filled soon.
  const logged = "select pg_logical_emit_message(false, 'x', repeat('x', 1000000))";
  const logging = async () => {
    for (let i = 0; i < 40; i++) await database.query(logged);
  };
  await expect(logging()).rejects.toThrow(/has given up: .*No space left on device/);
  await expect(database.query("select 1")).rejects.toThrow("has given up");
  await expect(database.transaction((queries) => queries.query("select 1"))).rejects.toThrow("has given up");
  await expect(database.failed).rejects.toThrow("has given up");
  await database.close().catch(() => undefined);
  rmSync(join(full!, "filler"));
  const again = await openDatabase(null, full!);
  expect(await again.query("select max(step) > 0 as is_there from shortlist.migrations")).toEqual([{ is_there: true }]);
  await again.close();
});
