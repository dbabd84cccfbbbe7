import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Connector, ReadOptions, SourceRows } from "../../../../../trainer/read/connectors/connector.ts";
import { type BigQueryWorld, bigqueryWorld, READER } from "../../../../fixtures/bigquery-world.ts";
import { connectorSuite } from "../../../../suites/connector-suite.ts";

const never = new AbortController().signal;
const THINGS = "`acme-data.shop.things`";
let world: BigQueryWorld;
beforeAll(async () => {
  world = await bigqueryWorld();
});
afterAll(() => world.stop());

/** The suite names its table `things`; in BigQuery a table has its project and dataset before it. */
function qualified(connector: Connector): Connector {
  const whole = (query: string) => query.replace(/\b(FROM|INTO|UPDATE|TABLE|JOIN) things\b/g, `$1 ${THINGS}`);
  return {
    ...connector,
    inspect: (query, options) => connector.inspect(whole(query), options),
    read: (query, options) => connector.read(whole(query), options),
  };
}

describe("over REST pages", () => {
  connectorSuite({
    async holding(table) {
      await world.hold("things", table);
      return qualified(await world.open());
    },
  });
});

async function rowsOf(connector: Connector, query: string, options: Partial<ReadOptions> = {}) {
  const source: SourceRows = await connector.read(query, { signal: never, ...options });
  const rows: unknown[][] = [];
  for await (const chunk of source.chunks) rows.push(...chunk.getRows());
  return { rows, source };
}
async function failureOf(step: Promise<unknown>) {
  const error = await step.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const { name, code, message, retryable } = error as {
    name: string;
    code: string;
    message: string;
    retryable: boolean;
  };
  return { name, code, message, retryable };
}

test("types of ids, times, labels and attributes", async () => {
  const connector = await world.open();
  const { rows } = await rowsOf(
    connector,
    `SELECT CAST(9007199254740993 AS BIGINT) AS big, CAST(1.10 AS DECIMAL(10,2)) AS price, ['a', 'b c'] AS words, [1, 2] AS numbers,
       CAST('2024-02-29 12:00:00.5+02' AS TIMESTAMPTZ) AS moment, CAST('1969-12-31' AS DATE) AS day,
       CAST('abc' AS BLOB) AS bytes, true AS good, NULL AS nothing`,
  );
  expect(rows[0]!.map((value) => (value === null ? null : String(value)))).toEqual([
    "9007199254740993",
    "1.10",
    "['a', 'b c']",
    "['1', '2']",
    "2024-02-29 10:00:00.5",
    "1969-12-31",
    "YWJj",
    "true",
    null,
  ]);
  const { message } = await failureOf(rowsOf(connector, "SELECT {'a': 1} AS pair"));
  expect(message).toContain('"pair" is RECORD');
  await connector.close();
});

test("a dry run comes first, and jobs have labels, a limit of bytes and an origin for the record", async () => {
  await world.hold("labelled", { columns: { n: "integer" }, rows: [[1]] });
  const connector = await world.open({ bigqueryBytesBilledMax: 5e7 });
  const { source } = await rowsOf(connector, "SELECT n FROM `acme-data.shop.labelled`");
  const job = [...world.fake.jobs.values()].at(-1)!;
  expect(source.origin).toBe(`BigQuery job acme-data:EU.${job.id}`);
  expect(job.configuration).toMatchObject({
    labels: { application: "shortlist", customer: "acme" },
    query: { maximumBytesBilled: "50000000" },
  });
  const inserts = world.fake.requests.filter((route) => route === "POST /bigquery/v2/projects/acme-data/jobs");
  expect(inserts.length).toBeGreaterThan(world.fake.jobs.size - 1);
  await connector.close();
});

test("inspect without a sample gives bytes and cost and starts no job", async () => {
  const connector = await world.open();
  const before = world.fake.jobs.size;
  const found = await connector.inspect("SELECT 1 AS one, {'a': 1} AS pair", never);
  expect(found.columns.map(({ name }) => name)).toEqual(["one", "pair"]);
  expect(found.estimatedBytes).toBe(10_485_760);
  expect(found.estimatedCostUsd).toBeCloseTo((10_485_760 / 2 ** 40) * 6.25, 9);
  expect(world.fake.jobs.size).toBe(before);
  await connector.close();
});

test("one customer cannot read with the rights of another", async () => {
  const other = "reader-other@shortlist.iam.gserviceaccount.com";
  world.fake.actAs.add(other);
  world.fake.grants.set(other, new Set(["acme-data", "other-data"]));
  await world.hold("private", { columns: { n: "integer" }, rows: [[1]] });
  const query = "SELECT n FROM `acme-data.shop.private`";
  const theirs = await world.open({ bigqueryServiceAccount: other });
  const refused = await failureOf(rowsOf(theirs, query));
  expect(refused).toMatchObject({ name: "StageError", code: "permission_denied", retryable: false });
  expect(refused.message).toContain(
    `GRANT \`roles/bigquery.dataViewer\` ON SCHEMA \`acme-data.shop\` TO "serviceAccount:${other}"`,
  );
  // Nothing in a request can name the account.
  const named = world.open({ bigqueryServiceAccount: other }, { service_account: READER });
  expect((await failureOf(named)).code).toBe("bad_connector_config");
  const own = await world.open();
  expect((await rowsOf(own, query)).rows).toHaveLength(1);
  await Promise.all([theirs.close(), own.close()]);
});

