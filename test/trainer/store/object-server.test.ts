import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ObjectServer, openObjectServer } from "../../../trainer/store/object-server.ts";
import { s3Store } from "../../../trainer/store/s3-store.ts";
import { objectStoreSuite } from "../../suites/object-store-suite.ts";

let folder: string;
let server: ObjectServer;
const bucket = "shortlist-models";
const access = (accessKeyId = "the-key") => ({
  endpoint: server.endpoint,
  bucket,
  accessKeyId,
  secretAccessKey: "not checked",
  attempts: 1,
});
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "object-server-"));
  server = await openObjectServer({ folder, bucket, accessKeyId: "the-key" });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

objectStoreSuite(async () => s3Store(access()));

test("another access key is refused", async () => {
  await expect(s3Store(access("a-guess")).get("suite/x")).rejects.toThrow("403 InvalidAccessKeyId");
});

test("a key that leaves the folder is refused, however it is written", async () => {
  await s3Store(access()).putIfAbsent("inside", new Uint8Array([1]), "text/plain");
  const authorization = "AWS4-HMAC-SHA256 Credential=the-key/20260101/auto/s3/aws4_request";
  for (const path of ["..%2foutside", "%2e%2e/outside", "a//b", "a/../../outside"]) {
    const answer = await fetch(`${server.endpoint}/${bucket}/${path}`, {
      method: "PUT",
      body: "x",
      headers: { authorization },
    });
    expect(answer.status, path).toBeGreaterThanOrEqual(400);
  }
  expect(await readdir(join(folder, ".."))).not.toContain("outside");
});
