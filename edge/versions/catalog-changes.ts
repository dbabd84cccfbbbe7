import type { ItemIndex } from "../../shared/ids.ts";
import {
  type ChangedCatalog,
  isHiddenIn,
  type SourceItems,
  unchanged,
  withItemChanges,
} from "../../shared/items/changed-catalog.ts";
import {
  changesBaseKey,
  changesHeadKey,
  decodeItemChanges,
  HEAD_BYTES_MAX,
  type ItemChanges,
} from "../../shared/items/changes-file.ts";
import type { ExtensionOfVersion } from "../../shared/items/extension-file.ts";
import { placedItems } from "../../shared/items/placed-items.ts";
import { MEGABYTE } from "../../shared/memory-cost.ts";
import { countOf, stringAt } from "../../shared/packed-strings.ts";
import { isUnreadable, type ReadAccess } from "../reading/artifact-reader.ts";
import { refreshedCache } from "../reading/refreshed-cache.ts";
import { createReadLocks, findOrRead, READ_LOCK_MS } from "../reading/waiting.ts";
import { currentExtension, extensionOf, isCurrent, type LoggedAccess, type ReadExtension } from "./extensions.ts";
import type { NamedModel } from "./live-pointers.ts";
import type { LoadedVersion } from "./load-version.ts";
import { versionKey } from "./version-memory.ts";

/** What customers have changed in the catalogs of their models since the versions were trained. */
export type CatalogChanges = {
  /** Begins to read a model's changes if `applied` would have to. A failure is thrown by `applied`. */
  prefetch(model: NamedModel, access: ReadAccess): void;
  /**
   * The version with its model's changes, and with scores of new items if this is the version's extension. Throws ReadError or
   * FormatError if the changes are unknown.
   */
  applied(
    loaded: LoadedVersion,
    access: LoggedAccess,
    extension: ExtensionOfVersion | undefined,
  ): Promise<LoadedVersion>;
  /** The version with the changes that it had last, however old they are. */
  lastKnown(loaded: LoadedVersion): LoadedVersion;
  /** From now on, only changes that are read later count: this isolate's next call has what was just changed. */
  invalidate(model: NamedModel, nowMs: number): void;
  /** The memory that a version's changes take. */
  bytesOf(loaded: LoadedVersion): number;
};

/** An item that was hidden longer ago is in no list. */
const SHOWN_WITHIN_MS = 10_000;
/** While R2 fails, a model that had no changes is served as long as its live pointer is used. */
const NONE_KEPT_MS = 5 * 60_000;
const MODELS_MAX = 5000;
const HEADS_BYTES_MAX = 4 * MEGABYTE;
/** A base or an extension may have megabytes. */
const BASE_LOCK_MS = 5000;

/** A null etag says that the model had no changes at `readAtMs`. */
type Head =
  | { readonly etag: string; readonly changes: ItemChanges; readonly size: number }
  | { readonly etag: null; readonly readAtMs: number };
/** A version with a head and its base, and with its extension. */
type Applied = {
  readonly etag: string;
  readonly head: ItemChanges;
  readonly catalog: ChangedCatalog;
  readonly extension: ReadExtension | undefined;
  readonly changed: LoadedVersion;
};
type Wanted = ExtensionOfVersion["file"] | undefined;
type ChangedHead = Exclude<Head, { readonly etag: null }>;

/**
 * Caches the head of each model's changes like its live pointer, and applies it to the versions in memory. A head is never used beyond
 * the promised time, whatever fails. One that has not changed is not transferred again.
 */
