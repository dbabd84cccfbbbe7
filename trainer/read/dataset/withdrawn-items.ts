import type { ModelSchema } from "../../../shared/model-spec.ts";
import { idsOf, type StagedAttributes } from "./read-attributes.ts";
import { readRow, type Staging, streamStaged } from "./staging.ts";

/**
 * The items of interactions that the source of items lacks. They teach the model and are in no list. If the source has none of the items,
 * its id column is a wrong one, which has a warning of its own, and no item is withdrawn. Undefined without a source of items.
 *
 * @returns `chosen`: the number of items of the source of items that interactions have too. `flags`: 1 for each withdrawn item, by its
 * index in the table `items`; undefined if there are none.
 */
export async function withdrawnItems(
  staging: Staging,
  items: StagedAttributes | undefined,
  { only_catalog_items: isWanted = true }: ModelSchema["item"],
): Promise<{ chosen: number; withdrawn?: { flags: Uint8Array; warning: string } } | undefined> {
  if (items === undefined) return undefined;
  const compared = `(SELECT CAST(items.rowid AS INTEGER) AS item, known.text IS NOT NULL AS is_known,
    items.text IN (SELECT text FROM item_texts) AS is_chosen FROM items LEFT JOIN ${idsOf(items)} AS known USING (text))`;
  const counts = await readRow(
    staging,
    `SELECT count(*) AS items, count(*) FILTER (WHERE NOT is_known) AS withdrawn,
     count(*) FILTER (WHERE is_known AND is_chosen) AS chosen FROM ${compared}`,
  );
  const [count, withdrawn, chosen] = [Number(counts.items), Number(counts.withdrawn), Number(counts.chosen)];
  if (withdrawn === 0 || chosen === 0 || !isWanted) return { chosen };
  const flags = new Uint8Array(count);
  const rows = streamStaged(staging, `SELECT item FROM ${compared} WHERE NOT is_known`);
  for await (const chunk of rows) for (const item of chunk.getColumnValues(0)) flags[item as number] = 1;
  const warning =
    `${withdrawn} of ${count} items are in no list, since the source of items lacks them; their interactions still teach the model. ` +
    '"only_catalog_items": false in schema.item keeps them in lists';
  return { chosen, withdrawn: { flags, warning } };
}
