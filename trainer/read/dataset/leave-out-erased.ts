import { type ErasedUsers, hashesOf } from "../../../shared/erased-users.ts";
import type { IdReading } from "../rules/dialect.ts";
import { idExpression } from "../rules/id-expression.ts";
import { readRow, runStaged, type StagedTable, type Staging, stageTexts } from "./staging.ts";

export type LeftOut = {
  /** The table without the rows of erased users. */
  readonly table: StagedTable;
  /** The number of rows that were deleted. */
  readonly rows: number;
};

/**
 * Deletes the rows of erased users from a staged table whose first column is the user id. Erased users are known by
 * their salted hashes, so DuckDB hashes each user once.
 */
export async function leaveOutErased(
  staging: Staging,
  table: StagedTable,
  erased: ErasedUsers | undefined,
  reading: IdReading,
): Promise<LeftOut> {
  const [userColumn] = table.columns;
  const id = userColumn && idExpression(userColumn.sql, userColumn.type, reading);
  if (erased === undefined || erased.high.length === 0 || id === undefined) return { table, rows: 0 };
  await stageTexts(staging, { name: "erased_hashes", column: "hash" }, hashesOf(erased));
  const users = `(SELECT DISTINCT ${id.key} AS key FROM ${table.name} WHERE ${userColumn!.sql} IS NOT NULL)`;
  const hash = `substr(sha256('${erased.salt}' || ${id.text("key")}), 1, 16)`;
  const keys = `(SELECT key FROM ${users} WHERE ${hash} IN (SELECT hash FROM erased_hashes))`;
  const count = `SELECT count(*) AS count FROM ${table.name}`;
  await runStaged(staging, `DELETE FROM ${table.name} WHERE ${id.key} IN ${keys}`);
  const left = await readRow(staging, count);
  await runStaged(staging, "DROP TABLE erased_hashes");
  const rows = table.rows - Number(left.count);
  return { table: { ...table, rows: table.rows - rows }, rows };
}
