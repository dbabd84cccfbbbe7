import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { interactionsCsv, trainOnFiles } from "../../fixtures/train-on-files.ts";

const NOW = Date.parse("2024-03-01T00:00:00Z");
test.each([
  ["of 2 items", 2, 2],
  ["of 20 items", 20, 20],
  ["with a single positive and one item with a negative label, the minimum,", 2, 1],
])(
  "one user %s gives a version, and a warning",
  async (_, items, positives) => {
    const folder = await mkdtemp(join(tmpdir(), "one-user-"));
    const rows = Array.from({ length: items }, (_, i) => `u,i${i},${1_700_000_000 + i},${i < positives ? 1 : 0}`);
    await writeFile(join(folder, "interactions.csv"), ["user_id,item_id,at,label", ...rows].join("\n"));
    const store = memoryStore();
    const model = { customer: "acme", modelName: "shop" };
    await setStatus(store, model, { status: "SCHEDULING", nowMs: NOW });
    const { outcome, data } = await trainOnFiles({
      model,
      folder,
      ...interactionsCsv(),
      store,
      nowMs: NOW,
      settings: { fitSecondsMax: 3, memoryMbMax: 2048, edgeMemoryBytes: 80e6, ignoreGate: false },
      connector: { memoryMb: 256 },
    });
    expect(outcome).toMatchObject({ kind: "published", metrics: { method: "popularity" } });
    expect(data?.warnings.join()).toContain("all of one user");
    await rm(folder, { recursive: true });
  },
  40_000,
);
