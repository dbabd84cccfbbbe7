import { createHash } from "node:crypto";
import { blobKey, type Descriptor, type Manifest } from "../../shared/manifest.ts";
import type { ModelRef } from "./live-pointer-swap.ts";
import { type ObjectBody, type ObjectStore, StoreError } from "./object-store.ts";

/** One immutable file of a version, to be stored. */
export type VersionFile = { readonly descriptor: Descriptor; readonly body: ObjectBody };

/** A version to be published. Its name begins with its time, so names sort by age. */
export type BuiltVersion = {
  readonly version: string;
  readonly manifest: Manifest;
  /** Every file that the manifest names, each once. */
  readonly files: readonly VersionFile[];
};

const RANGE_BYTES = 16 * 2 ** 20;

/** The bytes of a manifest as they are stored and digested. */
export const manifestBytes = (manifest: Manifest): Uint8Array => new TextEncoder().encode(JSON.stringify(manifest));

/** Digest, size and media type of bytes or of a Blob, which is read in pieces. */
export async function describe(body: ObjectBody, mediaType: string): Promise<Descriptor> {
  const hash = createHash("sha256");
  if (body instanceof Blob) for await (const chunk of body.stream()) hash.update(chunk);
  else hash.update(body);
  const size = body instanceof Blob ? body.size : body.length;
  return { media_type: mediaType, digest: `sha256:${hash.digest("hex")}`, size };
}

/** A file with the given content. */
export async function versionFile(body: ObjectBody, mediaType: string): Promise<VersionFile> {
  return { descriptor: await describe(body, mediaType), body };
}

/** Every descriptor that a manifest names, each digest once. */
export function descriptorsOf(manifest: Manifest): Descriptor[] {
  const { model, catalog, attributes, users, user_values, similarity, item_counts, recent_choices, together } =
    manifest;
  const { repeat_intervals, item_hours, score_recipe } = manifest;
  const all = [
    model.graph,
    ...model.weights.map((weight) => weight.file),
    catalog,
    ...(attributes ? [attributes] : []),
    ...(users ? [users.directory, ...users.pages] : []),
    ...[
      user_values,
      similarity,
      item_counts,
      recent_choices,
      together,
      repeat_intervals,
      item_hours,
      score_recipe,
    ].filter((file) => file !== undefined),
  ];
  return [...new Map(all.map((descriptor) => [descriptor.digest, descriptor])).values()];
}

/** What is wrong with the object, or undefined when it agrees with the descriptor. Reads it in pieces. */
export async function faultOf(
  store: ObjectStore,
  key: string,
  { size, digest }: Descriptor,
): Promise<string | undefined> {
  const found = await store.head(key);
  if (found === undefined) return `${key} is absent`;
  if (found !== size) return `${key} has ${found} bytes, expected ${size}`;
  const hash = createHash("sha256");
  for (let offset = 0; offset < size; offset += RANGE_BYTES) {
    const part = await store.get(key, { offset, length: Math.min(RANGE_BYTES, size - offset) });
    if (part === undefined) return `${key} was deleted while it was read`;
    hash.update(part.bytes);
  }
  const read = `sha256:${hash.digest("hex")}`;
  return read === digest ? undefined : `${key} has digest ${read}, expected ${digest}`;
}

/** Stores a file unless an object of the right size exists. `faultOf` checks the content. */
export async function storeFile(store: ObjectStore, model: ModelRef, { descriptor, body }: VersionFile): Promise<void> {
  const key = blobKey(model.customer, model.modelName, descriptor.digest);
  const found = await store.head(key);
  if (found === descriptor.size) return;
  if (found !== undefined) await store.delete(key);
  await store.putIfAbsent(key, body, descriptor.media_type);
}

/** Stores a file and reads it back. A damaged object is replaced once. */
export async function storeVerified(store: ObjectStore, model: ModelRef, file: VersionFile): Promise<void> {
  const key = blobKey(model.customer, model.modelName, file.descriptor.digest);
  let fault: string | undefined;
  for (let attempt = 0; attempt < 2; attempt++) {
    if (fault !== undefined) await store.delete(key);
    await storeFile(store, model, file);
    fault = await faultOf(store, key, file.descriptor);
    if (fault === undefined) return;
  }
  throw new StoreError(`What was stored is not what was read back: ${fault}.`, { retryable: true });
}
