import type { Filter } from "./filter/parse-filter.ts";
import type { ItemId, ItemIdType, ItemIndex, UserId } from "./ids.ts";

/** Positive interactions, oldest first: parallel arrays of one length. */
export type History = {
  readonly items: readonly ItemIndex[];
  /** Days between the interaction and now; never negative. */
  readonly agesDays: readonly number[];
};

/** What is stored of one user. */
export type UserRecord = {
  /** The newest positive interactions, at most the manifest's `history_max`; `times` in epoch seconds. */
  readonly items: readonly ItemIndex[];
  readonly times: readonly number[];
  /** Codes of the user's values (shared/user-values.ts), rising; absent: none. */
  readonly values?: readonly number[];
  /** Any interaction whatever its label. May say yes wrongly (bloom), never no wrongly. */
  hasSeen(item: ItemIndex): boolean;
};

/** One version of one model, loaded and checked. Immutable; a new version is a new Snapshot. */
export type Snapshot = {
  readonly version: string;
  readonly itemCount: number;
  readonly itemIdType: ItemIdType;
  /** How many history entries the model takes; older ones are cut off before `score`. */
  readonly historyMax: number;
  /** False for a model that answers everybody alike, so that no answer is called personal; absent: true. */
  readonly personalizes?: boolean;
  indexOf(id: ItemId): ItemIndex | undefined;
  idAt(item: ItemIndex): ItemId;
  /** Undefined for a user that training never saw. Throws Problem user_record_unavailable if it cannot be read. */
  userRecord(user: UserId): Promise<UserRecord | undefined>;
  /** Float32Array(itemCount), higher is better. Never called with an empty history. */
  score(history: History): Promise<Float32Array>;
  /**
   * Scores from a user's attribute values, for users without a history; absent where the version has no user values. Never called with
   * an empty list.
   */
  readonly scoreByValues?: ((values: readonly number[]) => Float32Array) | undefined;
  /**
   * Throws Problem (unknown_attribute, filter_type_mismatch) when the query does not fit the attributes.
   *
   * @param onTable Told of each array of the catalog's size that the answer works with.
   */
  compileFilter(query: Filter, onTable?: (table: ArrayBufferView) => void): (item: ItemIndex) => boolean;
};
