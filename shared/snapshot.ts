import type { AttributeTable } from "./attributes.ts";
import type { Filter } from "./filter/parse-filter.ts";
import type { ItemId, ItemIdType, ItemIndex, UserId } from "./ids.ts";
import type { ItemHours } from "./item-hours.ts";
import type { PlacedItems } from "./items/placed-items.ts";
import type { SessionRules } from "./manifest.ts";
import type { ChoiceCounts, LiveChoices } from "./recent-choices.ts";
import type { RepeatIntervals } from "./repeat-intervals.ts";
import type { Similarity } from "./similarity.ts";
import type { Together } from "./together.ts";
import type { UserAttributes } from "./user-values.ts";

/** Positive interactions, oldest first: parallel arrays of one length. */
export type History = {
  readonly items: readonly ItemIndex[];
  /** Days between the interaction and now; never negative. */
  readonly agesDays: readonly number[];
};

/** The stored data of one user. */
export type UserRecord = {
  /** The newest positive interactions, often more than the model reads; `times` in epoch seconds. */
  readonly items: readonly ItemIndex[];
  readonly times: readonly number[];
  /** Codes of the user's attribute values (shared/user-values.ts), rising; absent if there are none. */
  readonly values?: readonly number[];
  /**
   * Whether the user had any interaction with the item, positive or not. False positives are possible (Bloom filter), false negatives
   * not.
   */
  hasSeen(item: ItemIndex): boolean;
};

/** One version of a model, loaded and checked. It is immutable; a new version is a new Snapshot. */
export type Snapshot = {
  readonly version: string;
  readonly itemCount: number;
  /** Items behind those of the version, which the customer has added since. The model does not know them. Absent: none. */
  readonly newCount?: number | undefined;
  /** The new items that have scores, by the version's extension. Absent: none. */
  readonly placed?: PlacedItems | undefined;
  readonly itemIdType: ItemIdType;
  /** The number of history entries that the model uses. Older ones are cut off before `score`. */
  readonly historyMax: number;
  /** False for a model that ignores the user, so that no answer is called personal. Absent means true. */
  readonly personalizes?: boolean;
  /** Present for a model that learns from sessions: a session is then scored alone, without the stored history. */
  readonly sessions?: SessionRules | undefined;
  /** The attribute that orders the newest items. */
  readonly itemCreatedAt?: string | undefined;
  /** How often items were chosen lately, for trending ones. Absent in versions that were published without it. */
  readonly recentChoices?: ChoiceCounts | null | undefined;
  /** What was chosen since the version was trained, counted for this call. Absent: nothing is known. */
  readonly liveChoices?: LiveChoices | undefined;
  /** Absent in versions whose data have no baskets, and in those that were published without it. */
  readonly together?: Together | null | undefined;
  /** After how long items are chosen again. Absent where the data have too few repetitions, and in older versions. */
  readonly repeatIntervals?: RepeatIntervals | null | undefined;
  /** At which time of the day items are chosen. Absent where it does not make better lists, and in older versions. */
  readonly itemHours?: ItemHours | null | undefined;
  /** Item attributes; null or absent if the version has none. */
  readonly attributes?: AttributeTable | null | undefined;
  /** Absent in versions that were published without it. */
  readonly similarity?: Similarity | null | undefined;
  /** Whether an item is in no answer of any kind, such as a withdrawn one. Absent: none is. */
  readonly isHidden?: ((item: ItemIndex) => boolean) | undefined;
  /** Called with each array of catalog size that ranking itself allocates, so that the caller can free it. */
  readonly onTable?: ((table: ArrayBufferView) => void) | undefined;
  indexOf(id: ItemId): ItemIndex | undefined;
  idAt(item: ItemIndex): ItemId;
  /** Undefined for a user who was not in the training data. Throws Problem user_record_unavailable if it cannot be read. */
  userRecord(user: UserId): Promise<UserRecord | undefined>;
  /** Float32Array(itemCount), higher is better. It is this call's own and may be changed. Never called with an empty history. */
  score(history: History): Promise<Float32Array>;
  /**
   * The best candidates of the whole catalog by what `score` has just answered, for a snapshot whose `score` does not fill its array in.
   * Such a snapshot is for requests without shaping. Absent: they are found in the array.
   */
  readonly bestOf?: ((limit: number, isCandidate: (item: ItemIndex) => boolean) => ItemIndex[]) | undefined;
  /** The same scores of some items only, for several histories: one array for each. Absent: the caller selects them. */
  readonly scoreAt?: ScoreAt | undefined;
  /**
   * Scores from a user's attribute values, for users without a history; undefined if none of the values scores. Absent if the version has
   * no user values.
   */
  readonly scoreByValues?: ((values: readonly number[]) => Float32Array | undefined) | undefined;
  /** The attributes that a user's values stand for. Absent if the version has no user values. */
  readonly userAttributes?: ((values: readonly number[]) => UserAttributes) | undefined;
  /**
   * Throws Problem (unknown_attribute, filter_type_mismatch) if the filter does not fit the attributes, and filter_too_large if it takes
   * more than `timeFraction` (1 by default) of the time that all filters of a request may take.
   */
  compileFilter(filter: Filter, timeFraction?: number): (item: ItemIndex) => boolean;
};

export type ScoreAt = (histories: readonly History[], items: readonly ItemIndex[]) => Promise<readonly ScoreList[]>;
export type ScoreList = Float32Array | Float64Array;

/** The part of a version that a request can be checked against without a user. */
export type KnownNames = Pick<
  Snapshot,
  "version" | "itemCount" | "itemCreatedAt" | "attributes" | "indexOf" | "idAt" | "compileFilter"
>;

/** A test for items from `listedCount` on, which are in no list; undefined if there are none. */
export const isBeyond = (listedCount: number, itemCount: number): Snapshot["isHidden"] =>
  listedCount < itemCount ? (item) => item >= listedCount : undefined;
