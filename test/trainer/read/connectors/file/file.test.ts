import { appendFile, mkdir, mkdtemp, readdir, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectFile } from "../../../../../trainer/read/connectors/file/file.ts";
import type { ConnectorSettings } from "../../../../../trainer/settings.ts";
import { StageError } from "../../../../../trainer/stage/stage-error.ts";
import { fileSettings } from "../../../../fixtures/real-data.ts";
import { connectorSuite, type StoredTable } from "../../../../suites/connector-suite.ts";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "file-connector-test-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const SQL_TYPE = {
  integer: "BIGINT",
  double: "DOUBLE",
  text: "VARCHAR",
  boolean: "BOOLEAN",
  timestamp: "TIMESTAMP",
  "text[]": "VARCHAR[]",
};

async function writeParquet(path: string, { columns, rows }: StoredTable): Promise<void> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const names = Object.entries(columns).map(([name, kind]) => `"${name}" ${SQL_TYPE[kind]}`);
  await connection.run(`CREATE TABLE things (${names.join(", ")})`);
  const literal = (value: unknown) =>
    value === null ? "NULL" : typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
  if (rows.length > 0)
    await connection.run(
      `INSERT INTO things VALUES ${rows.map((row) => `(${row.map(literal).join(", ")})`).join(", ")}`,
    );
  await connection.run(`COPY things TO '${path}' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync();
}

const never = new AbortController().signal;

async function open(folder: string, location: string, settings: Partial<ConnectorSettings> = {}) {
  const temp = join(root, "temp");
  await mkdir(temp, { recursive: true });
  return await connectFile(
    { type: "File", location },
    { customer: "acme", settings: { ...fileSettings([folder], temp), ...settings } },
  );
}

/** A fresh folder with these files. */
async function folderWith(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const folder = await mkdtemp(join(root, "files-"));
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

async function rowsOf(folder: string, location: string, query: string, settings: Partial<ConnectorSettings> = {}) {
  const connector = await open(folder, location, settings);
  try {
    const source = await connector.read(query, { signal: never });
    const rows: unknown[][] = [];
    for await (const chunk of source.chunks) rows.push(...chunk.getRows());
    return { rows, unreadable: source.unreadable?.() };
  } finally {
    await connector.close();
  }
}

async function errorOf(step: Promise<unknown>): Promise<StageError> {
  const error = await step.then(
    () => new Error("it worked"),
    (failure) => failure,
  );
  expect(error).toBeInstanceOf(StageError);
  return error;
}

describe("as every connector", () => {
  connectorSuite({
    async holding(table) {
      const folder = await mkdtemp(join(root, "suite-"));
      await writeParquet(join(folder, "things.parquet"), table);
      return await open(folder, "things.parquet");
    },
  });
});

describe("formats", () => {
  const csv = "user_id,item_id\nu1,1\nu2,2\n";
  const jsonl = '{"user_id":"u1","item_id":1}\n{"user_id":"u2","item_id":2}\n';
  test.each<[string, string | Uint8Array]>([
    ["t.csv", csv],
    ["t.csv.gz", gzipSync(csv)],
    ["t.csv.zst", zstdCompressSync(Buffer.from(csv))],
    ["t.CSV", csv],
    ["t.csv", csv.replaceAll("\n", "\r\n")],
    ["t.csv", csv.replaceAll(",", ";")],
    ["t.csv", `\ufeff${csv}`],
    ["t.tsv", csv.replaceAll(",", "\t")],
    ["t.json", '[{"user_id":"u1","item_id":1},{"user_id":"u2","item_id":2}]'],
    ["t.json.gz", gzipSync('[{"user_id":"u1","item_id":1},{"user_id":"u2","item_id":2}]')],
    ["t.jsonl", jsonl],
    ["t.ndjson.gz", gzipSync(jsonl)],
    ["t.jsonl.zst", zstdCompressSync(Buffer.from(jsonl))],
  ])("%s is read", async (name, content) => {
    const folder = await folderWith({ [name]: content });
    expect((await rowsOf(folder, name, "SELECT user_id, item_id FROM t ORDER BY item_id")).rows).toEqual([
      ["u1", 1n],
      ["u2", 2n],
    ]);
  });

  test("quotes that first appear late in a file are recognised", async () => {
    const folder = await folderWith({ "t.csv": `id,title\n${"1,plain\n".repeat(30_000)}2,"a, ""b"""\n` });
    expect((await rowsOf(folder, "t.csv", "SELECT title FROM t WHERE id = 2")).rows).toEqual([['a, "b"']]);
  });

  test("a text id in the last line makes the column text", async () => {
    const folder = await folderWith({ "t.csv": `id,n\n${"1,1\n".repeat(30_000)}A17,1\n` });
    expect((await rowsOf(folder, "t.csv", "SELECT id FROM t WHERE id = 'A17'")).rows).toEqual([["A17"]]);
  });

  test("leading zeros are kept", async () => {
    const folder = await folderWith({ "t.csv": "id\n007\n010\n" });
    expect((await rowsOf(folder, "t.csv", "FROM t")).rows).toEqual([["007"], ["010"]]);
  });

  test("lines that do not fit are skipped and counted", async () => {
    const folder = await folderWith({ "t.csv": "user_id,item_id\nu1,1\nu2\nu3,3,4\nu4,4\n" });
    const { rows, unreadable } = await rowsOf(folder, "t.csv", "SELECT user_id FROM t");
    expect(rows).toEqual([["u1"], ["u4"]]);
    expect(unreadable).toEqual({ malformed_line: 2 });
  });

  test("values of another type than the sampled rows do not make their lines malformed", async () => {
    const folder = await folderWith({ "t.csv": `id,n\n${"1,1\n".repeat(30_000)}${"A17,1\n".repeat(9)}1\n` });
    const counted = async (settings: Partial<ConnectorSettings>) =>
      (await rowsOf(folder, "t.csv", "SELECT count(DISTINCT (id, n)) FROM t", settings)).unreadable;
    expect([await counted({ typedByRows: 1000 }), await counted({})]).toEqual([
      { malformed_line: 1 },
      { malformed_line: 1 },
    ]);
  });

  test("bytes that are not UTF-8 late in a file of UTF-8 skip only their line", async () => {
    const content = Buffer.concat([
      Buffer.from(`a,b\n${"é,1\n".repeat(300_000)}`),
      Buffer.from("Jos\xe9,1\n", "latin1"),
    ]);
    const folder = await folderWith({ "t.csv": content });
    const { rows, unreadable } = await rowsOf(folder, "t.csv", "SELECT count(DISTINCT a) FROM t");
    expect(rows).toEqual([[1n]]);
    expect(unreadable).toEqual({ malformed_line: 1 });
  });

  test("each file of a glob is a table, also with an odd name; other files are skipped", async () => {
    const folder = await folderWith({ "a.csv": "n\n1\n", 'odd "name" 2.csv': "n\n2\n", "README.txt": "hello" });
    const query = 'SELECT a.n + b.n FROM a, "odd ""name"" 2" b';
    expect((await rowsOf(folder, "*", query)).rows).toEqual([[3n]]);
  });
});

describe("damaged and wrong files", () => {
  const read = (folder: string, name: string) => rowsOf(folder, name, `SELECT * FROM t`);
  test.each<[string, string | Uint8Array, string, RegExp]>([
    ["t.csv", new Uint8Array(5000).map((_, i) => (i * 7919) % 251), "file_malformed", /UTF-8/],
    ["t.csv", Buffer.from("user_id,item_id\nu1,1\n", "utf16le"), "file_malformed", /UTF-8/],
    ["t.csv.gz", "a,b\n1,2\n", "file_malformed", /not gzip-compressed/],
    ["t.csv.gz", gzipSync(randomRows()).subarray(0, 100_000), "file_malformed", /cut off or damaged/],
    [
      "t.csv.zst",
      zstdCompressSync(Buffer.from(randomRows())).subarray(0, 100_000),
      "file_malformed",
      /cut off or damaged/,
    ],
    ["t.csv", `a,b\n${"x".repeat(5 << 20)},1\n`, "file_malformed", /longer than 2 MB/],
    ["t.parquet", "this is no parquet file at all", "file_malformed", /not a Parquet file/],
    ["t.parquet", "", "file_malformed", /not a Parquet file/],
    ["t.json", '{"a": 1,', "file_malformed", /cannot be read/],
    ["t.jsonl", '{"a": 1}\n{bad\n', "file_malformed", /cannot be read/],
  ])("%s #%#: the error names the file", async (name, content, code, message) => {
    const folder = await folderWith({ [name]: content });
    const error = await errorOf(read(folder, name));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
    expect(error.message).toContain(name);
    expect(error.message).not.toContain(root);
  });

  test.each(["", "user_id,item_id\n"])("an empty CSV has no rows: %j", async (content) => {
    const folder = await folderWith({ "t.csv": content, "t2.csv.gz": gzipSync(content) });
    expect((await rowsOf(folder, "*", "SELECT * FROM t")).rows).toEqual([]);
    expect((await rowsOf(folder, "*", "SELECT * FROM t2")).rows).toEqual([]);
  });
});

test("a file that is truncated while it is read fails as retryable", async () => {
  const folder = await folderWith({ "t.csv": `a,b\n${"xxxxxxxxxxxxxxxxxxxxxxxx,1\n".repeat(500_000)}` });
  const connector = await open(folder, "t.csv");
  const { chunks } = await connector.read("SELECT * FROM t", { signal: never });
  const read = async () => {
    let isFirst = true;
    for await (const _ of chunks) {
      if (isFirst) await truncate(join(folder, "t.csv"), 1_000_000);
      isFirst = false;
    }
  };
  await expect(read()).rejects.toMatchObject({ stage: "fetching", code: "file_changed", retryable: true });
  await connector.close();
});

test("a file that is replaced after its columns were found fails and is not read with the old columns", async () => {
  const folder = await folderWith({
    "t.csv": "user_id,item_id,rating\nu1,i1,4\n",
    next: "item_id,user_id,rating\ni1,u1,4.5\n",
  });
  const connector = await open(folder, "t.csv");
  await rename(join(folder, "next"), join(folder, "t.csv"));
  const reading = connector.read("SELECT user_id, item_id, rating FROM t", { signal: never });
  await expect(reading).rejects.toMatchObject({ code: "file_changed", retryable: true });
  await connector.close();
});

test("a file whose folder has become a link to another is not read from there", async () => {
  const folder = await folderWith({});
  const outside = await folderWith({ "t.csv": "n\n42\n" });
  await mkdir(join(folder, "shop"));
  await writeFile(join(folder, "shop", "t.csv"), "n\n1\n");
  const connector = await open(folder, "shop/t.csv");
  await rename(join(folder, "shop"), join(folder, "moved"));
  await symlink(outside, join(folder, "shop"));
  const reading = connector.read("SELECT n FROM t", { signal: never });
  await expect(reading).rejects.toMatchObject({ code: "file_changed", retryable: true });
  await connector.close();
});

test("a log that grows while it is read is read up to its earlier end", async () => {
  const folder = await folderWith({ "t.csv": `a,b\n${"xxxxxxxxxxxxxxxxxxxxxxxx,1\n".repeat(200_000)}` });
  const connector = await open(folder, "t.csv");
  const { chunks } = await connector.read("SELECT * FROM t", { signal: never });
  let rows = 0;
  for await (const chunk of chunks) {
    if (rows === 0) await appendFile(join(folder, "t.csv"), "y,2\n");
    rows += chunk.rowCount;
  }
  expect(rows).toBeGreaterThanOrEqual(200_000);
  await connector.close();
});

/** Lines that do not compress away. */
function randomRows(): string {
  let x = 1;
  const next = () => {
    x = (x * 48_271) % 2_147_483_647;
    return x;
  };
  return `a,b\n${Array.from({ length: 40_000 }, () => `${next()},${next()}`).join("\n")}\n`;
}

describe("hostile SQL", () => {
  let folder: string;
  let outside: string;
  beforeAll(async () => {
    folder = await folderWith({ "t.csv": "n,m\n1,2\n", "neighbour.csv": "secret\n42\n" });
    outside = await folderWith({ "secret.csv": "secret\n42\n" });
    await symlink(join(outside, "secret.csv"), join(folder, "link.csv"));
  });

  test.each([
    ["SELECT * FROM read_csv('{outside}/secret.csv')", "source_query_refused"],
    ["SELECT * FROM '{outside}/secret.csv'", "source_table_not_found"],
    ['SELECT * FROM "{folder}/neighbour.csv"', "source_table_not_found"],
    ["SELECT * FROM read_text('{folder}/t.csv')", "source_query_refused"],
    ["SELECT * FROM read_blob('/dev/zero')", "source_query_refused"],
    ["SELECT * FROM glob('/*')", "source_query_refused"],
    ["SELECT (SELECT content FROM read_text('{outside}/secret.csv'))", "source_query_refused"],
    ["SELECT * FROM t WHERE EXISTS (SELECT 1 FROM glob('/*'))", "source_query_refused"],
    ["WITH x AS (SELECT * FROM sniff_csv('/etc/passwd')) SELECT * FROM x", "source_query_refused"],
    ["SELECT * FROM parquet_metadata('/etc/passwd')", "source_query_refused"],
    ["SELECT * FROM query('SELECT * FROM read_text(''/etc/passwd'')')", "source_query_refused"],
    ["SELECT * FROM query_table('t')", "source_query_refused"],
    ["SELECT * FROM duckdb_settings()", "source_query_refused"],
    ["SELECT sql FROM duckdb_views", "source_table_not_found"],
    ["SELECT * FROM information_schema.tables", "source_table_not_found"],
    ["SELECT * FROM pg_catalog.pg_class", "source_table_not_found"],
    ["SELECT current_setting('temp_directory')", "source_query_refused"],
    ["SELECT getenv('HOME')", "source_query_refused"],
    ["SELECT * FROM read_csv('https://example.com/x.csv')", "source_query_refused"],
    ["COPY t TO '{outside}/copy.csv'", "source_query_not_select"],
    ["COPY (SELECT 1) TO '{folder}/t.csv'", "source_query_not_select"],
    ["EXPORT DATABASE '{outside}/db'", "source_query_not_select"],
    ["ATTACH '{outside}/x.db'", "source_query_not_select"],
    ["INSTALL httpfs", "source_query_not_select"],
    ["LOAD json", "source_query_not_select"],
    ["SET memory_limit = '100GB'", "source_query_not_select"],
    ["RESET lock_configuration", "source_query_not_select"],
    ["PRAGMA enable_profiling", "source_query_not_select"],
    ["CALL pragma_version()", "source_query_not_select"],
    ["CREATE TABLE x (n INT)", "source_query_not_select"],
    ["CREATE MACRO f() AS TABLE SELECT * FROM read_text('/etc/passwd')", "source_query_not_select"],
    ["DELETE FROM t", "source_query_not_select"],
    ["DESCRIBE t", "source_query_not_select"],
    ["SHOW TABLES", "source_query_not_select"],
    ["EXPLAIN ANALYZE SELECT 1", "source_query_not_select"],
    ["SELECT 1; SELECT 2", "source_query_not_select"],
    ["SELECT 1; DROP VIEW t", "source_query_not_select"],
    ["", "source_query_not_select"],
    ["-- nothing", "source_query_not_select"],
    ["SELECT 1) UNION ALL SELECT * FROM (SELECT 2", "source_query_failed"],
    [`SELECT ${"(".repeat(20_000)}1${")".repeat(20_000)}`, "source_query_failed"],
    [`SELECT 1${"+1".repeat(20_000)}`, "source_query_failed"],
    [`SELECT ${"abs(".repeat(900)}1${")".repeat(900)}`, "source_query_failed"],
    ["SELECT * FROM t WHERE n = $1", "source_query_failed"],
    ["SELECT * FROM nothing", "source_table_not_found"],
    ["SELECT nothing FROM t", "source_query_failed"],
    ["SELECT error('x') FROM t", "source_query_failed"],
  ])("%# is refused with its reason", async (template, code) => {
    const query = template.replaceAll("{outside}", outside).replaceAll("{folder}", folder);
    const error = await errorOf(rowsOf(folder, "t.csv", query));
    expect(`${error.code} (${error.message})`).toContain(`${code} (`);
    expect(error.stage).toBe("fetching");
    expect(await readdir(outside)).toEqual(["secret.csv"]);
  });

  test("the locked instance refuses what the check lets pass", async () => {
    // A WITH of the name of a file lets the check pass; the file is still out of reach.
    const query = `WITH "${outside}/secret.csv" AS (SELECT 1 AS secret) SELECT * FROM (SELECT * FROM t),
      (WITH a AS (SELECT 1) SELECT * FROM a) b`;
    expect((await rowsOf(folder, "t.csv", query)).rows).toEqual([[1n, 2n, 1]]);
  });

  test("a comment or semicolons at the end of a query are allowed", async () => {
    for (const query of ["SELECT n FROM t;", "SELECT n FROM t -- all of it", "/* x */ SELECT n FROM t ; ;\n"])
      expect((await rowsOf(folder, "t.csv", query)).rows).toEqual([[1n]]);
  });

  test("a query that never ends is stopped at the deadline", async () => {
    const endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r WHERE n < 0";
    const started = performance.now();
    const error = await errorOf(rowsOf(folder, "t.csv", endless, { timeoutSeconds: 1 }));
    expect(error.code).toBe("source_timeout");
    expect(error.message).toContain("1 seconds");
    expect(performance.now() - started).toBeLessThan(8000);
  });

  test("a query of ten billion rows is stopped at the allowed count", async () => {
    const error = await errorOf(rowsOf(folder, "t.csv", "SELECT * FROM range(10_000_000_000)", { rowsMax: 10_000 }));
    expect(error.code).toBe("too_many_rows");
  });

  test("a query that needs more memory and disk than allowed is stopped, and its disk space is freed", async () => {
    const big = "SELECT len(list(repeat('x', 1000) || range)) FROM range(1_000_000)"; // a gigabyte at once
    const temp = await mkdtemp(join(root, "small-"));
    const error = await errorOf(rowsOf(folder, "t.csv", big, { memoryMb: 64, tempDirectory: temp }));
    expect(error.code).toMatch(/source_out_of_(memory|disk)/);
    expect(await readdir(temp)).toEqual([]);
  });

  test("an abort interrupts a running query", async () => {
    const controller = new AbortController();
    const connector = await open(folder, "t.csv");
    const reason = new Error("cancelled by the customer");
    setTimeout(() => controller.abort(reason), 200);
    const endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r";
    await expect(connector.read(endless, { signal: controller.signal })).rejects.toBe(reason);
    await connector.close();
  });
});

describe("configuration", () => {
  test.each([
    [{ type: "File" }, /location/],
    [{ type: "File", location: "" }, /location/],
    [{ type: "File", location: 7 }, /location/],
    [{ type: "File", location: "t.csv", password: "x" }, /password/],
    [{ type: "File", location: "t.csv", tables: { t: "t.csv" } }, /beside "tables"/],
    [{ type: "File", tables: {} }, /name a table/],
    [{ type: "File", tables: { t: "t.csv", T: "t.csv" } }, /twice/],
    [{ type: "File", tables: { t: "" } }, /tables/],
  ])("%j is refused", async (config, message) => {
    const error = await errorOf(connectFile(config, { customer: "a", settings: fileSettings([root], root) }));
    expect(error.code).toBe("bad_connector_config");
    expect(error.message).toMatch(message);
  });
});
