/** Extensions of live versions in a bucket in memory, computed by the real process. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { changesBaseKey, decodeItemChanges } from "../../../../shared/items/changes-file.ts";
import { decodeExtension, extensionKey, extensionPrefix } from "../../../../shared/items/extension-file.ts";
import { POPULARITY } from "../../../../shared/manifest.ts";
import { countOf, stringAt } from "../../../../shared/packed-strings.ts";
import { modelExtender } from "../../../../trainer/manage/models/extend-model.ts";
import { startExtensions } from "../../../../trainer/manage/models/extensions.ts";
import { buildVersion } from "../../../../trainer/publish/build-version.ts";
import { putExtension } from "../../../../trainer/store/extensions.ts";
import { readLivePointer, setStatus } from "../../../../trainer/store/live-pointer-swap.ts";
import type { ObjectStore } from "../../../../trainer/store/object-store.ts";
import { publish } from "../../../../trainer/store/publish.ts";
import { fourTastes, fourTastesModel } from "../../../fixtures/four-tastes.ts";
import { changedItem, writeChanges } from "../../../fixtures/item-changes.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";

const MODEL = { customer: "acme", modelName: "shop" };
const signal = new AbortController().signal;
const MINUTE_MS = 60_000;

let nowMs: number;
let store: ObjectStore;
let reads: string[];
let folder: string;
beforeEach(async () => {
  nowMs = 1_800_000_000_000;
  reads = [];
  const memory = memoryStore(() => nowMs);
  store = {
    ...memory,
    get(key, range) {
      reads.push(key);
      return memory.get(key, range);
    },
  };
  folder = await mkdtemp(join(tmpdir(), "extend-model-"));
  await setStatus(store, MODEL, { status: "SCHEDULING", nowMs });
});
afterEach(() => rm(folder, { recursive: true }));

async function publishShop(method = "similarity", dataset = fourTastes(), report: object = {}): Promise<string> {
  nowMs += 1000;
  const built = await buildVersion({
    ...MODEL,
    itemIdColumn: "item_id",
    createdAtMs: nowMs,
    dataset,
    exported: fourTastesModel(),
    method,
    historyMax: 50,
    workDirectory: folder,
  });
  const context = { store, nowMs: () => nowMs, signal, progress: () => {} };
  await publish(built, new TextEncoder().encode(JSON.stringify(report)), context);
  return built.version;
}
const newItem = (id: string, values: Parameters<typeof changedItem>[1] = { kind: "lamps", price: 40 }) => ({
  ...changedItem(id, values),
  newAt: 1,
});
const write = (...head: ReturnType<typeof changedItem>[]) => writeChanges(store, MODEL, { head });
const extender = () => modelExtender({ store, nowMs: () => nowMs, signal });
const named = async () => (await readLivePointer(store, MODEL))?.pointer.extension;
async function extension() {
  const found = await named();
  const file = found && (await store.get(extensionKey(MODEL.customer, MODEL.modelName, found.file)));
  return file && { version: found.version, ...decodeExtension(file.bytes) };
}
const idsOf = async () => {
  const ids = (await extension())?.ids;
  return ids && Array.from({ length: countOf(ids) }, (_, at) => stringAt(ids, at));
};
const filesOf = () => Array.fromAsync(store.list(extensionPrefix(MODEL.customer, MODEL.modelName)));

test("new items of base and head that share values with others are in the extension of the live version", async () => {
  const version = await publishShop();
  const head = [newItem("lamp"), newItem("odd", { kind: "globes" }), changedItem("i3", { price: 1 })];
  await writeChanges(store, MODEL, { base: [newItem("hat", { kind: "hats" }), newItem("old")], head });
  await extender()(MODEL);
  expect(await extension()).toMatchObject({ version, every: 10 });
  expect((await idsOf())!.sort()).toEqual(["hat", "lamp", "old"]);
});

test("nothing is computed again until the changes or the version are other ones", async () => {
  const first = await publishShop();
  await write(newItem("lamp"));
  const extend = extender();
  await extend(MODEL);
  reads = [];
  await extend(MODEL);
  expect(reads.filter((key) => key.includes("/blobs/"))).toEqual([]);
  await write(newItem("lamp"), newItem("hat", { kind: "hats" }));
  await extend(MODEL);
  expect((await idsOf())!.sort()).toEqual(["hat", "lamp"]);
  expect(await publishShop()).not.toBe(first);
  expect(await named()).toBeUndefined();
  await extend(MODEL);
  expect((await idsOf())!.sort()).toEqual(["hat", "lamp"]);
});

test("a version that has the item by now, one without scores, and withdrawn items need no extension", async () => {
  await publishShop();
  await write(newItem("i7"));
  const extend = extender();
  await extend(MODEL);
  expect(await named()).toBeUndefined();
  await write(newItem("lamp"));
  await extend(MODEL);
  expect(await idsOf()).toEqual(["lamp"]);
  await write({ ...changedItem("lamp", {}) });
  await extend(MODEL);
  expect(await named()).toBeUndefined();
  await publishShop(POPULARITY);
  await write(newItem("lamp"));
  await extend(MODEL);
  expect(await named()).toBeUndefined();
});

test("a version whose data are newer than the item does not have it", async () => {
  await publishShop();
  await write({ ...newItem("lamp"), newAt: 0 });
  await extender()(MODEL);
  expect(await idsOf()).toEqual(["lamp"]);
});

test("an extension is not named for a version that is live no more, and replaced files are deleted after a while", async () => {
  const first = await publishShop();
  const second = await publishShop();
  const put = (version: string, text: string) =>
    putExtension(store, MODEL, { version, bytes: new TextEncoder().encode(text), nowMs });
  await put(first, "of the first");
  expect(await named()).toBeUndefined();
  await put(second, "a");
  await put(second, "b");
  expect(await filesOf()).toHaveLength(3);
  nowMs += 11 * MINUTE_MS;
  await put(second, "b");
  expect((await filesOf()).map(({ key }) => key)).toEqual([
    extensionKey(MODEL.customer, MODEL.modelName, (await named())!.file),
  ]);
});

test("a base that is not there yet is tried again, and failures are logged", async () => {
  await publishShop();
  await writeChanges(store, MODEL, { base: [newItem("lamp")], head: [] });
  const head = (await store.get("models/acme/shop/items/head.bin"))!;
  const baseKey = changesBaseKey("acme", "shop", decodeItemChanges(head.bytes).base!.digest);
  const base = (await store.get(baseKey))!;
  await store.delete(baseKey);
  const log: object[] = [];
  const extensions = startExtensions({ store, nowMs: () => nowMs, log: (entry) => log.push(entry) });
  extensions.notice(MODEL);
  await expect.poll(() => log).toMatchObject([{ event: "version_not_extended", customer: "acme", model_name: "shop" }]);
  await store.putIfAbsent(baseKey, base.bytes, "");
  extensions.notice(MODEL);
  await extensions.finish();
  expect(await idsOf()).toEqual(["lamp"]);
  await extensions.stop();
});
