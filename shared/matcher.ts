import type { AttributeTable } from "./attributes.ts";
import type { Catalog } from "./catalog.ts";
import type { ItemIndex } from "./ids.ts";
import type { RetrievalQuery } from "./retrieval.ts";

export type MatcherSource = {
  /** Null when the version has no item attributes. */
  readonly table: AttributeTable | null;
  readonly catalog: Catalog;
  readonly itemIdColumn: string;
};

/** Throws Problem unknown_attribute or filter_type_mismatch. */
export function matcherOf(_query: RetrievalQuery, _source: MatcherSource): (item: ItemIndex) => boolean {
  throw new Error("not built yet");
}
