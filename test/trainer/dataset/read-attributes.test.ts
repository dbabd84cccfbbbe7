import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  ATTRIBUTES_MAX,
  attributeColumns,
  checkAttributes,
  idsOf,
  readAttributes,
} from "../../../trainer/dataset/read-attributes.ts";
import { openStaging, readStaged, runStaged, type Staging, stageRows } from "../../../trainer/dataset/staging.ts";
import { fileSettings } from "../../fixtures/real-data.ts";
import { connectMemory } from "../../fixtures/rows-memory.ts";

test("the id first, then every other column, or only the declared ones", () => {
  expect(attributeColumns({ id: "i" }, ["a", "i", "b"], "item")).toEqual(["i", "a", "b"]);
  const features = [{ name: "b", type: "Text" as const }];
  expect(attributeColumns({ id: "i", features }, ["a", "i", "b"], "item")).toEqual(["i", "b"]);
});

test("what is missing or too much is told", () => {
  const features = [{ name: "c", type: "Text" as const }];
  expect(() => attributeColumns({ id: "j", features }, ["i", "b"], "user")).toThrow(
    'The user query has no column "j", "c"; it has "i", "b"',
  );
  const wide = ["i", ...Array.from({ length: ATTRIBUTES_MAX + 1 }, (_, n) => `a${n}`)];
  expect(() => attributeColumns({ id: "i" }, wide, "item")).toThrow("201 attributes");
});

let folder: string;
let staging: Staging;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "read-attributes-"));
  staging = await openStaging({ workDirectory: folder, memoryMb: 128 });
  await runStaged(staging, "CREATE TABLE items AS SELECT unnest(['a', 'b', 'c']) AS text", signal);
});
afterEach(async () => {
  await staging.close();
  await rm(folder, { recursive: true });
});

const signal = new AbortController().signal;

async function read(sql: string) {
  const connector = await connectMemory({ type: "Memory" }, { customer: "t", settings: fileSettings([], folder) });
  const source = await connector.read(sql, { signal });
  const table = await stageRows(staging, { name: "item_rows", source }, { signal, progress: () => undefined });
  await connector.close();
  const staged = await checkAttributes(staging, table, { entity: { id: "i" }, what: "item", signal });
  return { staged, ...(await readAttributes(staging, staged, { index: "items", count: 3, signal })) };
}

test("dictionaries are sorted by code point, codes point into them, and missing is missing", async () => {
  const { columns, descriptions } = await read(
    "SELECT * FROM (VALUES ('c', 'z|ü'), ('a', '🎈|z'), ('zz', 'unknown item|q')) v(i, tags)",
  );
  expect(columns).toEqual([
    {
      name: "tags",
      type: "CategoryList",
      dictionary: ["z", "ü", "🎈"],
      start: Uint32Array.of(0, 2, 2, 4),
      codes: Uint32Array.of(0, 2, 0, 1),
    },
  ]);
  expect(descriptions).toEqual([{ name: "tags", type: "CategoryList", inferred: true, present: 2, distinct: 3 }]);
});

test("a long dictionary is sorted, whatever the order of the rows", async () => {
  await runStaged(staging, "CREATE OR REPLACE TABLE items AS SELECT 'i' || range AS text FROM range(3)", signal);
  const tags = "list_transform(range(400), x -> 't' || (x * 7919) % 1009)";
  const { columns } = await read(`SELECT 'i0' AS i, ${tags} AS tags`);
  const { dictionary } = columns[0] as { dictionary: readonly string[] };
  expect(dictionary.length).toBe(200); // what a list may hold
  expect(dictionary).toEqual([...dictionary].sort());
});

test("integer ids of the table meet text ids of the catalog", async () => {
  await runStaged(staging, "CREATE OR REPLACE TABLE items AS SELECT unnest(['1', '10', '2']) AS text", signal);
  const { columns } = await read("SELECT * FROM (VALUES (10, 5.5), (1, 7)) v(i, price)");
  expect(columns).toEqual([{ name: "price", type: "Numerical", values: Float64Array.of(7, 5.5, Number.NaN) }]);
});

test("the ids of the table are there for the catalog, each once", async () => {
  const { staged } = await read("SELECT * FROM (VALUES ('x', 1), ('x', 2), (NULL, 3), ('y', 4)) v(i, n)");
  expect(await readStaged(staging, `SELECT text FROM ${idsOf(staged)} ORDER BY text`, signal)).toEqual([
    { text: "x" },
    { text: "y" },
  ]);
});

test("a column that cannot be an attribute is left out with a warning, the others stay", async () => {
  const { staged, columns } = await read("SELECT 'a' AS i, {'x': 1} AS odd, 3 AS fine");
  expect(columns.map(({ name }) => name)).toEqual(["fine"]);
  expect(staged.warnings.length).toBe(1);
  expect(staged.warnings[0]).toMatch(/^The item attribute "odd" was left out: STRUCT\(.*\) cannot be an attribute$/);
});

test("an id column that cannot be one stops", () =>
  expect(read("SELECT [1] AS i, 2 AS n")).rejects.toMatchObject({ code: "unsupported_column_type" }));
