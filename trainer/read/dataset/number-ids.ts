import type { DuckDBBlobValue } from "@duckdb/node-api";
import type { PackedStrings } from "../../../shared/packed-strings.ts";
import type { StagedInteractions } from "./check-interactions.ts";
import { readRow, runStaged, type Staging, streamStaged } from "./staging.ts";

/**
 * Numbers the users and items in the order of their ids. Makes the tables `users (key, text)` and `items (text)`, whose
 * rowid is the index, and `item_keys (key, item, text)` to find the index of an interaction's item.
 *
 * @param moreItems SQL of ids of items that need not have interactions, column `text`.
 */
export async function numberIds(
  staging: Staging,
  { acceptedSql, userKey, itemKey }: StagedInteractions,
  moreItems: string | null,
): Promise<void> {
  const distinct = (column: string) => `(SELECT DISTINCT ${column} AS key FROM ${acceptedSql})`;
  const run = (sql: string) => runStaged(staging, sql);
  // DuckDB keeps the insertion order, so rowid is the position in the order.
  await run(
    `CREATE TABLE users AS SELECT key, ${userKey.text("key")} AS text FROM ${distinct("user_id")} ORDER BY text`,
  );
  await run(`CREATE TABLE item_texts AS SELECT key, ${itemKey.text("key")} AS text FROM ${distinct("item_id")}`);
  const more = moreItems === null ? "" : `UNION SELECT text FROM ${moreItems}`;
  await run(`CREATE TABLE items AS SELECT text FROM (SELECT text FROM item_texts ${more}) ORDER BY text`);
  await run(`CREATE TABLE item_keys AS
    SELECT item_texts.key AS key, CAST(items.rowid AS INTEGER) AS item, text FROM item_texts JOIN items USING (text)`);
}

/** The ids of `users` or `items`, by index. */
export async function readIds(staging: Staging, table: "users" | "items"): Promise<PackedStrings> {
  const size = await readRow(
    staging,
    `SELECT count(*) AS count, coalesce(sum(strlen(text)), 0) AS bytes FROM ${table}`,
  );
  const bytes = new Uint8Array(Number(size.bytes));
  const start = new Uint32Array(Number(size.count) + 1);
  let index = 0;
  let end = 0;
  // Read as bytes: DuckDB's client drops a U+FEFF from the beginning of a text, which would merge two ids.
  for await (const chunk of streamStaged(staging, `SELECT encode(text) FROM ${table} ORDER BY rowid`)) {
    const texts = chunk.getColumnVector(0);
    for (let i = 0; i < chunk.rowCount; i++) {
      const text = (texts.getItem(i) as DuckDBBlobValue).bytes;
      bytes.set(text, end);
      end += text.length;
      start[++index] = end;
    }
  }
  return { bytes, start };
}
