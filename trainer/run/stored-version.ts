/**
 * The live version of a model as an edge serves it: with what the customer has changed in the catalog since. The edge has its own reader,
 * which reads in pieces and caches; both decode and apply with the same functions of `shared/`.
 */
import { createHash } from "node:crypto";
import { decodeAttributes } from "../../shared/attributes.ts";
import { decodeCatalog } from "../../shared/catalog.ts";
import { compileFilter } from "../../shared/filter/compile-filter.ts";
import type { Hash64 } from "../../shared/hash.ts";
import type { ItemIndex, UserId } from "../../shared/ids.ts";
import { isHiddenIn, type SourceItems, unchanged, withItemChanges } from "../../shared/items/changed-catalog.ts";
import { changesBaseKey, changesHeadKey, decodeItemChanges } from "../../shared/items/changes-file.ts";
import { decodeExtension, extensionKey } from "../../shared/items/extension-file.ts";
import { placedItems } from "../../shared/items/placed-items.ts";
import type { LivePointer } from "../../shared/live-pointer.ts";
import { blobKey, type Descriptor, type Manifest, POPULARITY } from "../../shared/manifest.ts";
import { decodeRecentChoices } from "../../shared/recent-choices.ts";
import { decodeRepeatIntervals } from "../../shared/repeat-intervals.ts";
import { decodeSimilarity } from "../../shared/similarity.ts";
import type { Snapshot, UserRecord } from "../../shared/snapshot.ts";
import { decodeUserDirectory, openUserPage, recordInPage, type UserDirectory } from "../../shared/user-records.ts";
import { decodeUserValues } from "../../shared/user-values.ts";
import type { ExportedModel } from "../learn/model.ts";
import type { Scorer } from "../learn/scoring/onnx-scorer.ts";
import type { ModelRef } from "../store/live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "../store/object-store.ts";

export type StoredVersion = {
  readonly manifest: Manifest;
  readonly exported: ExportedModel;
  /** The snapshot of one user, whose record is given. */
  snapshotOf(scorer: Pick<Scorer, "score">, record: UserRecord | undefined): Snapshot;
  /** The hash by which the version knows a user. */
  hashOf(user: UserId): Hash64;
  /** The record of a user. Fast if users come in the order of their hashes, since one file of records is kept in memory. */
  recordOf(hash: Hash64): Promise<UserRecord | undefined>;
};

/** Reads and decodes all files of a version. Throws StoreError, FormatError. */
export async function openStoredVersion(
  store: ObjectStore,
  model: ModelRef,
  {
    version,
    manifest,
    pointer,
  }: {
    readonly version: string;
    readonly manifest: Manifest;
    /** Names the rows of new items, if there are any. */
    readonly pointer: Pick<LivePointer, "extension">;
  },
): Promise<StoredVersion> {
  const { customer, modelName } = model;
  const bytesAt = async (key: string) => {
    const found = await store.get(key);
    if (found === undefined) throw new StoreError(`${key} of version ${version} is absent.`, { retryable: true });
    return found.bytes;
  };
  const read = ({ digest }: Descriptor) => bytesAt(blobKey(customer, modelName, digest));
  const decoded = async <Value>(file: Descriptor | null | undefined, decode: (bytes: Uint8Array) => Value) =>
    file ? decode(await read(file)) : null;
  const { model: scoring, item_count: itemCount } = manifest;
  const weights: { path: string; bytes: Uint8Array }[] = [];
  for (const { path, file } of scoring.weights) weights.push({ path, bytes: await read(file) });
  const exported = { graph: await read(scoring.graph), weights, truncation: "" };

  const source: SourceItems = {
    catalog: decodeCatalog(await read(manifest.catalog)),
    attributes: await decoded(manifest.attributes, decodeAttributes),
    changesFrom: manifest.changes_from,
  };
  const changed = await withChanges(store, model, { source, bytesAt });
  const [userValues, similarity, recentChoices, repeatIntervals, directory] = [
    await decoded(manifest.user_values, decodeUserValues),
    await decoded(manifest.similarity, decodeSimilarity),
    await decoded(manifest.recent_choices, decodeRecentChoices),
    await decoded(manifest.repeat_intervals, decodeRepeatIntervals),
    await decoded(manifest.users?.directory, decodeUserDirectory),
  ];
  const { extension } = pointer;
  const isExtended = extension?.version === version && changed.catalog.itemCount > itemCount;
  const placed = isExtended
    ? placedItems(
        decodeExtension(await bytesAt(extensionKey(customer, modelName, extension.file))),
        changed.catalog,
        itemCount,
      )
    : undefined;
  const listedCount = manifest.listed_count ?? itemCount;
  const { catalog, attributes, hidden } = changed;
  const isHidden = (item: ItemIndex) =>
    (hidden !== null && isHiddenIn(hidden, item)) || (item < itemCount && item >= listedCount);
  const filterSource = { table: attributes, catalog, itemIdColumn: manifest.item_id_column };
  const common = {
    version,
    itemCount,
    newCount: catalog.itemCount - itemCount,
    placed,
    itemIdType: manifest.item_id_type,
    historyMax: scoring.history_max,
    personalizes: scoring.method !== POPULARITY,
    sessions: manifest.sessions,
    itemCreatedAt: manifest.item_created_at,
    indexOf: catalog.indexOf,
    idAt: catalog.idAt,
    attributes,
    isHidden,
    similarity,
    recentChoices,
    repeatIntervals,
    scoreByValues: userValues?.scoreIfAny,
    userAttributes: userValues?.attributesOf,
    compileFilter: ((filter, timeFraction) =>
      compileFilter(filter, filterSource, timeFraction)) as Snapshot["compileFilter"],
  };
  const { hashOf, recordOf } = userRecords(manifest, directory, read);
  return {
    manifest,
    exported,
    snapshotOf: (scorer, record) => ({
      ...common,
      userRecord: async () => record,
      score: (history) => scorer.score(history),
    }),
    hashOf,
    recordOf,
  };
}

/** The records of users. The file of the last one stays in memory. */
function userRecords(
  { users, item_count: itemCount }: Manifest,
  directory: UserDirectory | null,
  read: (file: Descriptor) => Promise<Uint8Array>,
): Pick<StoredVersion, "hashOf" | "recordOf"> {
  let file: { readonly number: number; readonly bytes: Promise<Uint8Array> } | undefined;
  return {
    hashOf(user) {
      const salt = directory?.salt ?? new Uint8Array(0);
      const digest = createHash("sha256").update(salt).update(user).digest();
      return { high: digest.readUInt32BE(0), low: digest.readUInt32BE(4) };
    },
    async recordOf(hash) {
      const place = directory?.find(hash);
      if (place === undefined) return undefined;
      if (file?.number !== place.file) file = { number: place.file, bytes: read(users!.pages[place.file]!) };
      const page = openUserPage((await file.bytes).subarray(place.offset, place.offset + place.length));
      return recordInPage(page, hash, itemCount);
    },
  };
}

type Reading = { readonly source: SourceItems; readonly bytesAt: (key: string) => Promise<Uint8Array> };

async function withChanges(store: ObjectStore, { customer, modelName }: ModelRef, { source, bytesAt }: Reading) {
  const found = await store.get(changesHeadKey(customer, modelName));
  const before = unchanged(source);
  if (found === undefined) return before;
  const head = decodeItemChanges(found.bytes);
  const base = head.base && decodeItemChanges(await bytesAt(changesBaseKey(customer, modelName, head.base.digest)));
  return withItemChanges(source, base ? withItemChanges(source, before, base) : before, head);
}
