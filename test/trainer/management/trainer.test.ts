import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { livePointerKey } from "../../../shared/manifest.ts";
import { ModelRecord } from "../../../shared/model-record.ts";
import { startHarness } from "../../fixtures/trainer-harness.ts";

type Harness = Awaited<ReturnType<typeof startHarness>>;

const pointerOf = async ({ store }: Harness, name: string, customer = "acme") => {
  const found = await store.get(livePointerKey(customer, name));
  return found && JSON.parse(new TextDecoder().decode(found.bytes));
};

describe("the life of a model", () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
  });
  afterAll(() => harness.stop());

  test("is created, trains, and is active", async () => {
    const created = await harness.create(
      "shop",
      "progress FETCHING\ndata\nprogress TRAINING\nprogress DEPLOYING\npublish v1",
    );
    expect(created.status).toBe(201);
    expect(created.headers.get("location")).toBe("/v0/models/shop");
    expect(ModelRecord.parse(created.body)).toMatchObject({
      model_name: "shop",
      model_url: "https://rank.example/v0/models/shop",
      status: "SCHEDULING",
      version: null,
      training: { state: "SCHEDULED", next_run_at: null },
    });
    const record = await harness.until("shop", ({ status }) => status === "ACTIVE");
    expect(ModelRecord.parse(record)).toMatchObject({
      version: "v1",
      item_id_type: "integer",
      data: { users: 2 },
      metrics: { method: "popular", "ndcg@10": 0.2 },
      training: { state: "IDLE", progress: null },
      failure: null,
    });
    expect(record.trained_at).not.toBe(null);
  });
});
