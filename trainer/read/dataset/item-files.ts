import { encodeAttributes } from "../../../shared/attributes.ts";
import { encodeCatalog } from "../../../shared/catalog.ts";
import type { ItemColumns, ItemFiles } from "../../../shared/known-names.ts";
import type { Dataset } from "./dataset.ts";

type Items = Pick<Dataset, "itemIds" | "itemIdType" | "itemAttributes" | "itemCount">;

/** The files of a version that describe the dataset's items, in the dataset's order. */
export const itemFiles = (items: Items, { itemIdColumn, itemCreatedAt }: ItemColumns): ItemFiles => ({
  catalog: encodeCatalog(items),
  attributes: items.itemAttributes.length > 0 ? encodeAttributes(items.itemAttributes, items.itemCount) : null,
  itemIdColumn,
  ...(itemCreatedAt !== undefined && { itemCreatedAt }),
});
