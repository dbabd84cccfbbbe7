import { afterEach, beforeEach, expect, test } from "vitest";
import type { ModelSchema } from "../../../../shared/model-spec.ts";
import { checkInteractions, interactionColumns } from "../../../../trainer/read/dataset/check-interactions.ts";
import { readStaged } from "../../../../trainer/read/dataset/staging.ts";
import { specOf } from "../../../fixtures/rows-spec.ts";
import { openStagedRows, type StagedRows } from "../../../fixtures/rows-staged.ts";

let rows: StagedRows;
beforeEach(async () => {
  rows = await openStagedRows();
});
afterEach(() => rows.close());

const { schema } = specOf({ interactions: "" });

const check = async (sql: string, of: ModelSchema = schema) =>
  await checkInteractions(rows.staging, await rows.stage("rows", sql), of, 1_800_000_000);

test("the columns are user, item, time and label", () =>
  expect(interactionColumns(schema)).toEqual(["u", "i", "t", "l"]));

test("each reason has a count and its first five rows; a row counts for its first reason only", async () => {
  const { rejected, accepted } = await check(
    "SELECT CASE WHEN range % 2 = 0 THEN NULL ELSE range END, NULLIF(range, 3), 1, 1 FROM range(20)",
  );
  expect(rejected).toEqual({
    missing_user: { count: 10, firstRows: [1, 3, 5, 7, 9] },
    missing_item: { count: 1, firstRows: [4] },
  });
  expect(accepted).toBe(9);
});

test("the accepted rows are those without a reason", async () => {
  for (const missing of ["99", "3"]) {
    const { acceptedSql, accepted } = await check(
      `SELECT NULLIF(range, ${missing}), 'i', 10 + range, true FROM range(5)`,
    );
    const kept = await readStaged(
      rows.staging,
      `SELECT user_id, item_id, seconds, positive FROM ${acceptedSql} ORDER BY row`,
    );
    expect(kept.length).toBe(accepted);
    const users = [0, 1, 2, 3, 4].filter((user) => String(user) !== missing);
    expect(kept.map((row) => [Number(row.user_id), row.item_id, Number(row.seconds), row.positive])).toEqual(
      users.map((user) => [user, "i", 10 + user, 1]),
    );
    await readStaged(rows.staging, "DROP TABLE rows");
  }
});

test("item ids in doubles are integers if every accepted value is whole", async () => {
  const sql = (bad: string) =>
    `SELECT CASE WHEN range = 1 THEN NULL ELSE 1 END, CASE WHEN range = ${bad} THEN 1.5::DOUBLE ELSE range END, 1, 1 FROM range(4)`;
  expect((await check(sql("1"))).itemIdType).toBe("integer"); // row 1 has no user
  await readStaged(rows.staging, "DROP TABLE rows");
  expect((await check(sql("2"))).itemIdType).toBe("string");
});

test.each([
  ["SELECT [1], 1, 1, 1", '"[1]" has the type INTEGER[], which cannot be a user id'],
  ["SELECT 1, {'a': 1}, 1, 1", "which cannot be an item id"],
  ["SELECT 1, 1, true, 1", "which cannot be a time"],
  ["SELECT 1, 1, 1, [1]", "which cannot be a label"],
])("%s: the column's type is refused", async (sql, message) => {
  const error = await check(sql).catch((caught) => caught);
  expect(error).toMatchObject({ stage: "checking", code: "unsupported_column_type" });
  expect(error.message).toContain(message.replace('"[1]" ', ""));
});
