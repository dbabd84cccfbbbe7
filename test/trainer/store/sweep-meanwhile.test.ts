/**
 * Whatever is live is whole, although sweeps, activations and runs happen at once: random orders of their store calls.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { publish } from "../../../trainer/store/publish.ts";
import { sweep } from "../../../trainer/store/sweep.ts";
import { activate, versionNames } from "../../../trainer/store/versions.ts";
import { aroundCalls } from "../../fixtures/meanwhile-store.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { servedVersion, TINY_MODEL, tinyVersion } from "../../fixtures/tiny-version.ts";

const DAY = 86_400_000;
const COUNT = 13;
const signal = new AbortController().signal;
const built = await Promise.all(Array.from({ length: COUNT + 2 }, (_, day) => tinyVersion(`v${day}`, day * DAY)));
/** The oldest version that can be activated. */
const OLDEST = built[COUNT - 5]!.version;

/** The objects of a model with one version a day; a sweep deletes the first three versions. */
async function storedObjects() {
  let now = 0;
  const store = memoryStore(() => now);
  await setStatus(store, TINY_MODEL, { status: "DEPLOYING", nowMs: 0 });
  for (let day = 0; day < COUNT; day++) {
    now = day * DAY;
    await publish(built[day]!, new Uint8Array(1), { store, nowMs: () => now, signal, progress: () => {} });
  }
  return await Array.fromAsync(store.list(""), async ({ key, modifiedMs }) => {
    return { key, modifiedMs, bytes: (await store.get(key))!.bytes };
  });
}
const objects = await storedObjects();

async function world() {
  let now = 0;
  const store = memoryStore(() => now);
  for (const { key, modifiedMs, bytes } of objects) {
    now = modifiedMs;
    await store.putIfAbsent(key, bytes, "");
  }
  now = (COUNT + 1) * DAY;
  const put = (on: ObjectStore, day: number) =>
    publish(built[day]!, new Uint8Array(1), { store: on, nowMs: () => now, signal, progress: () => {} });
  const sweepAll = (on: ObjectStore) => sweep(on, TINY_MODEL, { nowMs: now, signal });
  const rollBack = (on: ObjectStore, version: string) => activate(on, TINY_MODEL, { version, nowMs: now });
  const actors = {
    sweep: sweepAll,
    "roll back": (on: ObjectStore) => rollBack(on, OLDEST),
    "roll back less": (on: ObjectStore) => rollBack(on, built[COUNT - 3]!.version),
    run: (on: ObjectStore) => put(on, COUNT).then(() => sweepAll(on)),
    "next run": (on: ObjectStore) => put(on, COUNT + 1).then(() => sweepAll(on)),
  };
  return { store, actors, nowMs: now };
}
type Actor = keyof Awaited<ReturnType<typeof world>>["actors"];

/** Runs may have pushed the version out of the newest five, so that it cannot be activated any more. */
function expected(error: Error & { code?: string }): void {
  if (error.code !== "version_not_found") throw error;
}

test.each<{ crowd: Actor[]; numRuns: number }>([
  { crowd: ["sweep", "roll back"], numRuns: 200 },
  { crowd: ["run", "roll back", "sweep", "roll back less", "next run"], numRuns: 100 },
])(
  "$crowd at once, in any order of their calls: each version that can be activated is whole",
  async ({ crowd, numRuns }) => {
    const inOneOrder = async (scheduler: fc.Scheduler) => {
      const { store, actors, nowMs } = await world();
      const work = crowd.map((actor, i) => {
        const turn = scheduler.scheduleFunction(async (_call: string) => {});
        return actors[actor](aroundCalls(store, (name) => turn(`${i} ${actor}: ${name}`))).catch(expected);
      });
      await scheduler.waitFor(Promise.all(work));
      const live = await servedVersion(store, TINY_MODEL);
      expect(live).not.toBeNull();
      for (const version of await versionNames(store, TINY_MODEL, { live, nowMs })) {
        await activate(store, TINY_MODEL, { version, nowMs });
        expect(await servedVersion(store, TINY_MODEL)).toBe(version);
      }
    };
    await fc.assert(fc.asyncProperty(fc.scheduler(), inOneOrder), { numRuns });
  },
  60_000,
);
