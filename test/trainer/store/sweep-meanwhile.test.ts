/**
 * Goal: whatever is live is whole, whoever sweeps, activates and publishes at the same time.
 * Method: two of them, one begins, the other comes in at one of its store calls and gives way again at one of its own:
 * every such pair of calls. Then all of them at once, in orders of their store calls that are drawn.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { versionName } from "../../../trainer/publish/build-version.ts";
import { setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import { memoryStore } from "../../../trainer/store/memory-store.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { publish } from "../../../trainer/store/publish.ts";
import { sweep } from "../../../trainer/store/sweep.ts";
import type { BuiltVersion } from "../../../trainer/store/version-files.ts";
import { activate, versionNames } from "../../../trainer/store/versions.ts";
import { aroundCalls, meanwhileStore } from "../../fixtures/meanwhile-store.ts";
import { servedVersion, TINY_MODEL, tinyVersion } from "../../fixtures/tiny-version.ts";

const DAY = 86_400_000;
const KEPT = 2;
const signal = new AbortController().signal;

/** Four versions, of which a sweep takes two away; a new one that has the files of the oldest; what is stored by then. */
async function shelf() {
  let now = 0;
  const store = memoryStore(() => now);
  await setStatus(store, TINY_MODEL, { status: "DEPLOYING", nowMs: 0 });
  const built: BuiltVersion[] = [];
  for (let day = 0; day < 4; day++) {
    now = day * DAY;
    built.push(await tinyVersion(`v${day}`, now));
    await publish(built[day]!, new Uint8Array(1), { store, nowMs: () => now, signal, progress: () => {} });
  }
  const [oldest, second, , newest] = built.map(({ version }) => version) as [string, string, string, string];
  const manifest = { ...built[0]!.manifest, created_at: new Date(8 * DAY).toISOString() };
  const again: BuiltVersion = { ...built[0]!, manifest, version: await versionName(manifest) };
  const objects = await Array.fromAsync(store.list(""), async ({ key, modifiedMs }) => {
    return { key, modifiedMs, bytes: (await store.get(key))!.bytes };
  });
  return { objects, again, oldest, second, newest };
}
const { objects: stored, again, oldest, second, newest } = await shelf();

/** What is stored, five days later, and who may do something with it. */
async function world() {
  let now = 0;
  const store = memoryStore(() => now);
  for (const { key, modifiedMs, bytes } of stored) {
    now = modifiedMs;
    await store.putIfAbsent(key, bytes, "");
  }
  now = 8 * DAY;
  const rollBack = (on: ObjectStore, version: string) => activate(on, TINY_MODEL, { version, nowMs: now });
  const actors = {
    sweep: async (on = store) => {
      await sweep(on, TINY_MODEL, { keepVersions: KEPT, nowMs: now, signal });
    },
    "roll back": (on = store) => rollBack(on, oldest),
    "roll back less": (on = store) => rollBack(on, second),
    "publish again": async (on = store) => {
      await publish(again, new Uint8Array(1), { store: on, nowMs: () => now, signal, progress: () => {} });
    },
  };
  const later = () => {
    now += 2 * DAY;
  };
  return { store, actors, later };
}
type Actor = keyof Awaited<ReturnType<typeof world>>["actors"];

type Outcome = { first: boolean; second: boolean; served: string | null; objects: number };

/** How it ends for each pair of calls: whether each of the two succeeded, what is live, how many objects there are. */
async function everyPair(first: Actor, second: Actor): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let entry = 1; ; entry++) {
    for (let exit = 1; ; exit++) {
      const { outcome, entered, left } = await onePair({ first, entry }, { second, exit });
      if (!entered) return outcomes;
      outcomes.push(outcome);
      if (!left) break; // the second has come to its end inside that call of the first
    }
  }
}

async function onePair(
  { first, entry }: { readonly first: Actor; readonly entry: number },
  { second, exit }: { readonly second: Actor; readonly exit: number },
) {
  const { store, actors } = await world();
  const did = (work: Promise<unknown>) => work.then(() => true).catch(expected);
  const leaves = Promise.withResolvers<void>();
  const firstEnds = Promise.withResolvers<void>();
  let [entered, left] = [false, false];
  let secondDid: Promise<boolean> | undefined;
  const comeIn = async () => {
    entered = true;
    secondDid = did(actors[second](meanwhileStore(store, { call: exit, happens: giveWay }).store));
    await Promise.race([secondDid, leaves.promise]);
  };
  const giveWay = async () => {
    left = true;
    leaves.resolve();
    await firstEnds.promise;
  };
  const firstDid = await did(actors[first](meanwhileStore(store, { call: entry, happens: comeIn }).store));
  firstEnds.resolve();
  const ended = { first: firstDid, second: (await secondDid) ?? false };
  const objects = (await Array.fromAsync(store.list(""))).length;
  return { entered, left, outcome: { ...ended, served: await servedVersion(store, TINY_MODEL), objects } };
}

