import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConnectorConfig, ModelSpec } from "../../../../shared/model-spec.ts";
import { readDataset } from "../../../../trainer/read/dataset/read-dataset.ts";
import type { ConnectorSettings } from "../../../../trainer/settings.ts";
import { StageError } from "../../../../trainer/stage/stage-error.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { goesSilentAfter, serverThat } from "../../../fixtures/silent-postgres.ts";
import { smallDisk } from "../../../fixtures/small-disk.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "limits-"));
  await writeFile(join(folder, "one.csv"), "one\n1\n");
});
afterAll(() => rm(folder, { recursive: true }));

const FILE: ConnectorConfig = { type: "File", location: "one.csv" };

/** `count` rows of random users and items. */
const rows = (count: number | string, { user = "range % 1000", item = "range % 500" } = {}) =>
  `SELECT ${user} AS user_id, ${item} AS item_id, 1700000000 + range % 86400 AS at, 1 AS label FROM range(${count}), one`;

type Given = {
  readonly query: string;
  readonly work?: string;
  readonly settings?: Partial<ConnectorSettings>;
  readonly config?: ConnectorConfig;
};

/** The StageError that ends the reading. Checks that no file is left. */
async function endOf(given: Given): Promise<StageError> {
  const workDirectory = await mkdtemp(join(given.work ?? folder, "run-"));
  try {
    const error = await readIn(workDirectory, given).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof StageError)) throw new Error(`It did not end with a reason: ${error}`, { cause: error });
    expect(await readdir(workDirectory)).toEqual([]);
    return error;
  } finally {
    await rm(workDirectory, { recursive: true });
  }
}

function readIn(workDirectory: string, { query, settings, config = FILE }: Given) {
  const spec = ModelSpec.parse({
    model_name: "limits",
    connector_configs: [config],
    schema: {
      user: { id: "user_id" },
      item: { id: "item_id" },
      interaction: { created_at: "at", label: { type: "Binary", name: "label" }, source: { query } },
    },
  });
  return readDataset(spec, {
    context: { customer: "test", settings: { ...fileSettings([folder], workDirectory), memoryMb: 128, ...settings } },
    workDirectory,
    rejectedFractionMax: 0.01,
    signal: new AbortController().signal,
    nowMs: Date.UTC(2026, 0, 1),
    progress: () => undefined,
  });
}

describe("harmful sources end the run with a reason and leave no files", () => {
  test("a query of ten billion rows", async () => {
    const { code, message } = await endOf({ query: rows("10_000_000_000"), settings: { rowsMax: 300_000 } });
    expect([code, message]).toEqual(["too_many_rows", expect.stringContaining("more than the 300000 rows allowed")]);
  });

  test("a source that is slower than its deadline", async () => {
    const slow = `SELECT * FROM (${rows(10)}) WHERE user_id < (SELECT max(a.range * b.range) FROM range(10_000_000) a, range(10_000) b)`;
    const { code } = await endOf({ query: slow, settings: { timeoutSeconds: 0.5 } });
    expect(code).toBe("source_timeout");
  });

  test("a server that greets and goes silent, while another customer's files are read", async () => {
    const server = await serverThat(goesSilentAfter(0));
    const location = `postgres://reader@127.0.0.1:${server.target.port}/shop`;
    const config = { type: "Postgres", location, sslmode: "disable" };
    const work = await mkdtemp(join(folder, "other-"));
    const [{ code, message }, other] = await Promise.all([
      endOf({ query: "SELECT 1", config, settings: { connectSeconds: 1, allowPrivateAddresses: true } }),
      readIn(work, { query: rows(2000) }),
    ]);
    expect([code, message]).toEqual(["source_silent", expect.stringContaining("SHORTLIST_CONNECT_SECONDS")]);
    expect(other.summary.interactions).toBe(2000);
    await rm(work, { recursive: true });
    server.close();
  });

  test("a column of texts of 1 MB", async () => {
    const { code, message } = await endOf({ query: rows(3000, { item: "repeat('x', 1_000_000) || range" }) });
    expect([code, message]).toEqual(["source_out_of_memory", expect.stringContaining("more memory")]);
  });

  test("a query of two billion rows that exceed the run's disk budget", async () => {
    const query = rows(2_000_000_000, { user: "hash(range)", item: "hash(range + 1)" });
    const error = await endOf({ query, settings: { diskBytesMax: 2e7, rowsMax: 1e12 } });
    expect(error).toMatchObject({ code: "disk_budget_exceeded", retryable: false });
    expect(error.message).toContain("more than 20000000 bytes of disk (SHORTLIST_RUN_DISK_BYTES)");
  });

  const full = smallDisk("24m");
  test.skipIf(full === undefined)("a full disk", async () => {
    const query = rows(5_000_000, { user: "hash(range)", item: "hash(range + 1)" });
    expect(await endOf({ query, work: full! })).toMatchObject({ code: "work_disk_full", retryable: false });
  });
});
