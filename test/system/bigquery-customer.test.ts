import { afterAll, beforeAll, expect, test } from "vitest";
import { type BigQueryWorld, bigqueryWorld, READER } from "../fixtures/bigquery-world.ts";
import { type CustomerService, startCustomerService } from "../fixtures/customer-service.ts";
import { customerJourney } from "../suites/customer-journey.ts";

let world: BigQueryWorld;
let service: CustomerService;
beforeAll(async () => {
  world = await bigqueryWorld();
  world.fake.grants.set(READER, new Set());
  service = await startCustomerService({ SHORTLIST_BIGQUERY_ENDPOINT: world.fake.url }, ["--service-account", READER]);
}, 240_000);
afterAll(async () => {
  await service?.stop();
  await world?.stop();
});

const granted = () => world.fake.grants.get(READER)!;

customerJourney({
  service: () => service,
  store: () => ({
    connector: { type: "BigQuery", project_id: "acme-data", location: "EU" },
    table: (name) => `\`acme-data.shop.${name}\``,
    execute: (sql) => world.fake.engine.execute(sql),
    grants: [
      {
        refusal: /add-iam-policy-binding acme-data .*roles\/bigquery\.jobUser/,
        grant: async () => void granted().add("acme-data"),
      },
      {
        refusal: /GRANT `roles\/bigquery\.dataViewer` ON SCHEMA `acme-data\.shop` TO "serviceAccount:reader-acme/,
        grant: async () => void granted().add("acme-data.shop"),
      },
    ],
    revoke: async () => void granted().delete("acme-data.shop"),
  }),
});

test("the record names the jobs, and deleting the model cancels the one that runs", { timeout: 120_000 }, async () => {
  granted().add("acme-data.shop");
  const { data } = await service.until("shop", () => true);
  expect(data!.sources).toContainEqual(expect.stringMatching(/BigQuery job acme-data:EU\.shortlist-/));
  world.fake.faults.push({ on: /job runs on/ });
  expect((await service.call("POST", "/v0/models/shop/train")).status).toBe(202);
  const newest = () => [...world.fake.jobs.values()].at(-1)!;
  await expect.poll(() => newest().state).toBe("RUNNING");
  expect([200, 202]).toContain((await service.call("DELETE", "/v0/models/shop")).status);
  await expect.poll(() => newest().cancelled).toBe(true);
  await expect.poll(async () => (await service.call("GET", "/v0/models/shop")).status).toBe(404);
});
