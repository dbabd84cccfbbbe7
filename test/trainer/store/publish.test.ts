import fc from "fast-check";
import { expect, test } from "vitest";
import { changesHeadKey } from "../../../shared/items/changes-file.ts";
import { blobKey, listsKey, livePointerKey, manifestKey, replayKey, reportKey } from "../../../shared/manifest.ts";
import { leastMemoryBytes } from "../../../shared/memory-cost.ts";
import { StageError } from "../../../trainer/stage/stage-error.ts";
import { deleteModel } from "../../../trainer/store/delete-model.ts";
import { putExperiment } from "../../../trainer/store/experiments.ts";
import { setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { type PublishContext, publish } from "../../../trainer/store/publish.ts";
import type { BuiltVersion } from "../../../trainer/store/version-files.ts";
import { type Fault, faultyStore } from "../../fixtures/faulty-store.ts";
import { meanwhileStore } from "../../fixtures/meanwhile-store.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { servedVersion, TINY_MODEL, tinyVersion } from "../../fixtures/tiny-version.ts";

const NOW = Date.UTC(2026, 0, 1);
const report = new TextEncoder().encode('{"report": true}');
const contextOf = (store: ObjectStore, more: Partial<PublishContext> = {}): PublishContext => ({
  store,
  nowMs: () => NOW,
  signal: new AbortController().signal,
  progress: () => {},
  ...more,
});
const put = (store: ObjectStore, version: BuiltVersion) => publish(version, report, contextOf(store));
const keyOf = (version: BuiltVersion, file: number) =>
  blobKey(TINY_MODEL.customer, TINY_MODEL.modelName, version.files[file]!.descriptor.digest);

/** A store with the model, in which `live` is the live version. */
async function worldWith(live?: BuiltVersion): Promise<ObjectStore> {
  const store = memoryStore(() => NOW);
  await setStatus(store, TINY_MODEL, { status: "DEPLOYING", nowMs: NOW });
  if (live) await put(store, live);
  return store;
}

const first = await tinyVersion("first", NOW);
const second = await tinyVersion("second", NOW + 1000);

test("a published version is served whole, with its manifest, its report and the lists behind it", async () => {
  const store = await worldWith();
  const fractions: number[] = [];
  const [lists, replay] = [Uint8Array.of(1, 2), Uint8Array.of(3)];
  const progress = (fraction: number) => fractions.push(fraction);
  await publish(first, report, contextOf(store, { lists, replay, progress }));
  expect(await servedVersion(store, TINY_MODEL)).toBe(first.version);
  expect((await store.get(reportKey("acme", "movies", first.version)))!.bytes).toEqual(report);
  expect((await store.get(listsKey("acme", "movies", first.version)))!.bytes).toEqual(lists);
  expect((await store.get(replayKey("acme", "movies", first.version)))!.bytes).toEqual(replay);
  expect(fractions.at(-1)).toBe(1);
  expect(fractions).toEqual([...fractions].sort((a, b) => a - b));
});

test("blobs that are stored already are not sent again", async () => {
  const store = await worldWith(first);
  const sent: string[] = [];
  const watching: ObjectStore = {
    ...store,
    putIfAbsent: (key, ...rest) => {
      sent.push(key);
      return store.putIfAbsent(key, ...rest);
    },
  };
  await put(watching, second);
  expect(sent).not.toContain(keyOf(second, 2)); // the catalog, which both share
  expect(sent).toContain(keyOf(second, 0));
});

/** Every store call of a publish over a live version, failing before and after its effect. */
const counting = faultyStore(await worldWith(first), null);
await put(counting.store, second);
const swapCall = counting.calls.indexOf("swap") + 1;
const faults: Fault[] = counting.calls.flatMap((_, i) => [
  { call: i + 1, when: "before" as const },
  { call: i + 1, when: "after" as const },
]);

test("a publish makes many calls, exactly one of them the swap", () => {
  expect(faults.length).toBeGreaterThan(40);
  expect(counting.calls.filter((name) => name === "swap")).toHaveLength(1);
  expect(swapCall).toBeLessThan(counting.calls.length);
});

test.each(faults)("a crash $when call $call changes nothing served, and publishing again succeeds", async (fault) => {
  const store = await worldWith(first);
  const failure = await put(faultyStore(store, fault).store, second).catch((error: unknown) => error);
  const isSwapped = fault.call > swapCall || (fault.call === swapCall && fault.when === "after");
  expect(await servedVersion(store, TINY_MODEL)).toBe(isSwapped ? second.version : first.version);
  expect(failure).toMatchObject({ name: "StageError", stage: "deploying", code: "store_unavailable", retryable: true });

  await put(store, second);
  expect(await servedVersion(store, TINY_MODEL)).toBe(second.version);
});

test("blobs that the store has damaged are replaced before anything names them", async () => {
  const store = await worldWith();
  const key = keyOf(first, 1);
  const damaged = new TextEncoder().encode("weights of fIrst");
  expect(damaged.length).toBe(first.files[1]!.descriptor.size);
  await store.putIfAbsent(key, damaged, "x");
  await store.putIfAbsent(keyOf(first, 0), damaged.subarray(1), "x");
  await put(store, first);
  expect(await servedVersion(store, TINY_MODEL)).toBe(first.version);
});

test("a store that keeps damaging bytes stops the publish, and nothing goes live", async () => {
  const store = await worldWith();
  const damaging: ObjectStore = {
    ...store,
    putIfAbsent: (key, body, type) =>
      store.putIfAbsent(key, body instanceof Blob ? body : body.map((byte, i) => (i === 0 ? byte ^ 1 : byte)), type),
  };
  await expect(put(damaging, first)).rejects.toThrow(/read back.*has digest sha256:.*, expected sha256:/);
  expect(await servedVersion(store, TINY_MODEL)).toBeNull();
});

test("a blob that is deleted while it is being published is stored again", async () => {
  const store = await worldWith(first);
  const deleting: ObjectStore = {
    ...store,
    async swap(...args) {
      await store.delete(keyOf(second, 2));
      return store.swap(...args);
    },
  };
  await put(deleting, second);
  expect(await servedVersion(store, TINY_MODEL)).toBe(second.version);
});

test("the run that owns the lease goes live, although the live version has a later name", async () => {
  const store = await worldWith(second);
  await publish(first, report, contextOf(store, { ownsLease: () => Promise.resolve(true) }));
  expect(await servedVersion(store, TINY_MODEL)).toBe(first.version);
});

test.each(["before the run publishes", "between its upload and its swap"])(
  "a model deleted %s is not revived",
  async (when) => {
    const store = await worldWith(first);
    const bury = () => setStatus(store, TINY_MODEL, { status: "DESTROYING", nowMs: NOW });
    if (when.startsWith("before")) await bury();
    const deleting: ObjectStore = {
      ...store,
      async swap(...args) {
        await bury();
        return store.swap(...args);
      },
    };
    const failure = await put(deleting, second).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StageError);
    expect(failure).toMatchObject({ code: "model_deleted", retryable: false });
    expect(await servedVersion(store, TINY_MODEL)).toBeNull();
    expect(await store.head(keyOf(second, 0))).toBeUndefined();
    expect(await store.head(manifestKey("acme", "movies", second.version))).toBeUndefined();
  },
);

