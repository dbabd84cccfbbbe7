import { readIds } from "../dataset/number-ids.ts";
import { readStaged, runStaged, type Staging, stageRows, streamStaged } from "../dataset/staging.ts";
import type { ItemCounts } from "./complete-catalog.ts";
import { openRelation, type PushedSource } from "./read-relation.ts";
import { DISTINCT } from "./relation.ts";

/** Every item with its counts, as the table `items (text, interactions, positives)` sorted by text, and in memory. */
export async function stageCatalog(
  staging: Staging,
  source: PushedSource,
  progress: (rows: number) => void,
): Promise<ItemCounts> {
  const { signal } = source;
  const rows = await openRelation(source, { kind: "item_counts", of: DISTINCT });
  const table = await stageRows(staging, { name: "item_rows", source: rows }, { signal, progress });
  // Insertion order is kept, so rowid is the position in the order.
  await runStaged(
    staging,
    `CREATE TABLE items AS
     SELECT CAST(c0 AS VARCHAR) AS text, CAST(c1 AS DOUBLE) AS interactions, CAST(c2 AS DOUBLE) AS positives
     FROM ${table.name} ORDER BY text`,
    signal,
  );
  const itemIds = await readIds(staging, "items", signal);
  const [size] = await readStaged(staging, "SELECT count(*) AS count FROM items", signal);
  const interactions = new Float64Array(Number(size!.count));
  const positives = new Float64Array(interactions.length);
  let item = 0;
  const sql = "SELECT interactions, positives FROM items ORDER BY rowid";
  for await (const chunk of streamStaged(staging, sql, signal)) {
    const [counts, positiveCounts] = [chunk.getColumnVector(0), chunk.getColumnVector(1)];
    for (let i = 0; i < chunk.rowCount; i++, item++) {
      interactions[item] = counts.getItem(i) as number;
      positives[item] = positiveCounts.getItem(i) as number;
    }
  }
  return { itemIds, interactions, positives };
}
