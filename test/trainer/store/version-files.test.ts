import { expect, test } from "vitest";
import { describe, descriptorsOf, faultOf, storeFile, versionFile } from "../../../trainer/store/version-files.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { TINY_MODEL, tinyVersion } from "../../fixtures/tiny-version.ts";

const abc = new TextEncoder().encode("abc");
const ABC = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-2, appendix B.1

test("bytes and a Blob of the same bytes have the same descriptor", async () => {
  const expected = { media_type: "x", digest: ABC, size: 3 };
  expect(await describe(abc, "x")).toEqual(expected);
  expect(await describe(new Blob([abc]), "x")).toEqual(expected);
});

test("all files of a manifest are listed, a repeated one once", async () => {
  const { manifest, files } = await tinyVersion("a", 0);
  expect(
    descriptorsOf(manifest)
      .map((file) => file.digest)
      .sort(),
  ).toEqual(files.map((file) => file.descriptor.digest).sort());
  const twice = { ...manifest, attributes: manifest.catalog };
  expect(descriptorsOf(twice)).toHaveLength(files.length);
});

test("each fault is described", async () => {
  const store = memoryStore();
  await store.putIfAbsent("short", abc.subarray(1), "x");
  await store.putIfAbsent("other", new TextEncoder().encode("abd"), "x");
  await store.putIfAbsent("right", abc, "x");
  const descriptor = await describe(abc, "x");
  expect(await faultOf(store, "absent", descriptor)).toBe("absent is absent");
  expect(await faultOf(store, "short", descriptor)).toBe("short has 2 bytes, expected 3");
  expect(await faultOf(store, "other", descriptor)).toMatch(`expected ${ABC}`);
  expect(await faultOf(store, "right", descriptor)).toBeUndefined();
});

test("a file larger than one range is read in ranges", async () => {
  const store = memoryStore();
  const large = new Uint8Array(17 * 2 ** 20).fill(7);
  const lengths: number[] = [];
  await store.putIfAbsent("large", large, "x");
  const watching: typeof store = {
    ...store,
    get: (key, range) => {
      lengths.push(range!.length);
      return store.get(key, range);
    },
  };
  expect(await faultOf(watching, "large", await describe(large, "x"))).toBeUndefined();
  expect(lengths).toEqual([16 * 2 ** 20, 2 ** 20]);
});

test("a stored file of the wrong size is replaced", async () => {
  const store = memoryStore();
  const file = await versionFile(abc, "x");
  const key = `models/acme/movies/blobs/${ABC.slice(7)}`;
  await store.putIfAbsent(key, abc.subarray(1), "x");
  await storeFile(store, TINY_MODEL, file);
  expect((await store.get(key))!.bytes).toEqual(abc);
});
