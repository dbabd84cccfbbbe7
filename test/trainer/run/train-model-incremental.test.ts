import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { INCREMENTAL_EVENTS, trainOnFiles } from "../../fixtures/train-on-files.ts";

const model = { customer: "acme", modelName: "shop" };
const NOW = Date.parse("2024-03-01T00:00:00Z");

test("a second run reads only newer rows, because the model's folder keeps the older ones", async () => {
  const folder = await mkdtemp(join(tmpdir(), "train-incremental-"));
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const hold = (rows: number) =>
    connection.run(
      `COPY (SELECT range % 60 AS u, (range * 7) % 23 AS i, make_timestamp(${NOW - 9 * 86_400_000}000 + range * 120000000) AS t, 1 AS l
       FROM range(${rows})) TO '${join(folder, "events.parquet")}' (FORMAT parquet)`,
    );
  const store = memoryStore();
  await setStatus(store, model, { status: "SCHEDULING", nowMs: NOW });
  const run = async () => {
    const { data } = await trainOnFiles({
      model,
      folder,
      ...INCREMENTAL_EVENTS,
      store,
      nowMs: NOW,
      settings: {
        modelDirectory: join(folder, "model"),
        incremental: { overlapSeconds: 3600, fullReadSeconds: 86_400 },
      },
      connector: { memoryMb: 128 },
    });
    return data!;
  };
  try {
    await hold(3000);
    expect((await run()).sources?.join()).toContain("3000 rows read in full");
    await hold(3100);
    const { interactions, sources } = await run();
    expect(interactions).toBe(3100);
    expect(sources?.join()).toMatch(/131 rows read since .*, 2969 kept from before/);
  } finally {
    connection.closeSync();
    instance.closeSync();
    await rm(folder, { recursive: true });
  }
});
