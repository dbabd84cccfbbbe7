import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { erasedUsersOf, erasureHash } from "../../../../shared/erased-users.ts";
import { userHash } from "../../../../shared/hash.ts";
import type { UserId } from "../../../../shared/ids.ts";
import { compareHashes } from "../../../../shared/user-records.ts";
import { readSpool } from "../../../../trainer/read/spool/user-spool.ts";
import { readRows, specOf } from "../../../fixtures/rows-spec.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "spool-values-"));
});
afterAll(() => rm(folder, { recursive: true }));

const salt = Uint8Array.from({ length: 16 }, (_, i) => 200 + i);
const interactions = "SELECT i % 100 AS u, i % 7 AS i, 1700000000 + i AS t, 1 AS l FROM range(500) r(i)";
/** Users 0 to 149. Users from 100 on have no interactions. */
const users = `SELECT i AS u, CASE WHEN i % 2 = 0 THEN 'Bonn' WHEN i < 140 THEN 'Ulm' END AS city, i AS age,
  i % 3 = 0 AS member, CASE WHEN i % 5 = 0 THEN ['a', 'b'] ELSE ['a'] END AS tags, 'rare ' || i AS note
  FROM range(150) r(i) UNION ALL SELECT 500, 'Kiel', NULL, NULL, NULL, 'nothing that others share'`;

async function spooled(erased: readonly string[] = []) {
  const path = join(folder, "values.spool");
  const list = erasedUsersOf(
    "ab".repeat(16),
    await Promise.all(erased.map((id) => erasureHash("ab".repeat(16), id as UserId))),
  );
  const { userValues, dataset } = await readRows(specOf({ interactions, users }), {
    userValues: { path, salt },
    erased: list,
  });
  const all = (await Array.fromAsync(readSpool(path))).flat();
  expect(userValues).toMatchObject({ path, userCount: all.length });
  const { columns } = userValues!.table;
  const textOf = new Map(
    columns.flatMap(({ name, codes }) => [...codes].map(([text, code]) => [code, `${name} ${text}`])),
  );
  const valuesOf = async (id: string) => {
    const hash = await userHash(salt, id as UserId);
    const values = all.find((one) => compareHashes(one.hash, hash) === 0)?.content.values;
    return values && Array.from(values, (code) => textOf.get(code)!).sort();
  };
  return { all, dataset, valuesOf, columns };
}

test("all users of the user query have their frequent values, sorted by hash", async () => {
  const { all, dataset, valuesOf, columns } = await spooled();
  expect(dataset.userCount).toBe(100);
  expect(columns.map(({ name }) => name)).toEqual(["city", "member", "tags"]);
  expect(all).toHaveLength(150);
  expect(all.every(({ hash }, i) => i === 0 || compareHashes(all[i - 1]!.hash, hash) < 0)).toBe(true);
  expect(await valuesOf("0")).toEqual(["city Bonn", "member 1", "tags a", "tags b"]);
  expect(await valuesOf("103")).toEqual(["city Ulm", "member 0", "tags a"]);
  expect(await valuesOf("149")).toEqual(["member 0", "tags a"]);
  expect([await valuesOf("150"), await valuesOf("500")]).toEqual([undefined, undefined]);
});

test("an erased user is left out", async () => {
  const { all, valuesOf } = await spooled(["0", "103"]);
  expect(all).toHaveLength(148);
  expect([await valuesOf("0"), await valuesOf("103")]).toEqual([undefined, undefined]);
});

test("without a path, a user query or a frequent value there is no spool", async () => {
  const place = { path: join(folder, "none.spool"), salt };
  const read = async (spec: Parameters<typeof specOf>[0], more: object) =>
    (await readRows(specOf(spec), more)).userValues;
  expect(await read({ interactions, users }, {})).toBeNull();
  expect(await read({ interactions }, { userValues: place })).toBeNull();
  expect(
    await read({ interactions, users: "SELECT i AS u, 'x' || i AS id FROM range(9) r(i)" }, { userValues: place }),
  ).toBeNull();
});
