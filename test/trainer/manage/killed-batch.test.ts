/** A trainer that is killed while it works on a batch, and started again, finishes the batch. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BatchRecord, batchesPrefix } from "../../../shared/batch.ts";
import { readManifest } from "../../../trainer/store/versions.ts";
import { drawnWorld } from "../../bench/edge-scale-world.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";
import { type GatedBucket, gateBucket } from "../../fixtures/gated-bucket.ts";
import { caller, environmentOf, SECRET } from "../../fixtures/trainer-client.ts";
import { specOf } from "../../fixtures/trainer-spec.ts";
import { freshState } from "../../fixtures/trainer-state.ts";

const PROGRAM = new URL("../../fixtures/trainer-process.ts", import.meta.url).pathname;
const USERS = 500;
const LIMIT = 10;

let edge: EdgeWorld;
let bucket: GatedBucket;
let state: string;
let trainer: ChildProcess;
let call: ReturnType<typeof caller>;
beforeAll(async () => {
  [edge, state] = await Promise.all([startEdge({ vars: { FORWARD_SECRET: SECRET } }), freshState()]);
  bucket = await gateBucket(edge.s3);
});
afterAll(async () => {
  await kill();
  bucket?.close();
  await edge?.stop();
});

async function start() {
  const { endpoint, bucket: name, accessKeyId, secretAccessKey } = bucket.s3;
  const env = {
    ...environmentOf(state),
    SHORTLIST_EDGE_URL: edge.url,
    SHORTLIST_S3_ENDPOINT: endpoint,
    SHORTLIST_S3_BUCKET: name,
    SHORTLIST_S3_ACCESS_KEY_ID: accessKeyId,
    SHORTLIST_S3_SECRET_ACCESS_KEY: secretAccessKey,
  } as NodeJS.ProcessEnv;
  trainer = spawn(process.execPath, [PROGRAM, state, "in-bucket"], { stdio: ["ignore", "pipe", "inherit"], env });
  const [line] = await once(trainer.stdout!, "data");
  call = caller(Number(String(line)));
}

/** Kills the trainer alone; the process of its batch has to end by itself. */
async function kill() {
  if (trainer === undefined || trainer.signalCode !== null) return;
  trainer.kill("SIGKILL");
  await once(trainer, "exit");
}

test("killed while it ranks and after its file is stored, it writes whole files, with each user once", async () => {
  const world = drawnWorld({ label: "shop", itemCount: 300, userCount: USERS, weightBytesMax: 50_000 });
  const { version } = await edge.publish({ dataset: world.dataset, exported: world.exported });
  const model = { customer: "acme", modelName: "shop" };
  const page = (await readManifest(edge.store, model, version))!.users!.pages[0]!.digest.replace("sha256:", "");
  await start();
  await call("POST", "/v0/models", { body: specOf("shop", `publish ${version}`) });
  await expect.poll(async () => (await call("GET", "/v0/models/shop")).body.version, { timeout: 60_000 }).toBe(version);

  const files = batchesPrefix("acme", "shop");
  const isPage = (method: string, path: string) => method === "GET" && path.includes(page);
  const isFile = (method: string, path: string) => method === "PUT" && path.includes(files);
  const moments = [() => bucket.hold(isPage), () => bucket.hold(isFile), async () => bucket.open()];
  let reached = moments[0]!();
  const users = Array.from({ length: USERS }, (_, user) => String(user));
  const created = await call("POST", "/v0/models/shop/batches", { body: { users, limit: LIMIT, format: "csv" } });
  expect(created.status).toBe(202);
  const view = async () =>
    (await call("GET", `/v0/models/shop/batches/${created.body.batch_id}`)).body as unknown as BatchRecord;
  const stored = async () => (await Array.fromAsync(edge.store.list(files))).length;
  for (const [i, next] of moments.slice(1).entries()) {
    await reached;
    await kill();
    expect(await stored()).toBe(i === 1 ? 1 : 0);
    reached = next();
    await start();
    expect(await view()).toMatchObject({ state: "running", files: [] }); // nobody has a link to the file of the second attempt
  }
  await expect.poll(async () => (await view()).state, { timeout: 90_000, interval: 100 }).toBe("done");

  const done = await view();
  expect(done).toMatchObject({ users: USERS, rows: USERS * LIMIT, failure: null });
  expect([done.files.length, await stored()]).toEqual([1, 1]);
  const text = await (await fetch(done.files[0]!.url)).text();
  expect(text.length).toBe(done.files[0]!.bytes);
  const [, ...lines] = text.trimEnd().split("\n");
  const ranks = Map.groupBy(lines, (line) => line.split(",")[0]!);
  expect([...ranks.keys()].sort()).toEqual(users.sort());
  for (const own of ranks.values())
    expect(own.map((line) => Number(line.split(",")[1]))).toEqual(Array.from({ length: LIMIT }, (_, i) => i + 1));
}, 240_000);
