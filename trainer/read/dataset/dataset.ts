import type { AttributeColumn } from "../../../shared/attributes.ts";
import type { PackedStrings } from "../../../shared/packed-strings.ts";

/**
 * Every accepted interaction, grouped by user, each user's oldest first. Compressed sparse rows: user u's interactions
 * are positions userStart[u] … userStart[u + 1] − 1. Immutable.
 *
 * Items and users are read in the order of their ids. Where models are compared or fitted, `reorderItems` has put the
 * items into the order of the catalog: falling popularity with recency, so that index 0 is the most popular one.
 */
export type Interactions = {
  readonly userCount: number;
  readonly itemCount: number;
  readonly userStart: Uint32Array; // [userCount + 1]
  readonly items: Int32Array; // [interactionCount] item index
  readonly times: Uint32Array; // [interactionCount] epoch seconds
  readonly positive: Uint8Array; // [interactionCount] 1 positive, 0 negative
  /** The number of a Rating or a Weight; null for Binary. */
  readonly ratings: Float32Array | null; // [interactionCount]
  /** Items from this index on are in no list, since the source of items lacks them. Absent: all may be in lists. */
  readonly listedCount?: number;
  /** The positive types of events. Then `ratings` are the types' numbers from 1 on, and 0 for other types. Absent: they are values. */
  readonly eventTypes?: readonly string[];
};

export type { AttributeColumn };

export type Dataset = Interactions & {
  readonly itemIds: PackedStrings; // [itemCount]
  readonly userIds: PackedStrings; // [userCount]
  readonly itemIdType: "string" | "integer";
  readonly itemAttributes: readonly AttributeColumn[];
  readonly userAttributes: readonly AttributeColumn[];
  /** 1 for items that the source of items lacks: [itemCount]. reorderItems puts them last. Absent: there are none. */
  readonly withdrawn?: Uint8Array;
};
