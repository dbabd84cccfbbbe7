import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectFile } from "../../../../../trainer/read/connectors/file/file.ts";
import { fileSettings } from "../../../../fixtures/real-data.ts";

let base: string;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "table-of-files-"));
  await mkdir(join(base, "temp"));
});
afterAll(() => rm(base, { recursive: true, force: true }));

/** A fresh allowed folder with these files. A content that begins with SELECT is written as Parquet. */
async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(base, "root-"));
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, name);
    await mkdir(dirname(path), { recursive: true });
    if (content.startsWith("SELECT")) await connection.run(`COPY (${content}) TO '${path}' (FORMAT parquet)`);
    else await writeFile(path, content);
  }
  connection.closeSync();
  return root;
}

async function read(root: string, tables: Readonly<Record<string, string>>, query: string, idColumns: string[] = []) {
  const context = { customer: "t", settings: fileSettings([root], join(base, "temp")), idColumns };
  const connector = await connectFile({ type: "File", tables }, context);
  try {
    const { signal } = new AbortController();
    const { estimatedRows } = await connector.inspect(query, signal);
    const source = await connector.read(query, { signal });
    const rows: unknown[][] = [];
    for await (const chunk of source.chunks) rows.push(...chunk.getRows());
    const columns = source.columns.map(({ name }) => name);
    return { columns, rows, estimatedRows, unreadable: source.unreadable?.(), notes: connector.notes?.() };
  } finally {
    await connector.close();
  }
}

const PARQUET = {
  "clicks/dt=2024-01-01/part-0000.parquet": "SELECT 'u1' AS u, 1 AS i",
  "clicks/dt=2024-01-01/part-0001.parquet": "SELECT 2 AS i, 'u2' AS u, 'x' AS extra",
  "clicks/dt=2024-01-02/country=a%20b/part-0000.parquet": "SELECT 'u3' AS u, 3 AS i, 'file' AS dt",
  "clicks/dt=__HIVE_DEFAULT_PARTITION__/part-0000.parquet": "SELECT 'u4' AS u, 4 AS i",
  "clicks/_SUCCESS": "",
  "clicks/_delta_log/x.parquet": "SELECT 'wrong' AS u",
  "clicks/dt=2024-01-01/.part.parquet": "no table",
};

test.for(["clicks/**/*.parquet", "clicks", "clicks/**", "clicks/*/**"])("%s is one table", async (location) => {
  const root = await folderWith(PARQUET);
  const { rows, columns, estimatedRows } = await read(root, { clicks: location }, "FROM clicks ORDER BY u");
  expect([...columns].sort()).toEqual(["country", "dt", "extra", "i", "u"]);
  const at = (name: string) => rows.map((row) => row[columns.indexOf(name)]);
  expect(at("u")).toEqual(["u1", "u2", "u3", "u4"]);
  expect(at("i")).toEqual([1, 2, 3, 4]);
  expect(at("extra")).toEqual([null, "x", null, null]);
  expect(at("dt")).toEqual(["2024-01-01", "2024-01-01", "2024-01-02", null]);
  expect(at("country")).toEqual([null, null, "a b", null]);
  expect(estimatedRows).toBe(4);
});

test("text files of one table may differ in delimiter, order and type of the columns, and each line is counted", async () => {
  const root = await folderWith({
    "a/1.csv": "user_id,item_id,n\n1,10,1\n2,20,2\n",
    "a/2.csv": "item_id;user_id;n\nA7;007;2.5\nbad\n",
    "a/3.jsonl": '{"user_id": "x", "item_id": "y"}\n',
  });
  const query = "SELECT user_id, item_id, n FROM a";
  const { rows, unreadable, notes } = await read(root, { a: "a" }, query, ["user_id", "item_id"]);
  expect(rows).toEqual([
    ["1", "10", 1],
    ["2", "20", 2],
    ["007", "A7", 2.5],
    ["x", "y", null],
  ]);
  expect(unreadable).toEqual({ malformed_line: 1 });
  expect(notes).toEqual(['"a/2.csv": lines that do not fit its columns were left out: 3']);
});

test("tables of one connector are joined, and a file may be a table by another name", async () => {
  const root = await folderWith({ "c/1.csv": "i\n1\n", "c/2.csv": "i\n2\n", "catalogue.txt": "i,name\n2,two\n" });
  const { rows } = await read(
    root,
    { c: "c/*.csv", items: "catalogue.txt" },
    "SELECT name FROM c JOIN items USING (i)",
  );
  expect(rows).toEqual([["two"]]);
});

test("many files are one table", async () => {
  const files = Array.from({ length: 300 }, (_, n) => [`m/dt=${n}/part.csv`, `u,i\nu${n},${n}\n`] as const);
  const root = await folderWith(Object.fromEntries(files));
  const { rows } = await read(root, { m: "m" }, "SELECT count(DISTINCT dt), sum(i) FROM m");
  expect(rows[0]!.map(String)).toEqual(["300", String((299 * 300) / 2)]);
});

test.for<[string, string]>([
  ["../outside/**", "bad_location"],
  ["**/../**", "bad_location"],
  ["**/**/*.csv", "bad_location"],
  ["clicks/{..,x}/*.csv", "bad_location"],
  ["linked", "location_not_allowed"],
  ["linked/**/*.csv", "location_not_allowed"],
  ["holder/*.csv", "location_not_allowed"],
  ["holder/**", "location_not_allowed"],
  ["empty", "file_not_found"],
  ["not-there/**", "file_not_found"],
  ["/etc/**", "location_not_allowed"],
  ["/etc", "location_not_allowed"],
])("%s is refused: %s", async ([location, code]) => {
  const outside = await folderWith({ "secret.csv": "a\n1\n" });
  const root = await folderWith({ "holder/a.csv": "a\n1\n", "empty/notes.txt": "x" });
  await symlink(outside, join(root, "linked"));
  await symlink(join(outside, "secret.csv"), join(root, "holder", "b.csv"));
  await expect(read(root, { t: location }, "FROM t")).rejects.toMatchObject({ code, stage: "fetching" });
});

test("a linked folder below a pattern is not entered", async () => {
  const outside = await folderWith({ "secret.csv": "a\nsecret\n" });
  const root = await folderWith({ "shop/a.csv": "a\n1\n" });
  await symlink(outside, join(root, "shop", "linked"));
  for (const location of ["shop/**/*.csv", "shop"]) {
    const rows = await read(root, { t: location }, "FROM t").then(
      (found) => found.rows,
      ({ code }) => code,
    );
    expect([[[1n]], "location_not_allowed"]).toContainEqual(rows);
  }
});
