import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readLivePointer, setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { interactionsCsv, trainOnFiles } from "../../fixtures/train-on-files.ts";

const NOW = Date.parse("2024-03-01T00:00:00Z");
const CANARY = { share: 0.1, hours: 6, goal: { type: "purchase" } };

test("a second training begins a canary, and hands over what the gate decided by", { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "train-canary-"));
  const rows = Array.from({ length: 20 }, (_, i) => `u,i${i},${1_700_000_000 + i},1`);
  await writeFile(join(folder, "interactions.csv"), ["user_id,item_id,at,label", ...rows].join("\n"));
  const store = memoryStore();
  const model = { customer: "acme", modelName: "shop" };
  await setStatus(store, model, { status: "SCHEDULING", nowMs: NOW });
  const train = async (nowMs: number) => {
    const settings = { fitSecondsMax: 3 };
    const { outcome } = await trainOnFiles({
      model,
      folder,
      ...interactionsCsv(),
      store,
      nowMs,
      settings,
      canary: CANARY,
    });
    if (outcome.kind !== "published") throw new Error(outcome.kind);
    return outcome;
  };
  const first = await train(NOW);
  expect(first).not.toHaveProperty("canary");
  const second = await train(NOW + 1000);
  expect(second.canary).toMatchObject({
    version: second.version,
    state: "running",
    ends_at: "2024-03-01T06:00:01.000Z",
  });
  expect(second.report).toHaveProperty("gate");
  const { live, canary } = (await readLivePointer(store, model))!.pointer;
  expect([live!.version, canary!.arms[1]!.version!.version]).toEqual([first.version, second.version]);
  await rm(folder, { recursive: true });
});
