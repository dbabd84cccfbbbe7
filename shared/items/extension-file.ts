/**
 * An extension of a version: how it scores items that the customer has added since. Nothing of the version changes.
 *
 * Idea. The version's scores for a history tell how much it likes each feature of an item, such as a category, a word or a range of
 * prices. A ridge on these features predicts the score of an item that the model does not know. With T the features of some of the
 * version's items and s their scores less the mean of the catalog, a new item with features t has the score
 *
 *     mean + w · (Tᵀ s),   w = (TᵀT + λI)⁻¹ t
 *
 * T and w depend on attributes alone, so the trainer computes them without the data of a training (trainer/publish/extend-version.ts). The
 * strongest entries of w are kept.
 *
 *     ids, ids_start                          the new items' ids, UTF-8
 *     weights_start                           u32 [items + 1]
 *     weights_features, weights               u16, f32: item i's entries of w are weights_start[i] … weights_start[i + 1] − 1
 *     known_start, known_features, known      T in the same form: the features of the first items of the catalog
 *
 * Example. One known item is a lamp (feature 0), and the new item "x" is one too: known_start 0 1, known_features 0, known 1, ids "x",
 * weights_start 0 1, weights_features 0, weights 0.09.
 */
import * as z from "zod";
import { FormatError } from "../assert.ts";
import { arrayOf, type Container, decodeContainer, encodeContainer } from "../container.ts";
import { Descriptor, prefixOf } from "../manifest.ts";
import { countOf, type PackedStrings } from "../packed-strings.ts";
import { openStrings } from "./changes-file.ts";
import { NEW_ITEMS_MAX } from "./extended-catalog.ts";

/** The extension that a live pointer names. It belongs to one version, and no other uses it. */
export const ExtensionOfVersion = z.object({ version: z.string().max(64), file: Descriptor });
export type ExtensionOfVersion = z.infer<typeof ExtensionOfVersion>;

export type VersionExtension = {
  readonly ids: PackedStrings;
  readonly weights: FeatureRows;
  /** Row i is the catalog's item i. */
  readonly known: FeatureRows;
  readonly featureCount: number;
  /** At most one of this many places of a list is for a new item. */
  readonly every: number;
};

/** Sparse rows of features. Row r is the positions start[r] … start[r + 1] − 1. */
export type FeatureRows = {
  readonly start: Uint32Array;
  readonly features: Uint16Array;
  readonly values: Float32Array;
};

/** Features of a new item that count. On MovieLens-100k and Amazon Beauty, 32 of up to 2,600 rank new items as well as all. */
export const FEATURES_KEPT = 32;
/** Limit on the entries of T. Every rank call reads them: 131,072 take about 0.1 ms. */
export const KNOWN_ENTRIES_MAX = 1 << 17;
export const EXTENSION_BYTES_MAX = 6 << 20;

export const extensionPrefix = (customer: string, model: string) => `${prefixOf(customer, model)}extensions/`;
export const extensionKey = (customer: string, model: string, { digest }: Descriptor) =>
  `${extensionPrefix(customer, model)}${digest.replace("sha256:", "")}.bin`;

const KIND = "version-extension";
const Metadata = z.object({ feature_count: z.int().min(0).max(65_535), every: z.int().min(1) });

export function encodeExtension({ ids, weights, known, featureCount, every }: VersionExtension): Uint8Array {
  return encodeContainer({
    kind: KIND,
    metadata: { feature_count: featureCount, every } satisfies z.infer<typeof Metadata>,
    arrays: {
      ids: ids.bytes,
      ids_start: ids.start,
      ...arraysOf("weights", weights),
      ...arraysOf("known", known),
    },
  });
}

const arraysOf = (name: string, { start, features, values }: FeatureRows) => ({
  [`${name}_start`]: start,
  [`${name}_features`]: features,
  [name]: values,
});

/** Throws FormatError. */
export function decodeExtension(bytes: Uint8Array): VersionExtension {
  const container = decodeContainer(bytes, KIND, Metadata);
  const { feature_count: featureCount, every } = container.metadata;
  const ids = openStrings(container, "ids");
  if (countOf(ids) > NEW_ITEMS_MAX) throw new FormatError(`${KIND}: more than ${NEW_ITEMS_MAX} items`);
  const weights = openRows(container, "weights", featureCount);
  const known = openRows(container, "known", featureCount);
  if (weights.start.length !== countOf(ids) + 1 || known.values.length > KNOWN_ENTRIES_MAX)
    throw new FormatError(`${KIND}: ${weights.start.length} rows for ${countOf(ids)} items, or too many entries`);
  return { ids, weights, known, featureCount, every };
}

function openRows(container: Container<unknown>, name: string, featureCount: number): FeatureRows {
  const start = arrayOf(container, `${name}_start`, { dtypes: ["u32"] });
  const values = arrayOf(container, name, { dtypes: ["f32"] });
  const features = arrayOf(container, `${name}_features`, { dtypes: ["u16"], length: values.length });
  const isRising = start.every((offset, at) => offset >= (start[at - 1] ?? 0));
  if (start[0] !== 0 || start.at(-1) !== values.length || !isRising)
    throw new FormatError(`${KIND}: the rows of ${name} do not follow each other`);
  if (features.some((feature) => feature >= featureCount) || !values.every(Number.isFinite))
    throw new FormatError(`${KIND}: ${name} has an unknown feature, or a value that is not finite`);
  return { start, features, values };
}
