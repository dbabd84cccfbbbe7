import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findFiles } from "../../../../../trainer/read/connectors/duckdb/files.ts";
import { openSandbox, type Sandbox } from "../../../../../trainer/read/connectors/duckdb/sandbox.ts";

let base: string;
let sandbox: Sandbox;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "sandbox-"));
  for (const folder of ["in", "out", "temp"]) await mkdir(join(base, folder));
  await writeFile(join(base, "in", "t.csv"), "n\n1\n");
  await writeFile(join(base, "in", "beside.csv"), "n\n2\n");
  await writeFile(join(base, "out", "secret.csv"), "n\n3\n");
  const files = await findFiles("t.csv", [join(base, "in")]);
  sandbox = await openSandbox(files, {
    memoryMb: 64,
    tempDirectory: join(base, "temp"),
    timeoutSeconds: 30,
    diskBytesMax: 1e12,
  });
});
afterAll(async () => {
  await sandbox.close();
  expect(await readdir(join(base, "temp"))).toEqual([]);
  await rm(base, { recursive: true, force: true });
});

test("a file is a table", async () => {
  expect((await sandbox.connection.runAndReadAll("SELECT n FROM t")).getRows()).toEqual([[1n]]);
});

// Run without the check of the statement: what holds here is the lock alone.
test.each([
  "SELECT * FROM read_csv('{base}/in/beside.csv')",
  "SELECT * FROM '{base}/out/secret.csv'",
  "SELECT * FROM read_text('{base}/in/../out/secret.csv')",
  "SELECT * FROM read_blob('/etc/passwd')",
  "SELECT * FROM glob('{base}/*')",
  "SELECT * FROM sniff_csv('{base}/out/secret.csv')",
  "SELECT * FROM read_csv('https://example.com/x.csv')",
  "COPY t TO '{base}/out/copy.csv'",
  "COPY t TO '{base}/in/t.csv'",
  "ATTACH '{base}/out/x.db'",
  "EXPORT DATABASE '{base}/out/x'",
  "INSTALL httpfs",
  "LOAD '{base}/out/x.duckdb_extension'",
  "SET memory_limit = '100GB'",
  "SET threads = 100",
  "SET enable_external_access = true",
  "SET allowed_paths = ['{base}']",
  "SET lock_configuration = false",
  "RESET lock_configuration",
  "SET temp_directory = '{base}/out'",
])("the lock refuses %s", async (template) => {
  const sql = template.replaceAll("{base}", base);
  const error = await sandbox.connection.run(sql).then(
    () => "it ran",
    (caught: Error) => caught.message,
  );
  expect(error).toMatch(/disabled by configuration|has been locked|Cannot (access|change)|Permission|locked/i);
  expect((await readdir(join(base, "out"))).sort()).toEqual(["secret.csv"]);
});

test("times without a zone are UTC", async () => {
  const rows = await sandbox.connection.runAndReadAll("SELECT epoch('2024-01-01 00:00:00'::TIMESTAMPTZ)");
  expect(rows.getRows()).toEqual([[1_704_067_200]]);
});

test("a query spills no more than a run may take of the disk", async () => {
  const small = { memoryMb: 64, tempDirectory: join(base, "temp"), timeoutSeconds: 30, diskBytesMax: 5e6 };
  const other = await openSandbox([], small);
  const limit = await other.connection.runAndReadAll("SELECT current_setting('max_temp_directory_size')");
  expect(limit.value(0, 0)).toBe("4.7 MiB");
  await other.close();
});

test("errors contain no path of this machine", async () => {
  const error = await sandbox.connection
    .run(`SELECT * FROM read_csv('${base}/in/t.csv', nonsense = 1)`)
    .catch(sandbox.explain);
  expect(String(error)).not.toContain(base);
});

test("a file that cannot be opened leaves no files behind", async () => {
  await writeFile(join(base, "in", "bad.parquet"), "no parquet");
  const files = await findFiles("bad.parquet", [join(base, "in")]);
  const temp = join(base, "temp-of-bad");
  await mkdir(temp);
  await expect(
    openSandbox(files, { memoryMb: 64, tempDirectory: temp, timeoutSeconds: 30, diskBytesMax: 1e12 }),
  ).rejects.toMatchObject({
    code: "file_malformed",
  });
  expect(await readdir(temp)).toEqual([]);
});

test("the deadline holds while types are found", async () => {
  await writeFile(join(base, "in", "long.jsonl"), '{"n":1}\n'.repeat(1_500_000));
  const files = await findFiles("long.jsonl", [join(base, "in")]);
  const temp = join(base, "temp-of-long");
  const opening = openSandbox(files, { memoryMb: 64, tempDirectory: temp, timeoutSeconds: 0.05, diskBytesMax: 1e12 });
  await expect(opening).rejects.toMatchObject({ code: "source_timeout" });
});
