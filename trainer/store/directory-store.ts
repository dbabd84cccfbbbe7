import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ByteRange, ListedObject, ObjectBody, ObjectStore } from "./object-store.ts";
import { checkKey } from "./object-store.ts";

/** Ends the names of files that are being written. No key ends in it, since etags and times never do. */
const UNFINISHED = ".unfinished";
const ETAGS_MAX = 10_000;

/**
 * Objects as files below a folder, for one writing process. A write is on the disk before it is answered: the file and its folder are
 * synced (fsync), so that a power cut loses nothing. Etags are MD5, as in R2.
 */
export function directoryStore(root: string): ObjectStore {
  const etags = new Map<string, { readonly size: number; readonly mtimeMs: number; readonly etag: string }>();
  const pathOf = (key: string): string => {
    checkKey(key);
    return join(root, ...key.split("/"));
  };
  const fileAt = async (path: string) => {
    const found = await unlessAbsent(stat(path));
    return found?.isFile() ? found : undefined;
  };
  const sizeOf = async (key: string) => (await fileAt(pathOf(key)))?.size;
  const etagOf = async (key: string) => {
    const path = pathOf(key);
    const found = await fileAt(path);
    if (found === undefined) return undefined;
    const { size, mtimeMs } = found;
    const known = etags.get(key);
    if (known?.size === size && known.mtimeMs === mtimeMs) return known.etag;
    const etag = await unlessAbsent(digestOf(path));
    if (etags.size >= ETAGS_MAX) etags.clear();
    if (etag !== undefined) etags.set(key, { size, mtimeMs, etag });
    return etag;
  };
  let last: Promise<unknown> = Promise.resolve();
  /** Writes one after the other, so that no write comes between the check and the write of another. */
  const inTurn = <Value>(step: () => Promise<Value>): Promise<Value> => {
    const mine = last.then(step);
    last = mine.catch(() => undefined);
    return mine;
  };
  const write = async (key: string, body: ObjectBody) => {
    etags.delete(key); // two writes within one tick of the file system's clock may have the same size
    await writeDurably(pathOf(key), body);
  };
  return {
    async putIfAbsent(key, body) {
      await inTurn(async () => ((await sizeOf(key)) === undefined ? await write(key, body) : undefined));
    },
    async get(key, range) {
      const etag = await etagOf(key);
      const bytes = etag === undefined ? undefined : await unlessAbsent(read(pathOf(key), range));
      return bytes && { bytes, etag: etag! };
    },
    head: sizeOf,
    async swap(key, bytes, etag) {
      return await inTurn(async () => {
        if (((await etagOf(key)) ?? null) !== etag) return undefined;
        await write(key, bytes);
        return await etagOf(key);
      });
    },
    list: (prefix) => filesBelow(root, prefix),
    async delete(key) {
      etags.delete(key);
      await rm(pathOf(key), { force: true });
    },
  };
}

/** Files whose key begins with the prefix, in the order of keys. Only the folders on the way are read. */
async function* filesBelow(root: string, prefix: string): AsyncGenerator<ListedObject> {
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  yield* walk(folder);

  async function* walk(below: string): AsyncGenerator<ListedObject> {
    const entries = (await unlessAbsent(readdir(join(root, below), { withFileTypes: true }))) ?? [];
    // A folder sorts as its name with a slash, as the keys below it do.
    const names = entries.map((entry) => ({ entry, key: below + entry.name + (entry.isDirectory() ? "/" : "") }));
    for (const { entry, key } of names.sort((a, b) => (a.key < b.key ? -1 : 1))) {
      if (!key.startsWith(prefix) && !prefix.startsWith(key)) continue;
      if (entry.isDirectory()) yield* walk(key);
      else if (key.startsWith(prefix) && !key.endsWith(UNFINISHED)) {
        const found = await unlessAbsent(stat(join(root, key)));
        if (found) yield { key, size: found.size, modifiedMs: found.mtimeMs };
      }
    }
  }
}

async function writeDurably(path: string, body: ObjectBody): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path + UNFINISHED, "w");
  try {
    if (body instanceof Uint8Array) await file.writeFile(body);
    else await file.writeFile(body.stream());
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(path + UNFINISHED, path);
  const folder = await open(dirname(path));
  await folder.sync().finally(() => folder.close());
}

async function read(path: string, range: ByteRange | undefined): Promise<Uint8Array> {
  const file = await open(path);
  try {
    if (!range) return new Uint8Array(await file.readFile());
    const bytes = new Uint8Array(range.length);
    const { bytesRead } = await file.read(bytes, 0, range.length, range.offset);
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("md5");
  for await (const part of createReadStream(path)) hash.update(part as Uint8Array);
  return hash.digest("hex");
}

async function unlessAbsent<Value>(step: Promise<Value>): Promise<Value | undefined> {
  try {
    return await step;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