test.each([
  [
    "another location",
    { config: { location: "US" } },
    "SELECT * FROM `acme-data.shop.things`",
    "dataset_in_other_location",
    '"US"',
  ],
  [
    "no right to run jobs",
    { config: { project_id: "their-project" } },
    "SELECT 1 AS one",
    "permission_denied",
    "roles/bigquery.jobUser",
  ],
  ["an unknown table", {}, "SELECT * FROM `acme-data.shop.missing`", "table_not_found", "project.dataset.table"],
  ["a syntax error", {}, "SELECT 1 AS one,\n  FROM WHERE", "source_query_failed", "(line 2, column 3)"],
  ["a reserved word for a name", {}, "SELECT 1 AS hash", "source_query_failed", "keyword HASH"],
  [
    "bytes above the limit",
    { settings: { bigqueryBytesBilledMax: 1000 } },
    "SELECT 1 AS one",
    "bytes_limit_exceeded",
    "higher limit",
  ],
  [
    "no service account",
    { settings: { bigqueryServiceAccount: null } },
    "SELECT 1 AS one",
    "no_service_account",
    "operator",
  ],
  [
    "no right to act as it",
    { settings: { bigqueryServiceAccount: "stranger@x.iam.gserviceaccount.com" } },
    "SELECT 1 AS one",
    "impersonation_denied",
    "serviceAccountTokenCreator",
  ],
] as const)(
  "%s has its own message and remedy",
  async (_, { settings, config }: { settings?: object; config?: object }, query, code, words) => {
    const failure = await failureOf(
      (async () => rowsOf(await world.open(settings, config as Record<string, unknown>), query))(),
    );
    expect(failure).toMatchObject({ name: "StageError", code, retryable: false });
    expect(failure.message).toContain(words);
  },
);

test.each([
  [
    "billing",
    { status: 403, reason: "billingNotEnabled", message: "Billing has not been enabled for this project" },
    "billing_not_enabled",
  ],
  ["revoked credentials", { status: 401, reason: "authError", message: "Invalid Credentials" }, "credentials_refused"],
] as const)("%s", async (_, fault, code) => {
  world.fake.faults.push({ on: /POST .*jobs$/, ...fault }, { on: /POST .*jobs$/, ...fault });
  expect((await failureOf((async () => rowsOf(await world.open(), "SELECT 1 AS one"))())).code).toBe(code);
  world.fake.faults.length = 0;
});

test("requests refused by quota or a fault of the service are retried", async () => {
  const connector = await world.open();
  world.fake.faults.push(
    { on: /POST .*jobs$/, status: 403, reason: "quotaExceeded", message: "Quota exceeded" },
    { on: /POST .*jobs$/, status: 503, reason: "backendError", message: "try again" },
    { on: /GET .*queries/, status: 503 }, // once the job is done, and is to be paid for
  );
  expect((await rowsOf(connector, "SELECT 7 AS n")).rows).toEqual([[7n]]);
  expect(world.fake.faults).toEqual([]);
  await connector.close();
});

test("after a cut connection the reading continues at the same page; no row is lost or repeated", async () => {
  await world.hold("long", { columns: { n: "integer" }, rows: Array.from({ length: 5500 }, (_, i) => [i]) });
  const connector = await world.open();
  const source = await connector.read("SELECT n FROM `acme-data.shop.long` ORDER BY n", { signal: never });
  const seen: number[] = [];
  let cut = false;
  for await (const chunk of source.chunks) {
    seen.push(...chunk.getColumnValues(0).map(Number));
    if (!cut) world.fake.faults.push({ on: /GET .*queries/, reset: true }, { on: /GET .*queries/, status: 503 });
    cut = true;
  }
  expect(world.fake.faults).toEqual([]);
  expect(seen).toEqual(Array.from({ length: 5500 }, (_, i) => i));
  await connector.close();
});

test("stopping a run cancels its job; a job cancelled by others fails as job_cancelled", async () => {
  const running = { on: /job runs on/ };
  world.fake.faults.push(running);
  const controller = new AbortController();
  const reason = new Error("stop now");
  const connector = await world.open();
  const reading = connector.read("SELECT 1 AS slow", { signal: controller.signal });
  reading.catch(() => undefined);
  await expect.poll(() => [...world.fake.jobs.values()].at(-1)?.state).toBe("RUNNING");
  controller.abort(reason);
  await expect(reading).rejects.toBe(reason);
  await expect.poll(() => [...world.fake.jobs.values()].at(-1)!.cancelled).toBe(true);

  const second = connector.read("SELECT 2 AS slow", { signal: never });
  second.catch(() => undefined);
  await expect.poll(() => [...world.fake.jobs.values()].at(-1)?.cancelled).toBe(false);
  [...world.fake.jobs.values()].at(-1)!.cancelled = true;
  expect((await failureOf(second)).code).toBe("job_cancelled");
  world.fake.faults.length = 0;
  await connector.close();
});

test("no message contains a token", async () => {
  const failure = await failureOf((async () => rowsOf(await world.open(), "SELECT * FROM `acme-data.shop.missing`"))());
  expect(JSON.stringify(failure)).not.toMatch(/as:reader|Bearer/);
});
