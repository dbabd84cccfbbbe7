import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, describe, expect, test } from "vitest";
import { stringAt } from "../../../../shared/packed-strings.ts";
import { FileError, type FilesToRead, readFiles } from "../../../../trainer/choose/files/read-files.ts";
import type { Interactions } from "../../../../trainer/read/dataset/dataset.ts";

const folder = mkdtempSync(join(tmpdir(), "read-files-"));
afterAll(() => rm(folder, { recursive: true }));
let fileCount = 0;
const file = (extension: string, content: string | Uint8Array) => {
  const path = join(folder, `${fileCount++}.${extension}`);
  writeFileSync(path, content);
  return path;
};
async function parquetFile(sql: string): Promise<string> {
  const path = join(folder, `${fileCount++}.parquet`);
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run(`COPY (${sql}) TO '${path}' (FORMAT parquet)`);
  connection.closeSync();
  return path;
}

type Columns = FilesToRead["columns"];
type More = Partial<FilesToRead>;
const read = (train: string, later: string, columns: Columns = {}, more: More = {}) =>
  readFiles({ train, test: later, columns, ...more }, new AbortController().signal);

/** The rows of both files as texts `user item seconds`, a minus after the negative ones. */
async function rows(train: string, later: string, columns: Columns = {}) {
  const found = await read(train, later, columns);
  const textsOf = (interactions: Interactions) =>
    Array.from({ length: interactions.userCount }, (_, user) => user).flatMap((user) =>
      Array.from({ length: interactions.userStart[user + 1]! - interactions.userStart[user]! }, (_, i) => {
        const row = interactions.userStart[user]! + i;
        const [who, what] = [
          stringAt(found.train.userIds, user),
          stringAt(found.train.itemIds, interactions.items[row]!),
        ];
        return `${who} ${what} ${interactions.times[row]}${interactions.positive[row] ? "" : " −"}`;
      }),
    );
  return { train: textsOf(found.train), test: textsOf(found.test), found };
}

const TRAIN = "user_id,item_id,ts\nann,b,30\nbob,a,10\nann,a,20\ncat,a,5\n";
const TEST = "user_id,item_id,ts\nbob,c,40\ndan,b,50\n";

test("a folder, or a pattern, is one table", async () => {
  const days = mkdtempSync(join(folder, "days-"));
  for (const day of [1, 2]) writeFileSync(join(days, `${day}.csv`), `user,item,time\nann,${day},${day}\n`);
  const later = file("csv", "user,item,time\nann,3,9\n");
  for (const train of [days, join(days, "*.csv")]) expect((await read(train, later)).train.items).toHaveLength(2);
});

test("files without a header have their columns by position", async () => {
  const train = file("data", "7\t1\t5\t881250949\n7\t2\t5\t881250950\n8\t1\t1\t881250951\n");
  const later = file("data", "7\t3\t5\t881250999\n");
  const { columns, train: dataset } = await read(train, later, { user: "1", item: "2", time: "4", label: "3" });
  expect(columns).toMatchObject({ user: "column0", item: "column1", label: "column2", time: "column3" });
  expect(dataset.items).toHaveLength(3);
  await expect(read(train, later)).rejects.toThrow(/--user-column 1 --item-column 2 --time-column 4/);
});

test("both files are under one catalog and one numbering of users; histories are in time order", async () => {
  const { train, test: later, found } = await rows(file("csv", TRAIN), file("csv", TEST));
  expect(train).toEqual(["ann a 20", "ann b 30", "bob a 10", "cat a 5"]);
  expect(later).toEqual(["bob c 40", "dan b 50"]);
  expect([found.train.itemCount, found.test.userCount]).toEqual([3, 4]);
  expect(found.columns).toMatchObject({ user: "user_id", item: "item_id", time: "ts", label: null });
  expect([found.rejectedRows, found.warnings]).toEqual([0, []]);
});
test("an id is the same whatever the type of its column in either file", async () => {
  const numbers = file("csv", "user_id,item_id\n1,a\n10,b\n");
  const later = await parquetFile("SELECT 10.0::DOUBLE AS user_id, 'a' AS item_id UNION ALL SELECT 11, 'b'");
  expect((await rows(numbers, later)).test).toEqual(["10 a 0", "11 b 0"]);
  expect((await rows(numbers, file("csv", "user_id,item_id\n10,a\nann,b\n"))).test).toEqual(["10 a 0", "ann b 0"]);
});
test("ids that a number would change are read as they are written", async () => {
  const found = await rows(
    file("csv", "user_id,item_id\n1.1,0x0A\n1.10,7\n"),
    file("csv", "user_id,item_id\n1.10,0x0A\n2.5,8\n"),
  );
  expect([found.train, found.test]).toEqual([
    ["1.1 0x0A 0", "1.10 7 0"],
    ["1.10 0x0A 0", "2.5 8 0"],
  ]);
});
test("each file may write its times in its own way", async () => {
  const later = "user_id,item_id,ts\nann,c,2023-11-14T22:13:20Z\n";
  expect((await rows(file("csv", TRAIN), file("csv", later))).test).toEqual(["ann c 1700000000"]);
});
test("the time is the column whose values are times", async () => {
  const rows = "user_id,item_id,reviewTime,unixReviewTime\nann,a,in the spring,1252800000\n";
  expect((await read(file("csv", rows), file("csv", rows))).columns).toMatchObject({ time: "unixReviewTime" });
});

