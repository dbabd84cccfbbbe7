/** Each thing that can be wrong with a service, really broken, and what the doctor says about it. */
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { PRODUCT_VERSION } from "../../../shared/product.ts";
import {
  type Check,
  checkBackup,
  checkBucket,
  checkClock,
  checkDisk,
  checkFolders,
  checkHealth,
  checkMemory,
  checkModels,
  checkNode,
  checkPort,
  checkSecrets,
  checkVersion,
  checkVersions,
  runChecks,
} from "../../../trainer/serve/checks.ts";
import { openObjectServer } from "../../../trainer/store/object-server.ts";
import { s3Store } from "../../../trainer/store/s3-store.ts";
import { freshFolder } from "../../fixtures/trainer-state.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
const found = async (check: Check) => (await runChecks([check]))[0]!;
const isOk = async (check: Check) => expect(await found(check)).toMatchObject({ state: "ok" });

/** A server that answers each path with a status and a body. */
async function serverOf(answers: Readonly<Record<string, readonly [number, object]>>): Promise<string> {
  const server: Server = createServer((request, answer) => {
    const [status, body] = answers[request.url!.split("?")[0]!] ?? [200, {}];
    answer.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  closing.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
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
test("settings that others can read, and folders that are gone", async () => {
  const folder = await freshFolder();
  const path = join(folder, "settings.json");
  await writeFile(path, "{}", { mode: 0o600 });
  await isOk(checkSecrets(path));
  await chmod(path, 0o644);
  expect(await found(checkSecrets(path))).toMatchObject({ state: "fault", remedy: `chmod 600 ${path}` });
  await mkdir(join(folder, "data"));
  await isOk(checkFolders([join(folder, "data")]));
  const gone = await found(checkFolders([join(folder, "data"), join(folder, "gone")]));
  expect(gone).toMatchObject({ state: "fault", finding: expect.stringContaining("gone") });
});
test("a port that another program uses", async () => {
  const port = Number(new URL(await serverOf({})).port);
  expect(await found(checkPort(port, false))).toMatchObject({
    state: "fault",
    finding: expect.stringContaining("EADDRINUSE"),
  });
  await isOk(checkPort(port, true));
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
test("edge and trainer of different releases", async () => {
  const at = (version?: string) => serverOf({ "/health/live": [200, { status: "live", version }] });
  const of = async (edge: string, trainer: string) => found(checkVersions({ edge, trainer }));
  const here = await at(PRODUCT_VERSION);
  expect(await of(here, here)).toMatchObject({ state: "ok", finding: expect.stringContaining(PRODUCT_VERSION) });
  expect(await of(await at("0.0.9"), here)).toMatchObject({
    state: "warning",
    finding: `edge 0.0.9, trainer ${PRODUCT_VERSION}; here ${PRODUCT_VERSION}`,
    remedy: expect.stringContaining("Bring edge to"),
  });
  expect(await of(here, await at())).toMatchObject({ finding: expect.stringContaining("trainer an older release") });
  expect(await of(here, "http://127.0.0.1:9")).toMatchObject({ state: "ok" }); // checkHealth says that it is away
});
test("package.json has the same version", async () =>
  expect(JSON.parse(await readFile("package.json", "utf8")).version).toBe(PRODUCT_VERSION));
test("a key that is not valid any more, a model that fails, and one that is stale", async () => {
  const refusing = await serverOf({ "/v0/models": [401, {}] });
  const of = (edgeUrl: string) => found(checkModels({ edgeUrl, apiKey: "rk", keyPlace: "local.json" }, Date.now));
  expect(await of(refusing)).toMatchObject({ state: "fault", remedy: expect.stringContaining("local.json") });
  const at = new Date().toISOString();
  const record = {
    ...{ model_name: "shop", model_url: "", status: "ACTIVE", created_at: at, updated_at: at, trained_at: at },
    label: { type: "Binary", name: "label" },
    input_schema: {
      user: { id: "u" },
      item: { id: "i" },
      interaction: { created_at: "t", label: { type: "Binary", name: "label" }, source: { query: "SELECT 1" } },
    },
    ...{ connectors: [], train_schedule: "@daily", version: "v1", item_id_type: "string", data: null, metrics: null },
    training: { state: "IDLE", run_id: null, started_at: at, finished_at: at, next_run_at: at, progress: null },
    ...{ scenario_problems: null, failure: null },
  };
  const models = async (changes: object) =>
    of(await serverOf({ "/v0/models": [200, { models: [{ ...record, ...changes }] }] }));
  expect(await models({})).toMatchObject({ state: "ok" });
  expect(await models({ trained_at: "2020-01-01T00:00:00.000Z" })).toMatchObject({
    ...{ state: "warning", finding: expect.stringContaining("shop") },
  });
  const failure = {
    stage: "fetching",
    code: "access_denied",
    message: "The password has expired.",
    at,
    retryable: false,
  };
  expect(await models({ failure })).toMatchObject({
    ...{ state: "fault", finding: expect.stringContaining("The password has expired.") },
  });
});
test("a check that never ends is a fault, and holds up no other", { timeout: 20_000 }, async () => {
  const never: Check = { name: "never", run: () => new Promise(() => {}) };
  expect(await runChecks([never, checkVersion])).toMatchObject([{ state: "fault" }, { state: "ok" }]);
});
