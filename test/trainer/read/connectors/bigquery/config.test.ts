import { expect, test } from "vitest";
import { parseBigQueryConfig } from "../../../../../trainer/read/connectors/bigquery/config.ts";

const good = { type: "BigQuery", project_id: "my-shop-123", location: "europe-west1" };

test("a configuration has a project and a location", () =>
  expect(parseBigQueryConfig(good)).toEqual({ projectId: "my-shop-123", location: "europe-west1" }));

test.each([
  [{ project_id: "My Shop" }, "project_id: must be a project id"],
  [{ project_id: undefined }, "project_id"],
  [{ location: "" }, 'location: must be a location such as "EU"'],
  [{ location: "EU; DROP" }, "location"],
  [{ service_account: "b@x.iam.gserviceaccount.com" }, "service_account"],
  [{ keyFile: "/etc/passwd" }, "keyFile"],
])("%j is refused: %s", (change, reason) => {
  expect(() => parseBigQueryConfig({ ...good, ...change })).toThrow(reason);
});
