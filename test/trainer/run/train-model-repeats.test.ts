import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { decodeItemHours } from "../../../shared/item-hours.ts";
import { blobKey, type Descriptor } from "../../../shared/manifest.ts";
import { decodeRepeatIntervals } from "../../../shared/repeat-intervals.ts";
import { seededRandom } from "../../../trainer/learn/numerics/seeded-random.ts";
import { readLivePointer, setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import { readManifest } from "../../../trainer/store/versions.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { trainOnFiles } from "../../fixtures/train-on-files.ts";

const [customer, modelName] = ["acme", "shop"];
const model = { customer, modelName };
const DAY = 86_400;
const FIRST_DAY = 19_560;

/** The store and the manifest of a version of users who each need five items of a hundred every week. */
async function trainedAt(nowMs: number) {
  const store = memoryStore();
  await setStatus(store, model, { status: "SCHEDULING", nowMs });
  const folder = await mkdtemp(join(tmpdir(), "train-repeats-"));
  // They try another item each time: even ones in the morning, odd ones in the evening.
  const random = seededRandom(5);
  const rows = Array.from({ length: 260 }, (_, user) =>
    Array.from({ length: 90 }, (_, row) => {
      const item = row % 6 === 5 ? Math.floor(100 * random()) : (user * 7 + (row % 6)) % 100;
      const second = (item % 2 ? 68_000 : 25_000) + Math.floor(10_000 * random());
      return `u${user},i${item},${DAY * (FIRST_DAY + row) + second},1`;
    }),
  ).flat();
  await writeFile(join(folder, "orders.csv"), ["user_id,item_id,at,label", ...rows].join("\n"));
  const { outcome } = await trainOnFiles({
    ...{ model, folder, location: "*.csv", store, nowMs },
    schema: {
      user: { id: "user_id" },
      item: { id: "item_id" },
      interaction: {
        created_at: "at",
        label: { type: "Binary", name: "label" },
        source: { query: "SELECT * FROM orders" },
      },
    },
    settings: { fitSecondsMax: 1, ignoreGate: true },
  });
  expect(outcome).toMatchObject({ kind: "published" });
  await rm(folder, { recursive: true });
  const { version } = (await readLivePointer(store, model))!.pointer.live!;
  return { store, manifest: (await readManifest(store, model, version))! };
}

test("a version knows how likely users choose again, and at which time of the day, where lists are better by it", async () => {
  const { store, manifest } = await trainedAt(Date.parse("2024-03-01T00:00:00Z"));
  const bytesOf = async (file: Descriptor) => (await store.get(blobKey(customer, modelName, file.digest)))!.bytes;
  expect(decodeRepeatIntervals(await bytesOf(manifest.repeat_intervals!)).odds?.places).toHaveLength(9);
  expect(decodeItemHours(await bytesOf(manifest.item_hours!)).items).toHaveLength(100);
});

test("no times of the day are learnt from rows of the future, whose zone is another one", async () => {
  const lastDayMs = 1000 * DAY * (FIRST_DAY + 89);
  const { manifest } = await trainedAt(lastDayMs + 10 * 3_600_000); // the last evening is ahead, by up to eleven hours
  expect(manifest).not.toHaveProperty("item_hours");
});
