import { afterAll, beforeAll, expect, test } from "vitest";
import { customerIdentity } from "../../../../../trainer/read/connectors/bigquery/identity.ts";
import { type BigQueryWorld, bigqueryWorld, READER } from "../../../../fixtures/bigquery-world.ts";

let world: BigQueryWorld;
beforeAll(async () => {
  world = await bigqueryWorld();
});
afterAll(() => world.stop());

test("tokens are made for the customer's account by the trainer's identity", async () => {
  const identity = customerIdentity({ customer: "acme", settings: world.settings() });
  expect(identity.serviceAccount).toBe(READER);
  expect((await identity.client.getAccessToken()).token).toBe(`as:${READER}`);
  expect(world.fake.requests).toContain("POST /token");
});

test("a customer without an account is refused before any request", async () => {
  const before = world.fake.requests.length;
  const settings = world.settings({ bigqueryServiceAccount: null });
  expect(() => customerIdentity({ customer: "acme", settings })).toThrow(/no service account/);
  expect(world.fake.requests.length).toBe(before);
});
