/** Extends a version by the items that the customer has added since (shared/items/extension-file.ts). */
import { type AttributeTable, decodeAttributes } from "../../shared/attributes.ts";
import { decodeCatalog } from "../../shared/catalog.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import { type SourceItems, unchanged, withItemChanges } from "../../shared/items/changed-catalog.ts";
import { decodeItemChanges } from "../../shared/items/changes-file.ts";
import { encodeExtension, type FeatureRows } from "../../shared/items/extension-file.ts";
import { packStrings } from "../../shared/packed-strings.ts";
import { decodeSimilarity } from "../../shared/similarity.ts";
import { newItemWeights } from "../learn/attributes/new-item-weights.ts";
import { columnsOf } from "./table-columns.ts";

export type ExtensionInput = {
  /** The files of the version. */
  readonly catalog: Uint8Array;
  readonly attributes: Uint8Array;
  /** Absent in versions that were published without it. */
  readonly similarity: Uint8Array | undefined;
  /** The manifest's `changes_from`. */
  readonly changesFrom: number | undefined;
  /** The files of shared/items/changes-file.ts: the head, and the base if the head names one. */
  readonly head: Uint8Array;
  readonly base: Uint8Array | undefined;
  /** At most one of this many places of a list is for a new item. */
  readonly every: number;
};

/** The items whose features tell what users like: the most popular ones. More of them change the scores of new items little. */
const KNOWN_ITEMS_MAX = 20_000;

/** The file of the extension; undefined if there is no new item that the version can score. Throws FormatError. */
export async function extendVersion(input: ExtensionInput): Promise<Uint8Array | undefined> {
  const source = sourceOf(input);
  const { itemCount } = source.catalog;
  const files = [input.base, input.head].filter((file) => file !== undefined);
  const { catalog, attributes } = files.reduce(
    (before, file) => withItemChanges(source, before, decodeItemChanges(file)),
    unchanged(source),
  );
  const newCount = catalog.itemCount - itemCount;
  if (newCount === 0) return undefined;
  const knownCount = Math.min(KNOWN_ITEMS_MAX, chosenCount(input, itemCount));
  const columns = columnsOf(attributes!, [
    ...Array.from({ length: knownCount }, (_, item) => item as ItemIndex),
    ...Array.from({ length: newCount }, (_, at) => (itemCount + at) as ItemIndex),
  ]);
  const { known, weights, featureCount } = await newItemWeights(columns, { knownCount, newCount });
  const placed = Array.from({ length: newCount }, (_, at) => at).filter(
    (at) => weights.start[at + 1]! > weights.start[at]!,
  );
  if (placed.length === 0) return undefined;
  const ids = packStrings(placed.map((at) => catalog.idAt((itemCount + at) as ItemIndex)));
  return encodeExtension({ ids, weights: withoutEmpty(weights), known, featureCount, every: input.every });
}

function sourceOf({ catalog, attributes, changesFrom }: ExtensionInput): SourceItems & { attributes: AttributeTable } {
  return { catalog: decodeCatalog(catalog), attributes: decodeAttributes(attributes), changesFrom };
}

/** The number of items that users chose, which come first in the catalog. */
const chosenCount = ({ similarity }: ExtensionInput, itemCount: number): number =>
  similarity === undefined ? itemCount : decodeSimilarity(similarity).knownCount;

function withoutEmpty({ start, features, values }: FeatureRows): FeatureRows {
  return { start: start.filter((offset, row) => row === 0 || offset > start[row - 1]!), features, values };
}
