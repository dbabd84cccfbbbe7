/** Each thing that can be wrong with machine and bucket, really broken, and what is said about it. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import {
  type Check,
  checkBackup,
  checkBucket,
  checkClock,
  checkDisk,
  checkFolders,
  checkHealth,
  checkMemory,
  checkNode,
  checkVersion,
  runChecks,
} from "../../../../trainer/manage/health/checks.ts";
import { openObjectServer } from "../../../../trainer/store/object-server.ts";
import { s3Store } from "../../../../trainer/store/s3-store.ts";
import { answeringServer } from "../../../fixtures/answering-server.ts";
import { freshFolder } from "../../../fixtures/trainer-state.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
const found = async (check: Check) => (await runChecks([check]))[0]!;
const isOk = async (check: Check) => expect(await found(check)).toMatchObject({ state: "ok" });
async function serverOf(answers: Parameters<typeof answeringServer>[0]): Promise<string> {
  const { url, close } = await answeringServer(answers);
  closing.push(close);
  return url;
}

async function bucketOf() {
  const server = await openObjectServer({ folder: await freshFolder(), bucket: "models", accessKeyId: "key" });
  closing.push(() => server.close());
  return { endpoint: server.endpoint, bucket: "models", accessKeyId: "key", secretAccessKey: "key" };
}

test("this machine is well", async () => {
  for (const check of [checkNode, checkVersion, checkMemory(64), checkDisk(await freshFolder(), 1)]) await isOk(check);
});
test("too little memory for a run, or too little disk", async () => {
  const memory = await found(checkMemory(1e9));
  expect(memory).toMatchObject({ state: "warning", remedy: expect.stringContaining("SHORTLIST_RUN_MEMORY_MB") });
  expect(await found(checkDisk(await freshFolder(), 1e18))).toMatchObject({ state: "fault" });
  expect(await found(checkDisk("/no/such/folder", 1))).toMatchObject({ state: "fault" });
});
test("folders that are gone", async () => {
  const folder = await freshFolder();
  await mkdir(join(folder, "data"));
  await isOk(checkFolders([join(folder, "data")]));
  const gone = await found(checkFolders([join(folder, "data"), join(folder, "gone")]));
  expect(gone).toMatchObject({ state: "fault", finding: expect.stringContaining("gone") });
});
test("a bucket that is away or has another key, and records that were never or long ago saved", async () => {
  const bucket = await bucketOf();
  await isOk(checkBucket(bucket));
  expect(await found(checkBucket({ ...bucket, accessKeyId: "other" }))).toMatchObject({ state: "fault" });
  expect(await found(checkBucket({ ...bucket, endpoint: "http://127.0.0.1:9" }))).toMatchObject({ state: "fault" });
  const saved = (nowMs: number, hours = 24) => found(checkBackup(bucket, hours, () => nowMs));
  expect(await saved(Date.now())).toMatchObject({ state: "warning", finding: "records were never saved" });
  await s3Store(bucket).putIfAbsent("backups/20261127T000000Z.json.gz", new Uint8Array(1), "application/gzip");
  expect(await saved(Date.now())).toMatchObject({ state: "ok" });
  expect(await saved(Date.now() + 49 * 3_600_000)).toMatchObject({ state: "warning" });
  expect(await saved(Date.now(), 0)).toMatchObject({ state: "warning" });
});
test("a clock that differs from the bucket's", async () => {
  const url = await serverOf({});
  await isOk(checkClock(url, Date.now));
  const ahead = await found(checkClock(url, () => Date.now() + 120_000));
  expect(ahead).toMatchObject({
    state: "fault",
    finding: expect.stringMatching(/^1(19|20|21) s ahead of the bucket's$/),
  });
});
test("an edge or a trainer that does not answer or is not ready", async () => {
  await isOk(checkHealth("edge", await serverOf({})));
  const busy = await serverOf({ "/health/ready": [503, { status: "not ready" }] });
  expect(await found(checkHealth("trainer", busy))).toMatchObject({ state: "fault", name: "trainer" });
  expect(await found(checkHealth("edge", "http://127.0.0.1:9"))).toMatchObject({ state: "fault" });
});
test("a check that never ends is a fault, and holds up no other", { timeout: 20_000 }, async () => {
  const never: Check = { name: "never", run: () => new Promise(() => {}) };
  expect(await runChecks([never, checkVersion])).toMatchObject([{ state: "fault" }, { state: "ok" }]);
});
