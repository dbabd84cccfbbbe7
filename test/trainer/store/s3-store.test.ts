import { openAsBlob } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { S3Options } from "../../../trainer/store/s3-request.ts";
import { s3Store } from "../../../trainer/store/s3-store.ts";
import { startLocalR2 } from "../../fixtures/local-r2.ts";
import { objectStoreSuite } from "../../suites/object-store-suite.ts";

let s3: S3Options;
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ s3, stop } = await startLocalR2());
});
afterAll(() => stop());

objectStoreSuite(async () => s3Store(s3));

test("a list of more than one page is complete and in order", async () => {
  const store = s3Store(s3);
  const names = Array.from({ length: 1005 }, (_, i) => `pages/${String(i).padStart(4, "0")}`);
  const rest = names.values();
  const work = async () => {
    for (const key of rest) await store.putIfAbsent(key, new Uint8Array(1), "text/plain");
  };
  await Promise.all(Array.from({ length: 8 }, work));
  const listed: string[] = [];
  for await (const { key } of store.list("pages/")) listed.push(key);
  expect(listed).toEqual(names);
});

test("a file of 64 MB is stored from disk in one upload and read back unchanged", async () => {
  const folder = await mkdtemp(join(tmpdir(), "s3-store-"));
  const bytes = Buffer.alloc(64 * 2 ** 20, "a large file of a version ");
  await writeFile(join(folder, "file"), bytes);
  const store = s3Store(s3);
  await store.putIfAbsent("large", await openAsBlob(join(folder, "file")), "application/octet-stream");
  expect(await store.head("large")).toBe(bytes.length);
  expect(bytes.equals((await store.get("large"))!.bytes)).toBe(true);
  await rm(folder, { recursive: true });
});

test("the error of a wrong secret says what to do and does not contain the secret", async () => {
  const store = s3Store({ ...s3, secretAccessKey: "wrong-secret-hunter2" });
  const failure = await store.get("a").catch((error: Error) => error.message);
  expect(failure).toMatch(/SignatureDoesNotMatch.*check the access key id/);
  expect(failure).not.toContain("hunter2");
});

test("the error of an absent bucket names it", async () => {
  const store = s3Store({ ...s3, bucket: "no-such-bucket" });
  await expect(store.get("a")).rejects.toThrow(/"no-such-bucket".*create the bucket/);
});
