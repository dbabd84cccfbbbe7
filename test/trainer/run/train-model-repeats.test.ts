import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { blobKey } from "../../../shared/manifest.ts";
import { decodeRepeatIntervals } from "../../../shared/repeat-intervals.ts";
import { seededRandom } from "../../../trainer/learn/numerics/seeded-random.ts";
import { readLivePointer, setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import { readManifest } from "../../../trainer/store/versions.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { trainOnFiles } from "../../fixtures/train-on-files.ts";

test("a version knows how likely users choose again where lists with seen items are better by it", async () => {
  const [customer, modelName] = ["acme", "shop"];
  const model = { customer, modelName };
  const store = memoryStore();
  const nowMs = Date.parse("2024-03-01T00:00:00Z");
  await setStatus(store, model, { status: "SCHEDULING", nowMs });
  const folder = await mkdtemp(join(tmpdir(), "train-repeats-"));
  // Each user needs five items of a hundred every week, and tries another one each time.
  const random = seededRandom(5);
  const rows = Array.from({ length: 260 }, (_, user) =>
    Array.from({ length: 90 }, (_, row) => {
      const item = row % 6 === 5 ? Math.floor(100 * random()) : (user * 7 + (row % 6)) % 100;
      return `u${user},i${item},${1_690_000_000 + 100 * user + 86_400 * row + Math.floor(40_000 * random())},1`;
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
  const { version } = (await readLivePointer(store, model))!.pointer.live!;
  const { repeat_intervals: file } = (await readManifest(store, model, version))!;
  const { bytes } = (await store.get(blobKey(customer, modelName, file!.digest)))!;
  expect(decodeRepeatIntervals(bytes).odds?.places).toHaveLength(9);
  await rm(folder, { recursive: true });
});
