import { type AttributeTable, decodeAttributes } from "./attributes.ts";
import { type Catalog, decodeCatalog } from "./catalog.ts";
import { compileFilter } from "./filter/compile-filter.ts";
import type { KnownNames } from "./snapshot.ts";

/** The names of columns of items with a meaning. */
export type ItemColumns = {
  /** The item id column, which filters can use like an attribute. */
  readonly itemIdColumn: string;
  /** The attribute that orders the newest items. */
  readonly itemCreatedAt?: string | undefined;
};

/** The files of a version that describe its items. */
export type ItemFiles = ItemColumns & {
  readonly catalog: Uint8Array;
  /** Null if the version has no item attributes. */
  readonly attributes: Uint8Array | null;
};

/** What these files say about the items. A scenario can be checked against it. Throws FormatError. */
export function knownNames(files: ItemFiles): KnownNames {
  const { itemIdColumn, itemCreatedAt } = files;
  const catalog: Catalog = decodeCatalog(files.catalog);
  const table: AttributeTable | null = files.attributes && decodeAttributes(files.attributes);
  const source = { table, catalog, itemIdColumn };
  return {
    version: "",
    itemCount: catalog.itemCount,
    itemCreatedAt,
    attributes: table,
    indexOf: catalog.indexOf,
    idAt: catalog.idAt,
    compileFilter: (filter, timeFraction) => compileFilter(filter, source, timeFraction),
  };
}
