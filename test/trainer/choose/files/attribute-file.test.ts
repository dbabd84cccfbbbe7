import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, expect, test } from "vitest";
import { packStrings } from "../../../../shared/packed-strings.ts";
import { readAttributeFile } from "../../../../trainer/choose/files/attribute-file.ts";
import { InteractionFileError } from "../../../../trainer/choose/files/interaction-scan.ts";

const folder = mkdtempSync(join(tmpdir(), "attribute-file-"));
afterAll(() => rm(folder, { recursive: true }));
const file = (name: string, content: string) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
let fileCount = 0;
async function parquetFile(sql: string): Promise<string> {
  const path = join(folder, `${fileCount++}.parquet`);
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run(`COPY (${sql}) TO '${path}'`);
  connection.closeSync();
  return path;
}
const read = (path: string, ids: readonly string[]) =>
  readAttributeFile(path, { what: "user", idColumn: "user_id", ids: packStrings(ids) });

test("columns are typed and aligned with the users; who is not in the file has no values", async () => {
  const path = file("a.csv", "city,user_id,age\nBonn,7,30\nUlm,9,\nBonn,11,41.5\nKiel,99,1\n");
  expect(await read(path, ["9", "8", "7"])).toEqual([
    {
      name: "city",
      type: "Category",
      dictionary: ["Bonn", "Ulm"],
      start: Uint32Array.of(0, 1, 1, 2),
      codes: Uint32Array.of(1, 0),
    },
    { name: "age", type: "Numerical", values: Float64Array.of(Number.NaN, Number.NaN, 30) },
  ]);
});

test("of a user with several rows the last is taken", async () => {
  const [city] = await read(file("b.csv", "user_id,city\nann,Bonn\nann,Ulm\n"), ["ann"]);
  expect(city).toMatchObject({ dictionary: ["Ulm"] });
});

test.each([
  ["zeros in front", "zeros.csv", "user_id,age\n007,1\n7,2\n", ["7", "007"], [2, 1]],
  ["numbers of any length", "long.csv", "user_id,age\n12345678901234567890,1\n7,2\n", ["12345678901234567890"], [1]],
  [
    "numbers of any length in JSON",
    "long.jsonl",
    '{"user_id":12345678901234567890,"age":1}',
    ["12345678901234567890"],
    [1],
  ],
  ["numbers with a point", "points.csv", "user_id,age\n7.0,1\n8.0,2\n", ["7", "8"], [1, 2]],
])("ids are those of the files of interactions: %s", async (_, name, content, ids, ages) => {
  expect(await read(file(name, content), ids)).toMatchObject([{ name: "age", values: Float64Array.from(ages) }]);
});
test("ids are those of the files of interactions: texts that are stored as bytes", async () => {
  const path = await parquetFile("SELECT encode('jörg') AS user_id, 31 AS age");
  expect(await read(path, ["bob", "jörg"])).toMatchObject([{ values: Float64Array.of(Number.NaN, 31) }]);
});
test("ids of a type that is none are told in one sentence", async () => {
  const path = await parquetFile("SELECT [1] AS user_id, 31 AS age");
  await expect(read(path, ["1"])).rejects.toThrow(InteractionFileError);
  await expect(read(path, ["1"])).rejects.toThrow(/\.parquet cannot be read: .*cannot be an id/);
});
test("a type is that of all rows", async () => {
  const numbers = Array.from({ length: 150_000 }, (_, user) => `${user},1`).join("\n");
  const [code] = await read(file("late.csv", `user_id,code\n${numbers}\nann,b\n`), ["ann"]);
  expect(code).toMatchObject({ type: "Category" });
});

test.each([
  [
    "no column of the ids",
    "c.csv",
    "who,city\nann,Bonn\n",
    'has no column "user_id" for the users\' ids; its columns are "who", "city".',
  ],
  ["something that cannot be read", "d.parquet", "no parquet", "cannot be read: "],
])("%s is told in one sentence", async (_, name, content, sentence) => {
  const path = file(name, content);
  await expect(read(path, ["ann"])).rejects.toThrow(InteractionFileError);
  await expect(read(path, ["ann"])).rejects.toThrow(`${path} ${sentence}`);
});

test("of items the same, under their own column", async () => {
  const path = file("items.csv", "sku,tags\nb,red|round\na,red\n");
  const about = { what: "item", idColumn: "sku", ids: packStrings(["a", "new", "b"]) } as const;
  expect(await readAttributeFile(path, about)).toMatchObject([
    {
      type: "CategoryList",
      dictionary: ["red", "round"],
      start: Uint32Array.of(0, 1, 1, 3),
      codes: Uint32Array.of(0, 0, 1),
    },
  ]);
  const other = { ...about, idColumn: "item_id" };
  await expect(readAttributeFile(path, other)).rejects.toThrow(
    `${path} has no column "item_id" for the items' ids; its columns are "sku", "tags".`,
  );
});
