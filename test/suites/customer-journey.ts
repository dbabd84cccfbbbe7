import { expect, test } from "vitest";
import type { ConnectorConfig } from "../../shared/model-spec.ts";
import type { ApiAnswer, CustomerService } from "../fixtures/customer-service.ts";

/** A customer's store with tables `events (u, i, t, l)` and `products (i, category, price)`. */
export type CustomerStore = {
  readonly connector: ConnectorConfig;
  /** A table's name in the customer's queries. */
  table(name: "events" | "products"): string;
  /** Runs SQL as the owner of the store; tables are in the schema `shop`. */
  execute(sql: string): Promise<void>;
  /** The grants in order, each with the refusal message that precedes it. */
  readonly grants: readonly { readonly refusal: RegExp; grant(): Promise<void> }[];
  revoke(): Promise<void>;
};

export type Journey = { service(): CustomerService; store(): CustomerStore };
type Report = {
  readonly ok: boolean;
  readonly problems: readonly { readonly code: string; readonly message: string; readonly pointer: string }[];
  readonly predicted_training: { readonly rows: number; readonly seconds: number } | null;
  readonly queries: readonly { readonly sample: readonly Record<string, unknown>[] }[];
};

const USERS = 120;
const ITEMS = 40;
const TIMEOUT = 240_000;
/** Every user likes the items of one parity and takes ten of them, an hour apart. */
const EVENTS = `SELECT 'user-' || u AS u, (u % 2) + 2 * ((u * 7 + r * 3) % ${ITEMS / 2}) AS i,
  1700000000 + u * 600 + r * 3600 AS t, 1 AS l FROM generate_series(1, ${USERS}) AS users(u), generate_series(0, 9) AS picks(r)`;
const PRODUCTS = `SELECT i, CASE WHEN i % 4 < 2 THEN 'lamp' ELSE 'rug' END AS category, i * 1.5 AS price
  FROM generate_series(0, ${ITEMS}) AS items(i)`;

/** A new customer's first day over HTTP: dry run, create, refusal, grant, rank, attributes, filter, retrain. */
export function customerJourney({ service, store }: Journey): void {
  const body = () => ({
    model_name: "shop",
    connector_configs: [store().connector],
    schema: {
      user: { id: "u" },
      item: { id: "i" },
      interaction: {
        created_at: "t",
        label: { type: "Binary", name: "l" },
        source: { query: `SELECT u, i, t, l FROM ${store().table("events")}` },
      },
    },
  });
  const dryRun = async () => {
    const answer = await service().call("POST", "/v0/models?dry_run=true", body());
    expect(answer.status).toBe(200);
    return answer.body as Report;
  };
  const rank = async (request: object) => {
    const ask = () => service().call("POST", "/v0/models/shop/rank", request);
    let answer = await ask();
    // Edges see a first version within ten seconds.
    for (let waits = 0; answer.status === 409 && waits < 50; waits++) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      answer = await ask();
    }
    expect(answer.status).toBe(200);
    return (answer.body as unknown[]).map(Number);
  };
  const trained = (since: string | null) =>
    service().until("shop", ({ training, trained_at }) => training.state === "IDLE" && trained_at !== since);

  test("a dry run and a first training without grants are refused with the missing grant", {
    timeout: TIMEOUT,
  }, async () => {
    await store().execute(`CREATE TABLE shop.events AS ${EVENTS}`);
    await store().execute(`CREATE TABLE shop.products AS ${PRODUCTS}`);
    for (const [i, { refusal, grant }] of store().grants.entries()) {
      const { ok, problems } = await dryRun();
      expect([ok, problems]).toEqual([false, [expect.objectContaining({ code: "permission_denied" })]]);
      expect(problems[0]!.message).toMatch(refusal);
      if (i < store().grants.length - 1) await grant();
    }
    expect((await service().call("POST", "/v0/models", body())).status).toBe(201);
    const { failure } = await service().until("shop", ({ status }) => status === "ERROR");
    expect(failure).toMatchObject({ stage: "fetching", code: "permission_denied", retryable: false });
    expect(failure!.message).toMatch(store().grants.at(-1)!.refusal);
    const refused: ApiAnswer = await service().call("GET", "/v0/models/shop/rank?user_id=user-1");
    expect(refused).toMatchObject({ status: 409, body: { code: "model_not_active" } });
  });

  test("with the grants the dry run shows the data and the training goes live", {
    timeout: TIMEOUT,
  }, async () => {
    await store().grants.at(-1)!.grant();
    const report = await dryRun();
    expect([report.ok, report.problems.filter(({ code }) => code !== "few_interactions")]).toEqual([true, []]);
    expect(report.queries[0]!.sample[0]).toMatchObject({ u: expect.stringMatching(/^user-/), l: 1 });
    expect(report.predicted_training).toMatchObject({ rows: USERS * 10 });
    expect((await service().call("POST", "/v0/models/shop/train")).status).toBe(202);
    const record = await trained(null);
    expect(record).toMatchObject({ status: "ACTIVE", failure: null, item_id_type: "integer" });
    expect(record.data).toMatchObject({ users: USERS, items: ITEMS, interactions: USERS * 10 });
    const list = await rank({ user_id: "user-1", limit: 10 });
    expect(list).toHaveLength(10);
    expect(JSON.stringify(record)).not.toMatch(/planted/);
  });

  test("attributes and rows added later are in the next version", { timeout: TIMEOUT }, async () => {
    const unknown = await service().call("POST", "/v0/models/shop/rank", { retrieval: { category: "lamp" } });
    expect(unknown).toMatchObject({ status: 400, body: { code: "unknown_attribute" } });
    const before = await trained(null);
    await store().execute(
      `INSERT INTO shop.events SELECT 'newcomer', 2 * r, 1700600000 + r, 1 FROM generate_series(0, 9) AS picks(r)`,
    );
    const item = { id: "i", source: { query: `SELECT i, category, price FROM ${store().table("products")}` } };
    expect((await service().call("PATCH", "/v0/models/shop", { schema: { item } })).status).toBe(200);
    const { data } = await trained(before.trained_at);
    expect(data!.interactions).toBe(before.data!.interactions + 10);
    expect(data!.item_attributes).toMatchObject([
      { name: "category", type: "Category", inferred: true },
      { name: "price", type: "Numerical", inferred: true },
    ]);
    await expect
      .poll(() => service().call("POST", "/v0/models/shop/rank", { retrieval: { category: "lamp" } }), {
        timeout: 20_000,
      })
      .toMatchObject({ status: 200 });
    const lamps = await rank({ user_id: "user-1", retrieval: { category: "lamp", price: { $lt: 30 } }, limit: 500 });
    expect(lamps.length).toBeGreaterThan(0);
    expect(lamps.filter((id) => id % 4 >= 2 || id * 1.5 >= 30)).toEqual([]);
    const list = await rank({ user_id: "newcomer", limit: 500 });
    expect(list.filter((id) => id % 2 === 0 && id < 20)).toEqual([]);
  });

  test("a failed read keeps the live version", { timeout: TIMEOUT }, async () => {
    const [{ version }, list] = [await trained(null), await rank({ user_id: "newcomer", limit: 500 })];
    await store().revoke();
    expect((await service().call("POST", "/v0/models/shop/train")).status).toBe(202);
    const failed = await service().until("shop", ({ training }) => training.state === "FAILED");
    expect(failed).toMatchObject({ status: "ACTIVE", version, failure: { code: "permission_denied" } });
    expect(await rank({ user_id: "newcomer", limit: 500 })).toEqual(list);
  });
}
