import { expect, test } from "vitest";
import { Problem } from "../../../../shared/problem.ts";
import { CONNECTOR_TYPES, checkConnectorConfig } from "../../../../trainer/read/connectors/connector-config.ts";

const GOOD = {
  BigQuery: { type: "BigQuery", project_id: "acme-shop", location: "EU" },
  Events: { type: "Events" },
  File: { type: "File", location: "shop/*.csv" },
  Postgres: { type: "Postgres", location: "postgres://reader@db.example/shop", password: { env: "NAME" } },
};
const options = { at: "/connector_configs/1", secretPrefix: "SHORTLIST_SECRET_ACME__" };
const faultOf = (config: { type: string; [field: string]: unknown }) => {
  try {
    checkConnectorConfig(config, options);
    return undefined;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { code: error.code, errors: error.errors ?? [], text: JSON.stringify([error.message, error.errors]) };
  }
};

test("each type has a valid configuration", () => {
  expect(Object.keys(GOOD)).toEqual(CONNECTOR_TYPES);
  for (const config of Object.values(GOOD)) expect(faultOf(config)).toBeUndefined();
});

test.each([
  ["PostgreSQL", "Postgres"],
  ["bigquery", "BigQuery"],
  ["Files", "File"],
])("the unknown type %s is answered with %s", (type, near) => {
  const { code, errors } = faultOf({ ...GOOD.File, type })!;
  expect([code, errors[0]?.pointer]).toEqual(["invalid_parameter", "/connector_configs/1/type"]);
  expect(errors[0]?.message).toContain(`did you mean "${near}"?`);
});

test.each(["constructor", "__proto__", "Snowflake"])("%s is refused as a type, and the error lists the types", (type) =>
  expect(faultOf({ type })!.text).toContain("BigQuery, Events, File, Postgres"),
);

test("an address given as type is not repeated in the error", () => {
  const { text } = faultOf({ type: "postgres://u:hunter2@db/x" })!;
  expect(text).toContain("BigQuery, Events, File, Postgres");
  expect(text).not.toContain("hunter2");
});

test.each([
  ["Postgres", { password: "hunter2" }, "password"],
  ["Postgres", { password: { value: "hunter2" } }, "password"],
  ["Postgres", { password: { env: "A", value: "hunter2" } }, "password"],
  ["Postgres", { password: ["hunter2"] }, "password"],
  ["Postgres", { location: "postgres://reader:hunter2@db.example/shop" }, "location"],
  ["Postgres", { location: "postgres://db.example/shop?user=a&password=hunter2" }, "location"],
  ["Postgres", { location: "host=db.example password=hunter2" }, "location"],
  ["Postgres", { pgpassword: "hunter2" }, "pgpassword"],
  ["BigQuery", { credentials: { private_key: "hunter2" } }, "credentials"],
  ["BigQuery", { private_key: "hunter2" }, "private_key"],
  ["BigQuery", { service_account_key: "hunter2" }, "service_account_key"],
  ["File", { location: "https://a:hunter2@files.example/x.csv" }, "location"],
  ["Events", { api_key: "hunter2" }, "api_key"],
  ["File", { api_key: "hunter2" }, "api_key"],
  ["File", { tables: { t: "https://a:hunter2@files.example/x.csv" } }, "tables"],
] as const)("%s with %j is refused for the secret, which is not repeated", (type, change, field) => {
  const { code, errors, text } = faultOf({ ...GOOD[type], ...change })!;
  expect(code).toBe("invalid_parameter");
  expect(errors).toMatchObject([{ pointer: `/connector_configs/1/${field}` }]);
  expect(text).toContain("contains a secret; requests must not");
  expect(text).not.toContain("hunter2");
});

test("the error says how to give the secret", () => {
  expect(faultOf({ ...GOOD.Postgres, password: "hunter2" })!.text).toContain(
    JSON.stringify('"password": {"env": "SHORTLIST_SECRET_ACME__DB"}').slice(1, -1),
  );
  expect(faultOf({ ...GOOD.BigQuery, credentials: {} })!.text).toContain("service account that came with your API key");
});

test.each([
  ["Postgres", { location: "mysql://u@h/d" }, "/location"],
  ["Postgres", { location: "postgres://h/d" }, "/location"],
  ["Postgres", { location: "postgres://u@h/" }, "/location"],
  ["Postgres", { location: "postgres://u@h/100%" }, "/location"],
  ["Postgres", { location: undefined }, "/location"],
  ["Postgres", { sslmode: "prefer" }, "/sslmode"],
  ["Postgres", { project_id: "x" }, "/project_id"],
  ["BigQuery", { project_id: undefined }, "/project_id"],
  ["BigQuery", { location: 7 }, "/location"],
  ["BigQuery", { service_account: "b@x.iam.gserviceaccount.com" }, "/service_account"],
  ["File", { location: "" }, "/location"],
  ["File", { folder: "x" }, "/folder"],
] as const)("%s with %j is refused at %s", (type, change, pointer) =>
  expect(faultOf({ ...GOOD[type], ...change })!.errors).toMatchObject([{ pointer: `/connector_configs/1${pointer}` }]),
);

test("the search for secrets in 250 kB takes no noticeable time", () => {
  const begin = performance.now();
  for (const location of [`postgres://${":".repeat(250_000)}`, `postgres://u${"@".repeat(250_000)}`])
    expect(faultOf({ ...GOOD.Postgres, location })!.code).toBe("invalid_parameter");
  expect(performance.now() - begin).toBeLessThan(1000);
});