export function catalogChanges(cacheMs: number): CatalogChanges {
  const heads = refreshedCache<Head>(
    {
      freshMs: cacheMs,
      servableMs: Math.min(2 * cacheMs, SHOWN_WITHIN_MS),
      keptMs: SHOWN_WITHIN_MS,
      absentMs: 0,
      readLockMs: READ_LOCK_MS,
    },
    MODELS_MAX,
    { of: (head) => (head.etag === null ? 0 : head.size), max: HEADS_BYTES_MAX },
  );
  const appliedTo = new WeakMap<LoadedVersion, Applied>();
  const locks = createReadLocks(BASE_LOCK_MS);

  const headOf = async ({ customer, modelName }: NamedModel, access: ReadAccess): Promise<Head> => {
    const key = changesHeadKey(customer, modelName);
    const read = async (known: Head | undefined): Promise<Head> => {
      const readAtMs = access.nowMs();
      try {
        const found = await access.reader.changed(key, { etag: known?.etag ?? null, bytesMax: HEAD_BYTES_MAX });
        if (found === "same") return known!;
        if (found === undefined) return { etag: null, readAtMs };
        return { etag: found.etag, changes: decodeItemChanges(found.bytes), size: found.bytes.length };
      } catch (error) {
        if (isUnreadable(error) && known?.etag === null && readAtMs - known.readAtMs < NONE_KEPT_MS) return known;
        throw error;
      }
    };
    return (await heads.get(key, read, access))!;
  };

  /** The catalog before a head is applied. The base is only read if what is in memory cannot be used. */
  const before = async (loaded: LoadedVersion, head: ItemChanges, access: ReadAccess): Promise<ChangedCatalog> => {
    const { base } = head;
    const known = appliedTo.get(loaded);
    if (known && replaces(head, known.head)) return known.catalog;
    if (base === null) return unchanged(loaded);
    const { customer, modelName } = loaded.target;
    const bytes = await access.reader.file(changesBaseKey(customer, modelName, base.digest), base);
    const catalog = withItemChanges(sourceOf(loaded), unchanged(loaded), decodeItemChanges(bytes));
    bytes.buffer.transfer(0); // freed at once: as garbage, megabytes would stay for a while
    return catalog;
  };

  const apply = async (loaded: LoadedVersion, { etag, changes }: ChangedHead, wanted: Wanted, access: LoggedAccess) => {
    const known = appliedTo.get(loaded);
    const changedFrom = async () => withItemChanges(sourceOf(loaded), await before(loaded, changes, access), changes);
    const applied = known?.etag === etag ? known.catalog : await changedFrom();
    const hasNew = applied.catalog.itemCount > loaded.catalog.itemCount;
    const extension = hasNew ? await currentExtension(known?.extension, loaded.target, wanted, access) : undefined;
    const changed = changedVersion(loaded, applied, extension);
    appliedTo.set(loaded, { etag, head: changes, catalog: applied, extension, changed });
    return changed;
  };

  return {
    prefetch: (model, access) => void headOf(model, access).catch(() => undefined),
    async applied(loaded, access, extension) {
      const head = await headOf(loaded.target, access);
      if (head.etag === null) return loaded;
      const wanted = extensionOf(loaded.target, extension);
      const find = () => {
        const known = appliedTo.get(loaded);
        if (known?.etag !== head.etag) return undefined;
        const isWhole = !known.changed.newCount || isCurrent(known.extension, wanted, access.nowMs());
        return isWhole ? { value: known.changed } : undefined;
      };
      const lock = `${versionKey(loaded.target)} ${head.etag} ${wanted?.digest}`;
      const read = () => apply(loaded, head, wanted, access).finally(() => locks.unlock(lock));
      return findOrRead({ find, tryLock: (nowMs) => locks.tryLock(lock, nowMs), read, waitMs: BASE_LOCK_MS }, access);
    },
    invalidate: ({ customer, modelName }, nowMs) => heads.invalidate(changesHeadKey(customer, modelName), nowMs),
    lastKnown: (loaded) => appliedTo.get(loaded)?.changed ?? loaded,
    bytesOf(loaded) {
      const applied = appliedTo.get(loaded);
      return applied === undefined ? 0 : applied.catalog.bytes + (applied.extension?.bytes ?? 0);
    },
  };
}

function changedVersion(
  loaded: LoadedVersion,
  { catalog, attributes, hidden }: ChangedCatalog,
  extension: ReadExtension | undefined,
): LoadedVersion {
  const { itemCount } = loaded.catalog;
  const { isHidden: isWithdrawn = () => false } = loaded;
  const isHidden = (item: ItemIndex) =>
    (hidden !== null && isHiddenIn(hidden, item)) || (item < itemCount && isWithdrawn(item));
  const placed = extension?.file && placedItems(extension.file, catalog, itemCount);
  return { ...loaded, catalog, attributes, newCount: catalog.itemCount - itemCount, placed, isHidden };
}

const sourceOf = (loaded: LoadedVersion): SourceItems => ({ ...loaded, changesFrom: loaded.manifest.changes_from });

/** Whether a head has the same base as an earlier one, and all of its items. It can then be applied on top of it. */
function replaces(head: ItemChanges, earlier: ItemChanges): boolean {
  if (head.base?.digest !== earlier.base?.digest) return false;
  const ids = new Set(idsOf(head));
  return idsOf(earlier).every((id) => ids.has(id));
}

const idsOf = ({ ids }: ItemChanges) => Array.from({ length: countOf(ids) }, (_, row) => stringAt(ids, row));
