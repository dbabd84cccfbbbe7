import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { decodeAttributes, encodeAttributes, NAME_LENGTH_MAX } from "../../../../shared/attributes.ts";
import type { ItemIdType } from "../../../../shared/ids.ts";
import {
  attributeColumns,
  checkAttributes,
  idsOf,
  QUERY_ATTRIBUTES_MAX,
  readAttributes,
  unknownIdsWarning,
} from "../../../../trainer/read/dataset/read-attributes.ts";
import {
  openStaging,
  readStaged,
  runStaged,
  type Staging,
  stageRows,
} from "../../../../trainer/read/dataset/staging.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { connectMemory } from "../../../fixtures/rows-memory.ts";

test("the columns are the id, then the declared features or all others", () => {
  expect(attributeColumns({ id: "i" }, ["a", "i", "b"], "item")).toEqual(["i", "a", "b"]);
  const features = [{ name: "b", type: "Text" as const }];
  expect(attributeColumns({ id: "i", features }, ["a", "i", "b"], "item")).toEqual(["i", "b"]);
});

test("missing columns and too many attributes are refused", () => {
  const features = [{ name: "c", type: "Text" as const }];
  expect(() => attributeColumns({ id: "j", features }, ["i", "b"], "user")).toThrow(
    'The user query gives no column "j", "c"; its columns are "i", "b"',
  );
  const wide = ["i", ...Array.from({ length: QUERY_ATTRIBUTES_MAX + 1 }, (_, n) => `a${n}`)];
  expect(() => attributeColumns({ id: "i" }, wide, "item")).toThrow("201 attributes");
});

let folder: string;
let staging: Staging;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "read-attributes-"));
  staging = await openStaging({ workDirectory: folder, memoryMb: 128, signal: new AbortController().signal });
  await runStaged(staging, "CREATE TABLE items AS SELECT unnest(['a', 'b', 'c']) AS text");
});
afterEach(async () => {
  await staging.close();
  await rm(folder, { recursive: true });
});

const signal = new AbortController().signal;

async function read(sql: string, idType?: ItemIdType, what: "item" | "user" = "item") {
  const connector = await connectMemory({ type: "Memory" }, { customer: "t", settings: fileSettings([], folder) });
  const source = await connector.read(sql, { signal });
  const table = await stageRows(staging, { name: "item_rows", source });
  await connector.close();
  const staged = await checkAttributes(staging, table, { entity: { id: "i" }, what, idType });
  return { staged, ...(await readAttributes(staging, staged, { index: "items", count: 3 })) };
}

