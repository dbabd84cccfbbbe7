/** Records and live pointers under simultaneous changes, in a whole trainer whose bucket is slow or down. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { readLivePointer, setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "../../../trainer/store/object-store.ts";
import { publish } from "../../../trainer/store/publish.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { TINY_MODEL, tinyVersion } from "../../fixtures/tiny-version.ts";
import { startHarness } from "../../fixtures/trainer-harness.ts";

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const inner = memoryStore();
let [swapMs, isDown, lateAnswers] = [0, false, 0];
const swap: ObjectStore["swap"] = async (...args) => {
  if (isDown) throw new StoreError("down", { retryable: true });
  await pause(swapMs);
  const etag = await inner.swap(...args);
  if (lateAnswers-- > 0) await pause(200);
  return etag;
};
let harness: Awaited<ReturnType<typeof startHarness>>;
beforeAll(async () => {
  harness = await startHarness({ store: { ...inner, swap } });
  for (const name of ["busy1", "busy2"]) await harness.create(name, "wait"); // so that no run of another model begins
  for (const name of ["busy1", "busy2"]) await harness.until(name, ({ status }) => status === "FETCHING");
});
afterAll(() => harness.stop());
beforeEach(() => {
  swapMs = 0;
  isDown = false;
  lateAnswers = 0;
});

const pointerOf = async (modelName: string) => (await readLivePointer(inner, { customer: "acme", modelName }))?.pointer;

test("the pointer of a new model exists when the creation is answered", async () => {
  swapMs = 300;
  expect((await harness.create("ready", "wait")).status).toBe(201);
  expect(await pointerOf("ready")).toMatchObject({ status: "SCHEDULING" });
});

test("a model can be created while the bucket is down, and its status is written later", async () => {
  isDown = true;
  expect((await harness.create("later", "wait")).status).toBe(201);
  expect(await pointerOf("later")).toBe(undefined);
  isDown = false;
  await expect.poll(() => pointerOf("later")).toMatchObject({ status: "SCHEDULING" });
});

test.each([100, 2500])(
  "nothing is left of a model that is deleted at once, even if a write takes %i ms",
  async (ms) => {
    const name = `brief${ms}`;
    swapMs = ms;
    expect((await harness.create(name, "wait")).status).toBe(201);
    expect((await harness.call("DELETE", `/v0/models/${name}`)).status).toBe(200);
    expect((await harness.call("GET", `/v0/models/${name}`)).status).toBe(404);
    await pause(2 * ms);
    expect(await pointerOf(name)).toBe(undefined);
  },
);

test("after simultaneous activations the record has the version that is served", async () => {
  await harness.create(TINY_MODEL.modelName, "wait");
  const context = { store: inner, nowMs: Date.now, signal: new AbortController().signal, progress: () => {} };
  await setStatus(inner, TINY_MODEL, { status: "SCHEDULING", nowMs: 0 });
  const versions = [await tinyVersion("one", 1000), await tinyVersion("two", 2000)];
  for (const version of versions) await publish(version, new Uint8Array(1), context);
  for (let turn = 0; turn < 5; turn++) {
    lateAnswers = 1; // the first writer of the pointer is the last writer of the record
    const answers = await Promise.all(
      versions.map(({ version }) => harness.call("POST", `/v0/models/movies/versions/${version}/activate`)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const { body } = await harness.call("GET", "/v0/models/movies");
    expect(body.version).toBe((await pointerOf("movies"))!.live!.version);
  }
});
