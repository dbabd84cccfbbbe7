import { lstat, readdir, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { RunSettings } from "../../settings.ts";

export type DiskLimit = { readonly folders: readonly string[]; readonly bytesMax: number };

export type DiskSettings = Pick<RunSettings, "diskBytesMax" | "diskReserveBytes" | "concurrency">;

/**
 * The limit of a run that writes to these folders of one disk. Simultaneous runs share what is free beyond the reserve, so that
 * together they cannot fill the disk. 0 when nothing is.
 */
export async function diskLimit(
  folders: readonly [string, ...string[]],
  { diskBytesMax, diskReserveBytes, concurrency }: DiskSettings,
): Promise<DiskLimit> {
  const { bavail, bsize } = await statfs(folders[0]);
  const free = Math.floor((bavail * bsize - diskReserveBytes) / concurrency);
  return { folders, bytesMax: free <= 0 ? 0 : Math.min(diskBytesMax, free + (await bytesIn(folders))) };
}

/** Bytes of all files in the folders. What disappears meanwhile, or cannot be read, counts nothing. */
export async function bytesIn(folders: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const folder of folders) {
    const entries = await readdir(folder, { recursive: true }).catch(() => []);
    for (const entry of entries) bytes += await lstat(join(folder, entry)).then(sizeOf, () => 0);
  }
  return bytes;
}

const sizeOf = (file: { isFile(): boolean; readonly size: number }) => (file.isFile() ? file.size : 0);
