import { type AttributeTable, decodeAttributes } from "./attributes.ts";
import { type Catalog, decodeCatalog } from "./catalog.ts";
import { compileFilter } from "./filter/compile-filter.ts";
import type { KnownNames } from "./snapshot.ts";

/** The files of a version that describe its items. */
export type ItemFiles = {
  readonly catalog: Uint8Array;
  /** Null if the version has no item attributes. */
  readonly attributes: Uint8Array | null;
  /** Name of the item id column, which filters can use like an attribute. */
  readonly itemIdColumn: string;
};

/** What these files say about the items. A scenario can be checked against it. Throws FormatError. */
export function knownNames({ catalog: catalogBytes, attributes: attributeBytes, itemIdColumn }: ItemFiles): KnownNames {
  const catalog: Catalog = decodeCatalog(catalogBytes);
  const table: AttributeTable | null = attributeBytes && decodeAttributes(attributeBytes);
  const source = { table, catalog, itemIdColumn };
  return {
    version: "",
    itemCount: catalog.itemCount,
    attributes: table,
    indexOf: catalog.indexOf,
    idAt: catalog.idAt,
    compileFilter: (filter, timeFraction) => compileFilter(filter, source, timeFraction),
  };
}
