import { expect, test } from "vitest";
import { deleteObjects } from "../../../trainer/store/delete-objects.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";

test("a trainer that is taken over deletes nothing more", async () => {
  const store = memoryStore();
  const keys = Array.from({ length: 20 }, (_, i) => `o${i}`);
  for (const key of keys) await store.putIfAbsent(key, new Uint8Array(1), "x");
  let allowed = 7;
  const { signal } = new AbortController();
  const mayDelete = async () => allowed-- > 0;
  await expect(deleteObjects(store, keys, { signal, mayDelete })).rejects.toThrow("taken over by another trainer");
  expect(await Array.fromAsync(store.list(""))).toHaveLength(13);
});