test("lines of a user and the user's items are read as lists, with a warning", async () => {
  const lists = await rows(file("txt", "0 7 5 6\n1 7\n"), file("txt.gz", gzipSync("0 8\n1 5\n")));
  expect(lists.train).toEqual(["0 7 0", "0 5 0", "0 6 0", "1 7 0"]);
  expect(lists.test).toEqual(["0 8 0", "1 5 0"]);
  expect(lists.found.warnings[0]).toMatch(/each line is read as the id of a user and the ids of the user's items/);
});
test("sessions are the users of a session task, unless another column is given", async () => {
  const path = file("csv", "session_id,user_id,item_id,ts\ns1,u,a,1\ns2,u,b,2\n");
  const userOf = async (areSessions: boolean, columns: Columns) =>
    (await read(path, path, columns, { areSessions })).columns.user;
  expect([await userOf(true, {}), await userOf(false, {}), await userOf(true, { user: "user_id" })]).toEqual([
    "session_id",
    "user_id",
    "user_id",
  ]);
});
test("files of one name in two folders, and names that are patterns or have no known ending, are read as they are", async () => {
  for (const [name, item] of [
    ["a", "right"],
    ["b", "left"],
  ] as const) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "rows.csv"), `user_id,item_id\nann,${item}\n`);
  }
  const paths = ["a", "b"].map((name) => join(folder, name, "rows.csv"));
  expect((await rows(paths[0]!, paths[1]!)).test).toEqual(["ann left 0"]);
  writeFileSync(join(folder, "rows1.csv"), "user_id,item_id\nann,wrong\n");
  for (const name of ["rows[1].csv", "rows.dat"]) {
    writeFileSync(join(folder, name), "user_id,item_id\nann,own\n");
    expect((await rows(paths[0]!, join(folder, name))).test).toEqual(["ann own 0"]);
  }
});

test("rows of one second, and rows without a time, keep the order of the file", async () => {
  const content = "user,item,ts\nann,c,2\nann,b,1\nann,a,1\n";
  const path = file("csv", content);
  expect((await rows(path, path)).train).toEqual(["ann b 1", "ann a 1", "ann c 2"]);
  const { train, found } = await rows(path, path, { time: null });
  expect([train, found.columns.time]).toEqual([["ann c 0", "ann b 0", "ann a 0"], null]);
});
test("a label or a time that only the train file has is named in a warning", async () => {
  const later = file("csv", "user,item,Rating\na,z,0\n");
  const { found } = await rows(file("csv", "user,item,rating,ts\na,x,1,5\n"), later, { label: "rating" });
  expect(found.warnings).toEqual([
    `${later}: without the column "ts", rows are in the order of the file.`,
    `${later}: without the column "rating", every row counts as positive.`,
  ]);
});
test("a label is positive where it is true or above 0, and no number or a gap is not; without one every row is positive", async () => {
  const labels = ["NaN", " 2", " true", "0", "", "-1", "0.5"];
  const text = file("csv", `user,item,rating\n${labels.map((label, i) => `a,${i},${label}`).join("\n")}\n`);
  const parquet = await parquetFile("SELECT 'a' AS user, '0' AS item, 'NaN'::DOUBLE AS rating");
  const { train, test: later } = await rows(text, parquet, { label: "rating" });
  expect(train.map((row) => !row.endsWith("−"))).toEqual([false, true, true, false, false, false, true]);
  expect(later).toEqual(["a 0 0 −"]);
  expect((await rows(text, parquet)).train.join()).not.toContain("−");
});
test("types of events are positive where they are named, and offered where no label is", async () => {
  const path = file("csv", "user,item,event\na,x,view\na,y, buy\na,z,\na,w,Buy\n");
  const { found, train } = await rows(path, path);
  expect(found.warnings.join()).toContain("every row counts as positive; --label-column event --positive TYPES");
  expect(train.join()).not.toContain("−");
  const chosen = await read(path, path, { label: "event" }, { positive: ["buy"] });
  expect([...chosen.train.positive]).toEqual([0, 1, 0, 0]);
  expect(chosen.warnings).toEqual([]);
});
test("rows without an id or a time are counted and left out, as are lines that are no rows", async () => {
  const content = "user,item,ts\nann,b,1\n,b,2\nann,c,3\nann,d,\nann,e,4\nann,f,5\n";
  const { train, found } = await rows(file("csv", content), file("csv", `${content}bob\n`));
  expect(train).toEqual(["ann b 1", "ann c 3", "ann e 4", "ann f 5"]);
  expect(found.rejectedRows).toBe(5);
  expect(found.warnings.join()).toMatch(/rows left out: 1 × malformed_line/);
});
test("compressed files and names in capitals are read", async () => {
  const lines = zstdCompressSync('{"userId":"ann","movieId":1}\n{"userId":"bob","movieId":2}\n');
  const { train, test: later } = await rows(
    file("JSONL.ZST", lines),
    file("TSV.GZ", gzipSync("userId\tmovieId\nann\t2\n")),
  );
  expect([train, later]).toEqual([["ann 1 0", "bob 2 0"], ["ann 2 0"]]);
});