test("dictionaries are sorted by code point, and missing values have no code", async () => {
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

test("places are read from all their forms; a value that is none is missing, with a warning", async () => {
  const { columns, descriptions, warnings } = await read(
    `SELECT i, {'lat': lat, 'lon': 13.5} AS spot, text AS where FROM (VALUES ('a', 52.5, 'POINT(2 1)'), ('b', NULL, 'POINT(200 1)'),
     ('c', -91, 'POINT(4 3)')) v(i, lat, text)`,
  );
  expect(columns).toEqual([
    {
      name: "spot",
      type: "Location",
      lat: Float64Array.of(52.5, Number.NaN, Number.NaN),
      lon: Float64Array.of(13.5, 0, 0),
    },
    { name: "where", type: "Location", lat: Float64Array.of(1, Number.NaN, 3), lon: Float64Array.of(2, 0, 4) },
  ]);
  expect(descriptions.map(({ present }) => present)).toEqual([1, 2]);
  const about = warnings.filter((warning) => warning.includes("no places"));
  expect(about[0]).toContain('"spot" has 2 values that are no places and count as missing');
  expect(about[1]).toContain('"where" has 1 values that are no places');
});

test("vectors of items are rows of numbers, NaN where one is missing; those of users are left out", async () => {
  const vector = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => n / 2);
  const sql = `SELECT * FROM (VALUES ('a', ${JSON.stringify(vector)}), ('c', ${JSON.stringify(vector)}), ('b', NULL)) v(i, text)`;
  const { columns, descriptions } = await read(sql);
  const missing = vector.map(() => Number.NaN);
  expect(columns).toEqual([
    { name: "text", type: "Vector", width: 8, values: Float32Array.from([...vector, ...missing, ...vector]) },
  ]);
  expect(descriptions).toEqual([{ name: "text", type: "Vector", inferred: true, present: 2, distinct: null }]);
  await runStaged(staging, "DROP TABLE item_rows; DROP TABLE item_rows_by_id");
  const ofUsers = await read(sql, undefined, "user");
  expect(ofUsers.columns).toEqual([]);
  expect(ofUsers.staged.warnings).toContainEqual(expect.stringContaining("vectors, which are used of items only"));
});

test("a byte order mark before a value is dropped, so that no text is in a dictionary twice", async () => {
  const mark = "chr(65279)";
  const { columns } = await read(
    `SELECT * FROM (VALUES ('a', 'red', ['x'], '1', '2024-01-01'),
     ('b', ${mark} || 'red', [${mark} || 'x'], ${mark} || '2', ${mark} || '2024-01-02'),
     ('c', 'blue', [], '3', NULL)) v(i, colour, tags, size, since)`,
  );
  expect(columns).toMatchObject([
    { type: "Category", dictionary: ["blue", "red"], codes: Uint32Array.of(1, 1, 0) },
    { type: "CategoryList", dictionary: ["x"], codes: Uint32Array.of(0, 0) },
    { type: "Numerical", values: Float64Array.of(1, 2, 3) },
    { type: "Timestamp", values: Float64Array.of(1_704_067_200, 1_704_153_600, Number.NaN) },
  ]);
});

test("a long dictionary is sorted, whatever the order of the rows", async () => {
  await runStaged(staging, "CREATE OR REPLACE TABLE items AS SELECT 'i' || range AS text FROM range(3)");
  const tags = "list_transform(range(400), x -> 't' || (x * 7919) % 1009)";
  const { columns } = await read(`SELECT 'i0' AS i, ${tags} AS tags`);
  const { dictionary } = columns[0] as { dictionary: readonly string[] };
  expect(dictionary.length).toBe(200); // the limit of a list
  expect(dictionary).toEqual([...dictionary].sort());
});

test("integer ids of the table match text ids of the catalog", async () => {
  await runStaged(staging, "CREATE OR REPLACE TABLE items AS SELECT unnest(['1', '10', '2']) AS text");
  const { columns } = await read("SELECT * FROM (VALUES (10, 5.5), (1, 7)) v(i, price)");
  expect(columns).toEqual([{ name: "price", type: "Numerical", values: Float64Array.of(7, 5.5, Number.NaN) }]);
});

test("the table gives each id once for the catalog", async () => {
  const { staged } = await read("SELECT * FROM (VALUES ('x', 1), ('x', 2), (NULL, 3), ('y', 4)) v(i, n)");
  expect(await readStaged(staging, `SELECT text FROM ${idsOf(staged)} ORDER BY text`)).toEqual([
    { text: "x" },
    { text: "y" },
  ]);
});

test("a column that cannot be an attribute is left out with a warning", async () => {
  const { staged, columns } = await read("SELECT 'a' AS i, {'x': 1} AS odd, 3 AS fine");
  expect(columns.map(({ name }) => name)).toEqual(["fine"]);
  expect(staged.warnings.length).toBe(1);
  expect(staged.warnings[0]).toMatch(/^The item attribute "odd" was left out: STRUCT\(.*\) cannot be an attribute$/);
});

test("a column with too long a name is left out with a warning", async () => {
  const [fits, long] = ["x".repeat(NAME_LENGTH_MAX), `y${"x".repeat(NAME_LENGTH_MAX)}`];
  const { staged, columns } = await read(`SELECT 'a' AS i, 3 AS "${fits}", 4 AS "${long}"`);
  expect(columns.map(({ name }) => name)).toEqual([fits]);
  expect(decodeAttributes(encodeAttributes(columns, 3)).itemCount).toBe(3);
  expect(staged.warnings).toEqual([
    `The item attribute "y${"x".repeat(39)}…" was left out: its name has more than 1000 characters; give it another with AS`,
  ]);
});

test("names that differ only in case, or that filters take for operators, are said", async () => {
  const { staged } = await read("SELECT 'a' AS i, 3 AS \"Price\", 'x' AS price_1, 4 AS \"$cost\", 5 AS size_1");
  expect(staged.warnings).toEqual([
    'The item attribute "price_1" is a column whose name differs from "Price" only in case',
    'The item attribute "$cost" cannot be used in filters, where $ begins an operator: give it another name with AS',
  ]);
});

test("warnings show values of items, and none of users", async () => {
  const rows = Array.from({ length: 40 }, (_, n) => `('i${n}', '${n}', '1,234', '03/0${1 + (n % 9)}/1990')`);
  const sql = `SELECT * FROM (VALUES ${rows.join(", ")}, ('x', 'a "b"', '7', '04/05/1990')) v(i, age, sum, born)`;
  const ofItems = (await read(sql)).staged.warnings.join("\n");
  for (const value of ['such as "a \\"b\\""', 'such as "1,', '/1990"']) expect(ofItems).toContain(value);
  await runStaged(staging, "DROP TABLE item_rows; DROP TABLE item_rows_by_id");
  const ofUsers = (await read(sql, undefined, "user")).staged.warnings;
  expect(ofUsers).toHaveLength(3);
  expect(ofUsers.join("\n")).not.toMatch(/such as|a \\"b|1,234|1990/);
});

test("an id column of an unsuitable type ends the run", () =>
  expect(read("SELECT [1] AS i, 2 AS n")).rejects.toMatchObject({ code: "unsupported_column_type" }));

test("a row with a non-integer id is left out where the interactions' ids are integers", async () => {
  const rows =
    "('7', '1'), ('TOTAL', 'x'), ('007', '2'), ('-0', '2'), ('+7', '2'), ('0', '2'), ('-12', '3'), (NULL, '4')";
  const sql = `SELECT * FROM (VALUES ${rows}, ('9007199254740993', '4'), ('123456789012345678901234567890', '4')) v(i, n)`;
  const { staged } = await read(sql, "integer");
  expect(await readStaged(staging, `SELECT text FROM ${idsOf(staged)}`)).toEqual(
    ["7", "0", "-12", "9007199254740993", "123456789012345678901234567890"].map((text) => ({ text })),
  );
  expect(staged.attributes).toMatchObject([{ name: "n", type: "Numerical" }]);
  expect(staged.warnings).toEqual([
    "1 rows of the item query have no usable id and were left out",
    `4 rows of the item query have an id such as "+7" and were left out: the interactions' ids are whole numbers, written without leading zeros`,
  ]);
});

test.each(["CAST(range AS DOUBLE)", "range", "CAST(range AS DECIMAL(9, 2))"])(
  "whole numbers as %s are integers",
  async (id) => {
    const { staged } = await read(`SELECT ${id} AS i, 1 AS n FROM range(20)`, "integer");
    expect(staged.warnings).toEqual([]);
    expect(await readStaged(staging, `SELECT text FROM ${idsOf(staged)} WHERE text IN ('0', '10')`)).toHaveLength(2);
  },
);

test("a table without any known id causes a warning with an example of both ids", async () => {
  const warn = async (sql: string) => {
    await runStaged(staging, "DROP TABLE IF EXISTS item_rows; DROP TABLE IF EXISTS item_rows_by_id");
    const { staged } = await read(sql);
    return await unknownIdsWarning(staging, staged, { known: "items", what: "item" });
  };
  expect(await warn("SELECT 'A' AS i, 1 AS n")).toBe(
    'No id of the item query, such as "A" is among those of the interactions, such as "a": is the id column the right one?',
  );
  expect(await warn("SELECT unnest(['A', 'b']) AS i, 1 AS n")).toBeUndefined();
  expect(await warn("SELECT 'A' AS i, 1 AS n LIMIT 0")).toBeUndefined();
});
