import { expect, test } from "vitest";
import { heldVersions, holdsPrefix, whileHeld } from "../../../trainer/store/holds.ts";
import { memoryStore } from "../../../trainer/store/memory-store.ts";
import { TINY_MODEL } from "../../fixtures/tiny-version.ts";

test("a version is held while the work lasts, whether it succeeds or fails", async () => {
  const store = memoryStore();
  const held = () => heldVersions(store, TINY_MODEL);
  expect(await whileHeld(store, TINY_MODEL, { version: "v1.0-a", work: held })).toEqual(["v1.0-a"]);
  const failing = async () => Promise.reject(new Error(`held ${await held()}`));
  await expect(whileHeld(store, TINY_MODEL, { version: "v1", work: failing })).rejects.toThrow("held v1");
  expect(await held()).toEqual([]);
});

test("two who hold one version do not let go of each other's", async () => {
  const store = memoryStore();
  const hold = { version: "v1", work: () => heldVersions(store, TINY_MODEL) };
  const work = async () => {
    await whileHeld(store, TINY_MODEL, hold);
    return heldVersions(store, TINY_MODEL);
  };
  expect(await whileHeld(store, TINY_MODEL, { version: "v1", work })).toEqual(["v1"]);
});

test("a hold that could not be written stops the work; one that cannot be taken back does not spoil it", async () => {
  const store = memoryStore();
  const down = () => Promise.reject(new Error("down"));
  const work = async () => "done";
  await expect(whileHeld({ ...store, putIfAbsent: down }, TINY_MODEL, { version: "v1", work })).rejects.toThrow("down");
  expect(await whileHeld({ ...store, delete: down }, TINY_MODEL, { version: "v1", work })).toBe("done");
  expect(holdsPrefix(TINY_MODEL)).toBe("models/acme/movies/holds/");
});
