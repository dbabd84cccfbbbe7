/** Edge and trainer may be one release apart in either direction, since they are deployed one after the other. */
import { expect, test } from "vitest";
import { bundleEdge } from "../fixtures/edge-bundle.ts";
import { startForwardTrainer } from "../fixtures/edge-trainer.ts";
import { startEdge } from "../fixtures/edge-world.ts";
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
  const bundle = { ...frozen<FrozenWorker>(WORKER_FILE), wasm: (await bundleEdge()).wasm };
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