/** What an actor may answer: the version is not there (any more), or the store is to be asked again. */
function expected(error: Error & { code?: string; retryable?: boolean }): boolean {
  if (error.code === "version_not_found" || error.retryable) return false;
  throw error;
}

test.each([
  ["sweep", "roll back"],
  ["roll back", "sweep"],
] as const)(
  "%s, meanwhile %s: the roll-back succeeds and is whole, or is refused and changes nothing",
  async (first, second) => {
    const rollBack = first === "sweep" ? "second" : "first";
    const outcomes = await everyPair(first, second);
    expect(new Set(outcomes.map((outcome) => outcome[rollBack]))).toEqual(new Set([true, false]));
    for (const outcome of outcomes) expect(outcome.served).toBe(outcome[rollBack] ? oldest : newest);
  },
);

test.each([
  ["sweep", "publish again"],
  ["publish again", "sweep"],
] as const)("%s, meanwhile %s: a publish that reuses files is live and whole", async (first, second) => {
  for (const outcome of await everyPair(first, second))
    expect(outcome).toMatchObject({ first: true, second: true, served: again.version });
});

test("two sweeps delete what one alone would", async () => {
  const { store, actors } = await world();
  await actors.sweep();
  const objects = (await Array.fromAsync(store.list(""))).length;
  for (const outcome of await everyPair("sweep", "sweep"))
    expect(outcome).toEqual({ first: true, second: true, served: newest, objects });
});

test.each<{ crowd: Actor[]; numRuns: number }>([
  { crowd: ["sweep", "roll back"], numRuns: 500 },
  { crowd: ["sweep", "roll back", "sweep", "roll back less", "publish again"], numRuns: 500 },
])(
  "$crowd at once, in any order of their calls: the live version is whole",
  async ({ crowd, numRuns }) => {
    const inOneOrder = async (scheduler: fc.Scheduler) => {
      const { store, actors } = await world();
      const work = crowd.map((actor, i) => {
        const turn = scheduler.scheduleFunction(async (_call: string) => {});
        return actors[actor](aroundCalls(store, (name) => turn(`${i} ${actor}: ${name}`))).catch(expected);
      });
      await scheduler.waitFor(Promise.all(work));
      expect(await servedVersion(store, TINY_MODEL)).not.toBeNull();
    };
    await fc.assert(fc.asyncProperty(fc.scheduler(), inOneOrder), { numRuns });
  },
  60_000,
);

test("a hold that goes while a sweep looks has left its version in the pointer", async () => {
  const { store, actors } = await world();
  const [looked, swaps] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let rollBack: Promise<unknown> | undefined;
  const slow = aroundCalls(store, async (name) => {
    if (name !== "swap") return;
    swaps.resolve();
    await looked.promise;
  });
  await actors.sweep(
    aroundCalls(store, async (name, key) => {
      if (name === "delete" && rollBack === undefined) {
        rollBack = actors["roll back"](slow);
        await swaps.promise;
      } else if (name === "list" && key.endsWith("/holds/") && rollBack !== undefined) {
        looked.resolve();
        await rollBack;
      }
    }),
  );
  expect(await servedVersion(store, TINY_MODEL)).toBe(oldest);
});

test("a hold that a dead process has left keeps its version for a day, and then goes", async () => {
  const { store, actors, later } = await world();
  const holds = async () => (await Array.fromAsync(store.list("models/acme/movies/holds/"))).length;
  const dying = meanwhileStore(store, { call: 3, happens: () => Promise.reject(new Error("killed")) }).store;
  dying.delete = () => Promise.reject(new Error("killed"));
  await expect(actors["roll back"](dying)).rejects.toThrow("killed");
  await actors.sweep();
  expect([await holds(), (await versionNames(store, TINY_MODEL))[0]]).toEqual([1, oldest]);
  later();
  await actors.sweep();
  expect([await holds(), (await versionNames(store, TINY_MODEL)).includes(oldest)]).toEqual([0, false]);
});