/** The model and all its objects are deleted, and a new model with its name is made, right before that call of the old run. */
test.each(counting.calls.slice(0, swapCall).map((name, i) => [i + 1, name] as const))(
  "a run of a model that was replaced before call %i (%s) does not go live in the new model",
  async (call) => {
    const store = await worldWith(first);
    let ownsLease = true;
    const happens = async () => {
      await deleteModel(store, TINY_MODEL, { nowMs: NOW, signal: new AbortController().signal });
      await setStatus(store, TINY_MODEL, { status: "SCHEDULING", nowMs: NOW + 1000 });
      ownsLease = false;
    };
    const old = contextOf(meanwhileStore(store, { call, happens }).store, {
      ownsLease: () => Promise.resolve(ownsLease),
    });
    // A manifest that is absent when it is read back counts as a fault of the store.
    const isReadBack = call > swapCall - 4 && call < swapCall - 1;
    const code = isReadBack ? expect.stringMatching(/^(run_superseded|store_unavailable)$/) : "run_superseded";
    await expect(publish(second, report, old)).rejects.toMatchObject({ stage: "deploying", code });
    expect(await servedVersion(store, TINY_MODEL)).toBeNull();
    expect(await store.head(manifestKey("acme", "movies", second.version))).toBeUndefined();
    await put(store, second); // a run of the new model
    expect(await servedVersion(store, TINY_MODEL)).toBe(second.version);
  },
);

