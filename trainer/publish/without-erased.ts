import { assert } from "../../shared/assert.ts";
import { type ErasedUsers, hasHash } from "../../shared/erased-users.ts";
import { hexOf } from "../../shared/hash.ts";
import { blobKey, type Descriptor, type Manifest } from "../../shared/manifest.ts";
import { decodeUserDirectory, pageWithout, type UserDirectory } from "../../shared/user-records.ts";
import type { ObjectStore } from "../store/object-store.ts";
import type { BuiltVersion, VersionFile } from "../store/version-files.ts";
import { fileOnDisk, versionName } from "./build-version.ts";

type Options = {
  readonly store: ObjectStore;
  readonly erased: ErasedUsers;
  readonly createdAtMs: number;
  readonly workDirectory: string;
};

/**
 * A stored version without the records of erased users. Only the page files that had some of them are new; its counts of users stay.
 * Undefined when its user hashes have another salt, so that nobody can be found in it.
 */
export async function withoutErased(manifest: Manifest, options: Options): Promise<BuiltVersion | undefined> {
  const { store, erased, createdAtMs } = options;
  const created = { ...manifest, created_at: new Date(createdAtMs).toISOString() };
  if (manifest.users === null) return { version: await versionName(created), manifest: created, files: [] };
  const read = async ({ digest }: Descriptor) => {
    const found = await store.get(blobKey(manifest.customer, manifest.model_name, digest));
    assert(found, `the live version has its file ${digest}`);
    return found.bytes;
  };
  const directory = decodeUserDirectory(await read(manifest.users.directory));
  if (hexOf(directory.salt) !== hexOf(new TextEncoder().encode(erased.salt))) return undefined;
  const pages: Descriptor[] = [];
  const files: VersionFile[] = [];
  for (const [file, descriptor] of manifest.users.pages.entries()) {
    const bytes = await read(descriptor);
    const isChanged = removeIn(bytes, { directory, file, erased });
    if (isChanged) files.push(await fileOnDisk(bytes, `${options.workDirectory}/without-erased-${file}.bin`));
    pages.push(isChanged ? files.at(-1)!.descriptor : descriptor);
  }
  const rewritten = { ...created, users: { ...manifest.users, pages } };
  return { version: await versionName(rewritten), manifest: rewritten, files };
}

type PageFile = { readonly directory: UserDirectory; readonly file: number; readonly erased: ErasedUsers };

/** Removes records in a page file in place, and says whether there were any. */
function removeIn(bytes: Uint8Array, { directory, file, erased }: PageFile): boolean {
  let isChanged = false;
  for (const { offset, length } of directory.pagesOf(file)) {
    const page = pageWithout(bytes.subarray(offset, offset + length), (hash) => hasHash(erased, hash));
    if (page !== undefined) bytes.set(page, offset);
    isChanged ||= page !== undefined;
  }
  return isChanged;
}
