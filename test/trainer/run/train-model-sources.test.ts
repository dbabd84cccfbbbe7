import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readLivePointer, setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { readManifest } from "../../../trainer/store/versions.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { trainOnFiles } from "../../fixtures/train-on-files.ts";

const model = { customer: "acme", modelName: "shop" };
const NOW = Date.parse("2024-03-01T00:00:00Z");
let folder: string;
let store: ObjectStore;
let runs = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "train-sources-"));
  store = memoryStore();
  await setStatus(store, model, { status: "SCHEDULING", nowMs: NOW });
});
afterAll(() => rm(folder, { recursive: true }));

const clicks = (rows: number) =>
  Array.from({ length: rows }, (_, i) => `u${i % 40},i${(i * 7) % 40},${1_700_000_000 + i},1`);
const items = (count: number, stock = "true") => Array.from({ length: count }, (_, i) => `i${i},${stock}`);
async function train(
  { rows = 400, catalog = items(40), itemsLagHours }: { rows?: number; catalog?: string[]; itemsLagHours?: number },
  ignored?: "source_shrunken"[],
) {
  await writeFile(join(folder, "clicks.csv"), ["user_id,item_id,at,label", ...clicks(rows)].join("\n"));
  await writeFile(join(folder, "items.csv"), ["item_id,stock", ...catalog].join("\n"));
  const { outcome, data } = await trainOnFiles({
    model,
    folder,
    location: "*.csv",
    schema: {
      user: { id: "user_id" },
      item: { id: "item_id", source: { query: "SELECT * FROM items" } },
      interaction: {
        created_at: "at",
        label: { type: "Binary", name: "label" },
        source: { query: "SELECT * FROM clicks" },
      },
    },
    store,
    ...(itemsLagHours !== undefined && { itemsLagHours }),
    nowMs: NOW + 60_000 * runs++,
    settings: { fitSecondsMax: 1, ignoreGate: false, ...(ignored && { ignored }) },
  });
  return { outcome, data, live: (await readLivePointer(store, model))!.pointer.live };
}

test("a source that has lost rows or values is refused, the live version stays, and a call may ignore it once", async () => {
  const { outcome, data, live: first } = await train({});
  expect(outcome).toMatchObject({ kind: "published" });
  expect(data).toMatchObject({ catalog_items: 40 });

  const losses: [{ rows?: number; catalog?: string[] }, string][] = [
    [{ rows: 30 }, "The source of interactions has 30 rows, and had 400"],
    [{ catalog: items(15) }, "The source of items has 15 rows, and had 40"],
    [{ catalog: [] }, "The source of items has 0 rows, and had 40"],
    [
      { catalog: items(40).map((row) => `x${row}`) },
      "The source of items has 0 items that were interacted with, and had 40",
    ],
    [{ catalog: items(40, "") }, 'No row of the source of items has a value of "stock" any more'],
  ];
  for (const [smaller, reason] of losses) {
    const { outcome: refused, live } = await train(smaller);
    expect(refused).toMatchObject({ kind: "refused", code: "source_shrunken" });
    expect(refused.kind === "refused" && refused.reasons.join()).toContain(reason);
    expect(live).toEqual(first);
  }

  const accepted = await train({ catalog: items(15) }, ["source_shrunken"]);
  expect(accepted.outcome).toMatchObject({ kind: "published" });
  expect(accepted.data!.warnings.join()).toContain("25 of 40 items are in no list");
  const manifest = await readManifest(store, model, accepted.live!.version);
  expect(manifest).toMatchObject({ item_count: 40, listed_count: 15 });
  expect(manifest!.changes_from).toBe(NOW / 1000 + 60 * (runs - 1) - 24 * 3600); // the default lag
  // The next training is compared with what was accepted.
  expect((await train({ catalog: items(14) })).outcome).toMatchObject({ kind: "published" });
}, 120_000);

test("with items_lag_hours 0, the version says that its sources are newer than every change before the run", async () => {
  const { live } = await train({ catalog: items(15), itemsLagHours: 0 }, ["source_shrunken"]);
  const manifest = await readManifest(store, model, live!.version);
  expect(manifest!.changes_from).toBe(NOW / 1000 + 60 * (runs - 1));
});

test("the attribute that orders the newest items is in the manifest, if it is a time", async () => {
  const own = { customer: "acme", modelName: "newest" };
  await setStatus(store, own, { status: "SCHEDULING", nowMs: NOW });
  const trainWith = async (created_at: string) => {
    await writeFile(join(folder, "clicks.csv"), ["user_id,item_id,at,label", ...clicks(400)].join("\n"));
    const rows = Array.from({ length: 40 }, (_, i) => `i${i},2024-01-${String((i % 28) + 1).padStart(2, "0")},${i}`);
    await writeFile(join(folder, "items.csv"), ["item_id,launched,size", ...rows].join("\n"));
    const { outcome } = await trainOnFiles({
      ...{ model: own, folder, location: "*.csv", store, nowMs: NOW + 60_000 * runs++ },
      schema: {
        user: { id: "user_id" },
        item: { id: "item_id", created_at, source: { query: "SELECT * FROM items" } },
        interaction: {
          ...{ created_at: "at", label: { type: "Binary", name: "label" }, source: { query: "SELECT * FROM clicks" } },
        },
      },
      settings: { fitSecondsMax: 1, ignoreGate: true },
    });
    return outcome;
  };
  const published = await trainWith("launched");
  expect(published.kind).toBe("published");
  const { version } = published as { version: string };
  expect((await readManifest(store, own, version))!.item_created_at).toBe("launched");
  await expect(trainWith("size")).rejects.toMatchObject({ code: "item_created_at_unreadable" });
  await expect(trainWith("weight")).rejects.toThrow("the items have no such attribute");
});
