import type { PackedStrings } from "../../shared/packed-strings.ts";

/**
 * Every accepted interaction, grouped by user, each user's oldest first. Compressed sparse rows: user u's interactions
 * are positions userStart[u] … userStart[u + 1] − 1. Item indices are catalog positions: items in order of falling
 * popularity with recency, so index 0 is the most popular one. Immutable.
 */
export type Interactions = {
  readonly userCount: number;
  readonly itemCount: number;
  readonly userStart: Uint32Array; // [userCount + 1]
  readonly items: Int32Array; // [interactionCount] item index
  readonly times: Uint32Array; // [interactionCount] epoch seconds
  readonly positive: Uint8Array; // [interactionCount] 1 positive, 0 negative
  /** The value of a Rating label; null for Binary. */
  readonly ratings: Float32Array | null; // [interactionCount]
};

/** Typed attribute columns of items or users, aligned with their indices. Missing values are explicit. */
export type AttributeColumn =
  | { readonly name: string; readonly type: "Numerical" | "Timestamp"; readonly values: Float64Array } // [count] NaN: missing; Timestamp in epoch seconds
  | { readonly name: string; readonly type: "Boolean"; readonly values: Uint8Array } // [count] 0 false, 1 true, 255 missing
  | {
      readonly name: string;
      readonly type: "Category" | "CategoryList" | "Text";
      readonly dictionary: readonly string[];
      /** Row r's values are codes[start[r]] … codes[start[r + 1] − 1]; Category has at most one, none is missing. */
      readonly start: Uint32Array; // [count + 1]
      readonly codes: Uint32Array;
    };

export type Dataset = Interactions & {
  readonly itemIds: PackedStrings; // [itemCount]
  readonly userIds: PackedStrings; // [userCount]
  readonly itemIdType: "string" | "integer";
  readonly itemAttributes: readonly AttributeColumn[];
  readonly userAttributes: readonly AttributeColumn[];
};
