import type { PackedStrings } from "../../shared/packed-strings.ts";
import type { Interactions } from "../dataset/dataset.ts";

/** A finished file: page files in the order of the manifest's `users.pages`, then, last, the one directory. */
export type UserRecordFile = { readonly kind: "pages" | "directory"; readonly bytes: Uint8Array };

export type UserRecordOptions = {
  /** At least 16 bytes; the same salt gives the same bytes. */
  readonly salt: Uint8Array;
  /** Positive interactions kept per user, the newest. */
  readonly historyMax?: number;
  readonly signal?: AbortSignal;
  /** `share` 0…1 of the users written. */
  readonly progress?: (share: number) => void;
};

/** Every user's record, file by file: each at most 64 MiB, one in memory at a time. */
export async function* writeUserRecords(
  _interactions: Interactions,
  _userIds: PackedStrings,
  _options: UserRecordOptions,
): AsyncGenerator<UserRecordFile> {
  yield await Promise.reject(new Error("not built yet"));
}
