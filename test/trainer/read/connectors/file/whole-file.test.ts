import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findFiles } from "../../../../../trainer/read/connectors/duckdb/files.ts";
import { closeFiles, openFiles, verifyCompressed } from "../../../../../trainer/read/connectors/file/file-watch.ts";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "compressed-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const text = Buffer.from("a,b\n1,2\n".repeat(5000));
const never = new AbortController().signal;

async function verify(name: string, content: Uint8Array, signal = never): Promise<void> {
  await writeFile(join(root, name), content);
  const files = await openFiles(await findFiles(name, [root]));
  await verifyCompressed(files[0]!, signal).finally(() => closeFiles(files));
}

test("whole files pass, also those of several gzip members", async () => {
  await verify("a.csv", text);
  await verify("a.csv.gz", gzipSync(text));
  await verify("a.csv.gz", Buffer.concat([gzipSync(text), gzipSync(text)]));
  await verify("a.csv.zst", zstdCompressSync(text));
});

test.each<[string, Uint8Array]>([
  ["a.csv.gz", gzipSync(text)],
  ["a.csv.zst", zstdCompressSync(text)],
])("%s is refused when it is cut anywhere", async (name, whole) => {
  for (const length of [whole.length - 1, whole.length - 5, Math.floor(whole.length / 2), 12])
    await expect(verify(name, whole.subarray(0, length))).rejects.toMatchObject({ code: "file_malformed" });
});

test("a flipped bit breaks gzip's checksum", async () => {
  const flipped = Uint8Array.from(gzipSync(text, { level: 0 }));
  flipped[1000]! ^= 1;
  await expect(verify("a.csv.gz", flipped)).rejects.toMatchObject({ code: "file_malformed" });
});

test("an abort throws the signal's reason", async () => {
  const reason = new Error("enough");
  await expect(verify("a.csv.gz", gzipSync(text), AbortSignal.abort(reason))).rejects.toBe(reason);
});
