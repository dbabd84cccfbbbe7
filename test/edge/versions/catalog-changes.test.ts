import { beforeEach, expect, test } from "vitest";
import { catalogChanges } from "../../../edge/versions/catalog-changes.ts";
import type { LoadedVersion } from "../../../edge/versions/load-version.ts";
import { attributesOf } from "../../../shared/attribute-values.ts";
import { decodeAttributes, encodeAttributes } from "../../../shared/attributes.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import { changesHeadKey } from "../../../shared/items/changes-file.ts";
import { memoryReader, type Stored } from "../../fixtures/edge-bucket.ts";
import { liveVersion, smallVersion } from "../../fixtures/edge-version.ts";
import { changedItem, changesObjects, hiddenItem } from "../../fixtures/item-changes.ts";

const SHOP = { customer: "acme", modelName: "shop" };
const HEAD = changesHeadKey("acme", "shop");
const PRICES = decodeAttributes(
  encodeAttributes([{ name: "price", type: "Numerical", values: Float64Array.of(1, 2) }], 2),
);
const broken = () => Promise.reject(new Error("down"));

let objects: Map<string, Stored>;
let now: number;
let background: Promise<unknown>[];
let changes: ReturnType<typeof catalogChanges>;
let reads: string[];
let loaded: LoadedVersion;
beforeEach(() => {
  objects = new Map();
  now = 0;
  background = [];
  changes = catalogChanges(4000);
  loaded = { ...smallVersion(liveVersion("shop", "v1")), attributes: PRICES };
});

const access = () => {
  const { reader, reads: made } = memoryReader(objects);
  reads = made;
  return { nowMs: () => now, waitUntil: (work: Promise<unknown>) => void background.push(work), reader };
};
const logged = <Access>(access: Access) => ({ ...access, log: () => {} });
const applied = (version = loaded) => changes.applied(version, logged(access()), undefined);
const write = (written: Parameters<typeof changesObjects>[1]) => {
  for (const [key, bytes] of changesObjects(SHOP, written)) objects.set(key, bytes);
};
/** By item: its price, or `hidden`. */
const shown = async (version = loaded) => {
  const { attributes, isHidden } = await applied(version);
  return [0, 1].map((item) =>
    isHidden?.(item as ItemIndex) ? "hidden" : (attributesOf(attributes!, item as ItemIndex).price ?? null),
  );
};

test("a model without changes costs one read per refresh, and keeps its version as it is", async () => {
  expect(await applied()).toBe(loaded);
  expect(reads).toEqual([HEAD]);
  now = 3999;
  expect(await applied()).toBe(loaded);
  expect(reads).toEqual([]);
  now = 4000;
  await applied();
  await Promise.all(background);
  expect(reads).toEqual([HEAD]);
});

test("hidden items and changed values come from base and head, and the head's win", async () => {
  write({ base: [changedItem("a", { price: 7 }), hiddenItem("b")], head: [] });
  expect(await shown()).toEqual([7, "hidden"]);
  write({ base: [changedItem("a", { price: 7 }), hiddenItem("b")], head: [changedItem("b", { price: null })] });
  now = 8000;
  expect(await shown()).toEqual([7, null]);
  write({ base: [changedItem("a", { price: 7 }), hiddenItem("b")], head: [changedItem("a", {})] });
  now = 16_000;
  expect(await shown()).toEqual([1, "hidden"]); // the source's price
});

test("nothing is read or applied again while the head stays the same, and a base only when it is another one", async () => {
  write({ base: [changedItem("a", { price: 7 })], head: [changedItem("b", { price: 8 })] });
  const first = await applied();
  expect(reads).toHaveLength(2);
  now = 8000;
  expect(await applied()).toBe(first);
  expect(reads).toEqual([HEAD]);
  write({ base: [changedItem("a", { price: 7 })], head: [changedItem("b", { price: 9 })] });
  now = 16_000;
  expect(await shown()).toEqual([7, 9]);
  expect(reads).toEqual([HEAD]);
  write({ base: [changedItem("a", { price: 7 })], head: [changedItem("a", {}), hiddenItem("b")] });
  now = 24_000;
  expect(await shown()).toEqual([1, "hidden"]);
  expect(reads).toEqual([HEAD]);
  write({ base: [changedItem("a", { price: 7 })], head: [] }); // takes back what the head had
  now = 32_000;
  expect(await shown()).toEqual([7, 2]);
  expect(reads).toHaveLength(2);
});

test("each version in memory has the changes, also those that it cannot hold in part", async () => {
  write({ base: [hiddenItem("b")], head: [changedItem("a", { price: 7 })] });
  await applied();
  const other = { ...smallVersion(liveVersion("shop", "v2")), attributes: null };
  const { attributes, isHidden } = await applied(other);
  expect(attributes).toBeNull();
  expect(isHidden!(1 as ItemIndex)).toBe(true);
});

test("an item that the version has withdrawn stays hidden beside those that the customer hides", async () => {
  write({ head: [changedItem("a", { price: 7 })] });
  const withdrawn = { ...loaded, isHidden: (item: ItemIndex) => item === 1 };
  expect(await shown(withdrawn)).toEqual([7, "hidden"]);
  write({ head: [hiddenItem("a")] });
  now = 8000;
  expect(await shown(withdrawn)).toEqual(["hidden", "hidden"]);
});

test("a change takes effect within the promised time, at any rate of requests", async () => {
  for (const pause of [100, 1000, 3999, 5000, 9999, 100_000]) {
    changes = catalogChanges(4000);
    write({ head: [] });
    await applied();
    write({ head: [hiddenItem("a")] });
    const from = now;
    let isHidden = false;
    while (!isHidden) {
      now += pause;
      background = [];
      isHidden = (await shown())[0] === "hidden";
      if (!isHidden) expect(now - from).toBeLessThan(10_000);
      await Promise.all(background);
    }
  }
});

test("while the head cannot be read, known changes hold for ten seconds, then they are unknown", async () => {
  write({ head: [hiddenItem("a")] });
  await applied();
  objects.set(HEAD, broken);
  now = 9999;
  expect(await shown()).toEqual(["hidden", 2]);
  now = 11_000;
  await expect(applied()).rejects.toThrow("down");
  expect(changes.lastKnown(loaded).isHidden!(0 as ItemIndex)).toBe(true);
});

test("a model that had no changes is served for five minutes while its head cannot be read", async () => {
  await applied();
  objects.set(HEAD, broken);
  for (now = 9000; now < 300_000; now += 9000) expect(await applied()).toBe(loaded);
  now = 310_000;
  await expect(applied()).rejects.toThrow("down");
});

test("a damaged head or base is unknown, not empty", async () => {
  objects.set(HEAD, "damaged");
  await expect(applied()).rejects.toThrow();
  changes = catalogChanges(4000);
  write({ base: [hiddenItem("a")], head: [] });
  const [base] = [...objects.keys()].filter((key) => key !== HEAD);
  objects.set(base!, new Uint8Array(objects.get(base!)!.length as number));
  await expect(applied()).rejects.toThrow("digest");
});

test("concurrent calls read a base once", async () => {
  write({ base: [hiddenItem("a")], head: [] });
  const shared = access();
  await Promise.all([1, 2, 3].map(() => changes.applied(loaded, logged(shared), undefined)));
  expect(reads).toHaveLength(2);
});

test("the changes count as memory of their version", async () => {
  expect(changes.bytesOf(loaded)).toBe(0);
  write({ head: [changedItem("a", { price: 7 }), hiddenItem("b")] });
  await applied();
  expect(changes.bytesOf(loaded)).toBeGreaterThan(0);
});