test("orders with a list of items are one row for each", async () => {
  const order = (user: string, ...skus: string[]) => JSON.stringify({ user, items: skus.map((sku) => ({ sku })) });
  const { train, test: later } = await rows(file("jsonl", order("ann", "a", "b")), file("jsonl", order("ann", "c")));
  expect([train, later]).toEqual([["ann a 0", "ann b 0"], ["ann c 0"]]);
});

describe("attributes", () => {
  const train = file("csv", "user_id,sku\n7,a\n8,b\n9,c\n");
  const attributesOf = async (more: More) => {
    const { train: data, warnings } = await read(train, train, {}, more);
    return { users: data.userAttributes, items: data.itemAttributes, warnings };
  };
  test("columns are typed and aligned with the users; a user who is not in the file has no values", async () => {
    const path = file("csv", "city,user_id,age\nBonn,7,30\nUlm,9,\nKiel,99,1\n");
    expect((await attributesOf({ users: path })).users).toEqual([
      {
        name: "city",
        type: "Category",
        dictionary: ["Bonn", "Ulm"],
        start: Uint32Array.of(0, 1, 1, 2),
        codes: Uint32Array.of(0, 1),
      },
      { name: "age", type: "Numerical", values: Float64Array.of(30, Number.NaN, Number.NaN) },
    ]);
  });
  test("items have theirs under the column of the item", async () => {
    const path = file("csv", "sku,tags\nb,red|round\na,red\n");
    expect((await attributesOf({ items: path })).items).toMatchObject([{ name: "tags", type: "CategoryList" }]);
  });
  test("a file without any known id is a warning; a file without the column of ids is refused", async () => {
    const { warnings } = await attributesOf({ items: file("csv", "sku,tags\nx,red\n") });
    expect(warnings.join()).toMatch(/No id of the item query, such as "x" is among those of the interactions/);
    await expect(attributesOf({ users: file("csv", "who,city\n70,Bonn\n") })).rejects.toThrow(
      /has no column "user_id"; its columns are "who", "city"\./,
    );
  });
  test("ids may be in a column of another name, and fields in objects", async () => {
    const path = file("json", '[{"asin": "b", "maker": {"town": "Bonn"}}, {"asin": "a", "maker": {"town": "Ulm"}}]');
    const { items, warnings } = await attributesOf({ items: path });
    expect(items).toMatchObject([{ name: "maker_town", dictionary: ["Bonn", "Ulm"] }]);
    expect(warnings).toEqual([`${path}: the ids are read from the column "asin".`]);
  });
});

describe("files that cannot be used are refused in one sentence that names the file", () => {
  const good = file("csv", TRAIN);
  test.each<[string, () => string | Promise<string>, Columns, RegExp]>([
    ["not there", () => join(folder, "none.csv"), {}, /none\.csv cannot be read: ENOENT/],
    ["columns that say nothing", () => file("csv", "a,b\n1,2\n"), {}, /looks like the user's id.*"a", "b"/],
    ["a named column that is not there", () => good, { user: "who" }, /no column "who" for the user/],
    ["no rows", () => file("csv", "user_id,item_id,ts\n"), {}, /cannot be read: .*no rows/],
    ["not a table", () => file("parquet", "nonsense"), {}, /cannot be read: .*not a Parquet file/],
    ["no header line", () => file("csv", "7,8\n9,10\n"), {}, /first line looks like data.*--user-column 1/],
    ["no times", () => file("csv", "user,item,time\nann,b,noon\n"), {}, /unparsable_time.*--time-column/],
    [
      "a type that holds no times",
      () => parquetFile("SELECT 'ann' AS user, 'b' AS item, TIME '12:30:00' AS time"),
      {},
      /type TIME, which cannot be a time.*--time-column/,
    ],
    [
      "ids that stand for several",
      () => parquetFile("SELECT 12345678901234567890::DOUBLE AS user, 'a' AS item"),
      {},
      /id_not_exact/,
    ],
  ])("%s", async (_, path, columns, sentence) => {
    const reading = read(await path(), good, columns);
    await expect(reading).rejects.toThrow(FileError);
    await expect(reading).rejects.toThrow(sentence);
  });
  test("a test file with other columns", () =>
    expect(read(good, file("csv", "person,item_id\n1,2\n"))).rejects.toThrow(
      /has no column "user_id"; its columns are "person", "item_id"/,
    ));
});
