import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { manifestKey, reportKey } from "../../../shared/manifest.ts";
import { gate } from "../../../trainer/choose/decide/gate.ts";
import { readLivePointer, setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "../../../trainer/store/object-store.ts";
import { storedVersions } from "../../../trainer/store/versions.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { interactionsCsv, trainOnFiles } from "../../fixtures/train-on-files.ts";

vi.mock("../../../trainer/choose/decide/gate.ts", () => ({ gate: vi.fn() }));

const model = { customer: "acme", modelName: "shop" };
const DAY_MS = 86_400_000;
const NOW = Date.parse("2024-03-01T00:00:00Z");
const OLD = Array.from({ length: 13 }, (_, i) => `0-${String.fromCharCode(97 + i)}`);
const SPENT = OLD.slice(0, 4);
let folder: string;
let store: ObjectStore;
let storeMs = NOW;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "train-remains-"));
  const rows = Array.from(
    { length: 600 },
    (_, row) => `u${row % 60},i${(row * 7) % 11},${NOW / 1000 - 9e6 + row * 1e3},1`,
  );
  await writeFile(join(folder, "interactions.csv"), ["user_id,item_id,at,label", ...rows].join("\n"));
  store = memoryStore(() => storeMs);
  await setStatus(store, model, { status: "SCHEDULING", nowMs: NOW });
  await train("published", NOW);
  const { bytes } = (await store.get(manifestKey("acme", "shop", await liveVersion())))!;
  for (const name of OLD) await store.putIfAbsent(manifestKey("acme", "shop", name), bytes, "application/json");
}, 60_000);
afterAll(() => rm(folder, { recursive: true }));

const liveVersion = async () => (await readLivePointer(store, model))!.pointer.live!.version;

/** Runs a training and returns the errors of its clean-up. */
async function train(kind: "published" | "refused", nowMs: number, on = store) {
  vi.mocked(gate).mockReturnValue({ pass: kind === "published", reasons: ["no"], notes: [] });
  storeMs = nowMs;
  const errors: unknown[] = [];
  const { outcome } = await trainOnFiles({
    model,
    folder,
    ...interactionsCsv(),
    store: on,
    nowMs,
    settings: { fitSecondsMax: 1, ignoreGate: false },
    onCleanupError: (error) => errors.push(error),
  });
  expect(outcome.kind).toBe(kind);
  return errors;
}
const storedNames = async () => (await storedVersions(store, model)).map(({ version }) => version);

test("a version is live although the sweep after it fails; the run reports the error", async () => {
  const down = new StoreError("no list today");
  const list: ObjectStore["list"] = () => {
    throw down;
  };
  expect(await train("published", NOW + 3 * DAY_MS, { ...store, list })).toEqual([down]);
  expect(await storedNames()).toEqual(expect.arrayContaining(OLD));
});

test("a published run deletes the versions beyond the newest ten", async () => {
  expect(await train("published", NOW + 4 * DAY_MS)).toEqual([]);
  const left = await storedNames();
  expect(left.filter((name) => SPENT.includes(name))).toEqual([]);
  expect(left).toContain(await liveVersion());
});

test("a damaged report of the live version counts as absent", async () => {
  const key = reportKey("acme", "shop", await liveVersion());
  await store.swap(key, new TextEncoder().encode("{damaged"), (await store.get(key))!.etag);
  await train("refused", NOW + 5 * DAY_MS);
  expect(vi.mocked(gate).mock.lastCall![1]).toBeUndefined();
});
