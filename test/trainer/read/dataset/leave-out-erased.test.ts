import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ErasedUsers, erasedUsersOf, erasureHash } from "../../../../shared/erased-users.ts";
import type { UserId } from "../../../../shared/ids.ts";
import { leaveOutErased } from "../../../../trainer/read/dataset/leave-out-erased.ts";
import { readStaged } from "../../../../trainer/read/dataset/staging.ts";
import { readRows, rowsOf, specOf } from "../../../fixtures/rows-spec.ts";
import { openStagedRows, type StagedRows } from "../../../fixtures/rows-staged.ts";

const SALT = "00112233445566778899aabbccddeeff";
const listOf = async (...ids: string[]): Promise<ErasedUsers> =>
  erasedUsersOf(SALT, await Promise.all(ids.map((id) => erasureHash(SALT, id as UserId))));

const reading = { which: "user", keepsNullWords: false, trims: false } as const;
let rows: StagedRows;
let tables = 0;
beforeAll(async () => {
  rows = await openStagedRows();
});
afterAll(() => rows.close());

/** The ids of the remaining rows, as text. */
async function left(sql: string, erased: ErasedUsers | undefined): Promise<{ ids: unknown[]; rows: number }> {
  const staged = await rows.stage(`t${++tables}`, sql);
  const { table, rows: gone } = await leaveOutErased(rows.staging, staged, erased, reading);
  const found = await readStaged(rows.staging, `SELECT CAST(c0 AS VARCHAR) AS id FROM ${table.name}`);
  expect(table.rows).toBe(found.length);
  return { ids: found.map(({ id }) => id), rows: gone };
}

test.each([
  ["text", "VALUES ('7'), ('8'), ('7'), (NULL), ('')", ["8", null, ""]],
  ["integers", "VALUES (7), (8), (7), (NULL)", ["8", null]],
  ["big integers", "VALUES (7::HUGEINT), (8), (7), (NULL)", ["8", null]],
  ["doubles", "VALUES (7::DOUBLE), (8), (7.0), (7.5), (NULL)", ["8.0", "7.5", null]],
  ["decimals", "VALUES (7.00::DECIMAL(9, 2)), (8), (7), (7.5)", ["8.00", "7.50"]],
])("ids are compared as callers send them, for a column of %s", async (_, sql, ids) => {
  const before = await left(sql, undefined);
  const after = await left(sql, await listOf("7"));
  expect(after.ids).toEqual(ids);
  expect([before.rows, after.rows]).toEqual([0, before.ids.length - ids.length]);
});

test("ids of any characters are deleted, and similar ids stay", async () => {
  const sql = "VALUES ('Zoë'), ('zoë'), ('😀'), ('a''b'), (' 7'), ('7 ')";
  expect((await left(sql, await listOf("Zoë", "😀", "a'b", " 7"))).ids).toEqual(["zoë", "7 "]);
});

test("erased users without rows change nothing", async () =>
  expect(await left("VALUES ('a'), ('b')", await listOf("c"))).toEqual({ ids: ["a", "b"], rows: 0 }));

describe("a dataset", () => {
  const interactions = `SELECT 'u' || (range % 4) AS u, 'i' || range AS i, 1700000000 + range AS t, 1 AS l FROM range(40)`;
  const users = `SELECT 'u' || range AS u, 'only ' || range AS note FROM range(4)`;

  test("has neither the rows nor the attributes of an erased user, and its summary counts the rows", async () => {
    const { dataset, summary } = await readRows(specOf({ interactions, users }), { erased: await listOf("u2") });
    expect(dataset.userCount).toBe(3);
    expect(rowsOf(dataset).filter((row) => row.startsWith("u2 "))).toEqual([]);
    expect(summary).toMatchObject({ interactions: 30, users: 3, erased_rows: 10 });
    expect(JSON.stringify(dataset.userAttributes)).not.toContain("only 2");
  });

  test("equals the dataset of a source without the erased rows", async () => {
    const without = await readRows(specOf({ interactions: `SELECT * FROM (${interactions}) WHERE u <> 'u2'` }));
    const erased = await readRows(specOf({ interactions }), { erased: await listOf("u2") });
    expect(erased.dataset).toEqual(without.dataset);
  });

  test("has no count of erased rows when nobody was erased", async () => {
    const { summary } = await readRows(specOf({ interactions }));
    expect("erased_rows" in summary).toBe(false);
  });
});