test("a version that is live already stays whole when its run has lost the lease", async () => {
  const store = await worldWith(first);
  await publish(first, report, contextOf(store, { ownsLease: () => Promise.resolve(false) }));
  expect(await servedVersion(store, TINY_MODEL)).toBe(first.version);
});

test("a version that an edge cannot hold beside an experiment's is refused, and what is served stays", async () => {
  const store = await worldWith(first);
  const edgeMemoryBytes = leastMemoryBytes([first.manifest, second.manifest]);
  const arms = [
    { name: "new", share: 0.5 },
    { name: "old", share: 0.5, version: first.version },
  ];
  const experiment = { name: "e", goal: { type: "purchase", within_hours: 24 }, arms };
  const start = { nowMs: NOW, salt: "salt", edgeMemoryBytes, exists: async () => true };
  await putExperiment(store, TINY_MODEL, experiment, start);
  const publishWith = (bytes: number) => publish(second, report, contextOf(store, { edgeMemoryBytes: bytes }));
  const refusal = {
    stage: "deploying",
    code: "version_too_large",
    message: expect.stringContaining("CACHE_MEGABYTES"),
  };
  await expect(publishWith(edgeMemoryBytes - 1)).rejects.toMatchObject(refusal);
  expect(await servedVersion(store, TINY_MODEL)).toBe(first.version);
  const { customer, modelName } = TINY_MODEL;
  await store.putIfAbsent(changesHeadKey(customer, modelName), Uint8Array.of(1), "application/octet-stream");
  await expect(publishWith(edgeMemoryBytes)).rejects.toThrow("each with its changed items");
  await publishWith(leastMemoryBytes([first.manifest, second.manifest], true));
  expect(await servedVersion(store, TINY_MODEL)).toBe(second.version);
});

test("nothing is sent for a deleted model", async () => {
  const store = await worldWith(first);
  await setStatus(store, TINY_MODEL, { status: "DESTROYING", nowMs: NOW });
  const counting = faultyStore(store, null);
  await expect(put(counting.store, second)).rejects.toThrow("was deleted");
  expect(counting.calls).not.toContain("putIfAbsent");
});

test("a model without a pointer is not made by publishing", async () => {
  const store = memoryStore();
  await expect(put(store, first)).rejects.toThrow('"movies" was deleted');
  expect(await store.head(livePointerKey("acme", "movies"))).toBeUndefined();
});

test("an aborted run publishes nothing", async () => {
  const store = await worldWith(first);
  const signal = AbortSignal.abort(new Error("stopped by its owner"));
  await expect(publish(second, report, contextOf(store, { signal }))).rejects.toThrow("stopped by its owner");
  expect(await servedVersion(store, TINY_MODEL)).toBe(first.version);
});

test("two trainers at once, in any order of their calls: one of the versions is served, whole", async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (scheduler) => {
      const store = await worldWith();
      const interleaved: ObjectStore = {
        ...store,
        putIfAbsent: (...args) => scheduler.schedule(Promise.resolve()).then(() => store.putIfAbsent(...args)),
        get: (...args) => scheduler.schedule(Promise.resolve()).then(() => store.get(...args)),
        head: (...args) => scheduler.schedule(Promise.resolve()).then(() => store.head(...args)),
        swap: (...args) => scheduler.schedule(Promise.resolve()).then(() => store.swap(...args)),
      };
      await scheduler.waitFor(Promise.all([put(interleaved, first), put(interleaved, second)]));
      expect([first.version, second.version]).toContain(await servedVersion(store, TINY_MODEL));
    }),
    { numRuns: 50 },
  );
});
