/** Edge and trainer may be one release apart in either direction, since they are deployed one after the other. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundleEdge, type EdgeBundle } from "../fixtures/edge-bundle.ts";
import { startForwardTrainer } from "../fixtures/edge-trainer.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import {
  ANSWERS_FILE,
  answersOf,
  BUCKET_FILE,
  type FrozenAnswers,
  type FrozenBucket,
  type FrozenWorker,
  frozen,
  installedRuntime,
  publishRelease,
  WORKER_FILE,
} from "./release.ts";

const { runtime, answers } = frozen<FrozenAnswers>(ANSWERS_FILE);

test("today's edge ranks with what the previous release has published", async () => {
  const { key, objects } = frozen<FrozenBucket>(BUCKET_FILE);
  const edge = await startEdge();
  try {
    for (const [name, bytes] of Object.entries(objects))
      await edge.store.putIfAbsent(name, Buffer.from(bytes, "base64"), "application/octet-stream");
    expect(await answersOf(edge, key)).toEqual(answers);
  } finally {
    await edge.stop();
  }
});

test("the previous release's edge ranks with what today's trainer publishes, and today's trainer accepts its calls", async ({
  skip,
}) => {
  if (runtime !== installedRuntime()) skip(`the frozen Worker needs onnxruntime-web ${runtime}: freeze a release`);
  const trainer = await startForwardTrainer();
  const bundle = await previousBundle();
  const edge = await startEdge({ bundle, vars: { TRAINER_URL: trainer.url } });
  try {
    const key = await publishRelease(edge);
    expect(await answersOf(edge, key)).toEqual(answers);
    const body = { model_name: "shop" };
    expect((await edge.call("/v0/models", { key, body })).status).toBe(200);
    expect(trainer.received).toMatchObject([{ body: JSON.stringify(body), caller: { customer: "acme" } }]);
  } finally {
    await edge.stop();
    await trainer.stop();
  }
});

test("a deployment of the previous release is upgraded, takes events, and is rolled back, without a failed call", async ({
  skip,
}) => {
  if (runtime !== installedRuntime()) skip(`the frozen Worker needs onnxruntime-web ${runtime}: freeze a release`);
  const r2Directory = await mkdtemp(join(tmpdir(), "upgrade-"));
  const deployed = async <T>(bundle: EdgeBundle | undefined, use: (edge: EdgeWorld) => Promise<T>): Promise<T> => {
    const edge = await startEdge({ r2Directory, ...(bundle && { bundle }) });
    return use(edge).finally(edge.stop);
  };
  const listOf = async (edge: EdgeWorld, key: string) => {
    const answer = await edge.call("/v0/models/shop/rank", { key, body: { user_id: "new" } });
    return [answer.status, answer.headers.get("x-events"), await answer.json()];
  };
  try {
    const key = await deployed(await previousBundle(), async (edge) => {
      const issued = await publishRelease(edge);
      expect(await answersOf(edge, issued)).toEqual(answers);
      return issued;
    });
    await deployed(undefined, async (edge) => {
      expect(await answersOf(edge, key)).toEqual(answers); // before the trainer is deployed too
      await edge.publish({ events: { meanings: { view: { label: true, seen: true } }, learnt: {} } });
      expect(await answersOf(edge, key)).toEqual(answers);
      const { key: newKey } = await edge.issueKey();
      const body = { events: [{ user_id: "new", item_id: "i3", type: "view" }] };
      expect((await edge.call("/v0/events", { key: newKey, body })).status).toBe(200);
      expect(await listOf(edge, key)).toEqual([200, "1", expect.not.arrayContaining(["i3"])]);
    });
    await deployed(await previousBundle(), async (edge) => {
      expect(await answersOf(edge, key)).toEqual(answers);
      expect(await listOf(edge, key)).toEqual([200, null, expect.arrayContaining(["i3"])]); // it knows no events
    });
    await deployed(undefined, async (edge) => {
      expect(await listOf(edge, key)).toEqual([200, "1", expect.not.arrayContaining(["i3"])]); // nothing was lost
    });
  } finally {
    await rm(r2Directory, { recursive: true, force: true, maxRetries: 5 });
  }
});

const previousBundle = async (): Promise<EdgeBundle> => ({
  ...frozen<FrozenWorker>(WORKER_FILE),
  wasm: (await bundleEdge()).wasm,
});
