import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, describe, expect, test } from "vitest";
import { stringAt } from "../../../../shared/packed-strings.ts";
import { readInteractionFiles } from "../../../../trainer/choose/files/interaction-files.ts";
import type { Interactions } from "../../../../trainer/read/dataset/dataset.ts";
import type { GivenColumns } from "../../../../trainer/read/dataset/guess-columns.ts";

const folder = mkdtempSync(join(tmpdir(), "interaction-files-"));
afterAll(() => rm(folder, { recursive: true }));
let fileCount = 0;
const file = (extension: string, content: string | Uint8Array) => {
  const path = join(folder, `${fileCount++}.${extension}`);
  writeFileSync(path, content);
  return path;
};
const read = (train: string, test: string, columns: GivenColumns = {}) =>
  readInteractionFiles({ train, test, columns });

async function parquetFile(sql: string): Promise<string> {
  const path = join(folder, `${fileCount++}.parquet`);
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run(`COPY (${sql}) TO '${path}' (FORMAT parquet)`);
  connection.closeSync();
  return path;
}

const TRAIN = "user_id,item_id,ts\nann,b,30\nbob,a,10\nann,a,20\ncat,a,5\n";
const TEST = "user_id,item_id,ts\nbob,c,40\ndan,b,50\n";

async function rows(train: string, test: string, columns: GivenColumns = {}) {
  const found = await read(train, test, columns);
  const textOf = (interactions: Interactions) => {
    const all: string[] = [];
    for (let user = 0; user < interactions.userCount; user++) {
      for (let row = interactions.userStart[user]!; row < interactions.userStart[user + 1]!; row++) {
        const [who, what] = [
          stringAt(found.train.userIds, user),
          stringAt(found.train.itemIds, interactions.items[row]!),
        ];
        all.push(`${who} ${what} ${interactions.times[row]}${interactions.positive[row] ? "" : " −"}`);
      }
    }
    return all;
  };
  return { train: textOf(found.train), test: textOf(found.test), found };
}

test("both files under one catalog: items of train by their rows, then those of test alone; histories in time order", async () => {
  const { train, test: later, found } = await rows(file("csv", TRAIN), file("csv", TEST));
  expect(train).toEqual(["ann a 20", "ann b 30", "bob a 10", "cat a 5"]);
  expect(later).toEqual(["bob c 40", "dan b 50"]);
  expect([0, 1, 2].map((item) => stringAt(found.train.itemIds, item))).toEqual(["a", "b", "c"]);
  expect(found.columns).toMatchObject({ user: "user_id", item: "item_id", time: "ts", label: null });
});
test("lines of a user and the user's items, as splits are published, and it is told", async () => {
  const lists = await rows(file("txt", "0 7 5 6\n1 7\n"), file("txt", "0 8\n1 5\n"));
  expect(lists.train).toEqual(["0 7 0", "0 5 0", "0 6 0", "1 7 0"]);
  expect(lists.test).toEqual(["0 8 0", "1 5 0"]);
  expect(lists.found.warnings.join()).toMatch(/each line is read as the id of a user/);
});
test("of sessions the column of sessions is taken, not that of users, unless another is given", async () => {
  const rowsOf = "session_id,user_id,item_id,ts\ns1,NA,a,1\ns2,NA,b,2\n";
  const files = { train: file("csv", rowsOf), test: file("csv", rowsOf) };
  const userOf = async (areSessions: boolean, columns: GivenColumns) =>
    (await readInteractionFiles({ ...files, areSessions, columns })).columns.user;
  expect([await userOf(true, {}), await userOf(false, {}), await userOf(true, { user: "user_id" })]).toEqual([
    "session_id",
    "user_id",
    "user_id",
  ]);
});
test("a name with the characters of a pattern is that file's, and no other's", async () => {
  const [content, other] = ["user_id,item_id\nann,right\n", "user_id,item_id\nann,wrong\n"];
  const path = join(folder, "rows[1]*?.csv");
  writeFileSync(path, content);
  for (const name of ["rows1.csv", "rows1xy.csv"]) writeFileSync(join(folder, name), other);
  const found = await read(path, path);
  expect(stringAt(found.train.itemIds, 0)).toBe("right");
});
test("an id that is quoted only far down the file is read as one that is quoted in the first row", async () => {
  const many = Array.from({ length: 160_000 }, (_, k) =>
    k === 150_000 ? 'u1,"5"" pipe",1' : k === 150_001 ? 'u1,"a, b",2' : `u${k % 50},b${k % 7},${k}`,
  );
  const train = file("csv", `user_id,item_id,ts\n${many.join("\n")}\n`);
  const found = await read(train, file("csv", 'user_id,item_id,ts\nu2,"5"" pipe",1\nu2,"a, b",1\n'));
  const ids = Array.from({ length: 9 }, (_, item) => stringAt(found.train.itemIds, item));
  expect(new Set(ids)).toEqual(new Set(["b0", "b1", "b2", "b3", "b4", "b5", "b6", '5" pipe', "a, b"]));
});
test.each([
  ["at both ends of ids, rows apart", "'Til Tuesday", "Singin'"],
  ["around a whole id", "'Heroes'", "Low"],
])("apostrophes %s belong to them: no row between is lost", async (_, one, other) => {
  const rest = Array.from({ length: 30 }, (_, row) => `ann,x${row},${100 + row}`);
  const path = file("csv", ["user_id,item_id,ts", `ann,${one},1`, ...rest, `ann,${other},500`, ""].join("\n"));
  const { train, found } = await rows(path, file("csv", TEST));
  expect([train.length, train[0], train.at(-1)]).toEqual([32, `ann ${one} 1`, `ann ${other} 500`]);
  expect(found.rejectedRows).toBe(0);
});
test("apostrophes are quotes where the header is in them too", async () => {
  const path = file("csv", "'user_id','item_id'\n'ann','a,b'\n'bob','c'\n");
  expect((await rows(path, file("csv", TEST))).train).toEqual(["ann a,b 0", "bob c 0"]);
});
test("without a time the order is that of the file", async () => {
  const train = "user,item\nann,b\nbob,a\nann,a\n";
  expect((await rows(file("csv", train), file("csv", train))).train).toEqual(["ann b 0", "ann a 0", "bob a 0"]);
});
test.each([
  ["milliseconds", "1700000000000", 1_700_000_000],
  ["text with a zone", "2023-11-14T22:13:20Z", 1_700_000_000],
  ["text without a zone, read as UTC", "2023-11-14 22:13:20", 1_700_000_000],
])("times as %s", async (_, time, seconds) => {
  const content = `user,item,ts\nann,b,${time}\n`;
  expect((await rows(file("csv", content), file("csv", content))).train).toEqual([`ann b ${seconds}`]);
});
test("a label or a time that only the train file has is told, and what follows from it", async () => {
  const later = file("csv", "user,item,Rating\na,z,0\n");
  const { found } = await rows(file("csv", "user,item,rating,ts\na,x,1,5\n"), later, { label: "rating" });
  expect(found.warnings).toEqual([
    `${later} has no column "ts": its rows are taken in the order of the file.`,
    `${later} has no column "rating": all of its rows count as positive.`,
  ]);
});
test("a label that is no number, as pandas writes a gap, is not positive; blanks around one do not matter", async () => {
  const text = file("csv", "user,item,rating\na,x,NaN\na,y,nan\na,z, 2\na,w, true\n");
  const path = await parquetFile(
    "SELECT 'a' AS user, 'x' AS item, 'NaN'::DOUBLE AS rating UNION ALL SELECT 'a', 'z', 2",
  );
  const { train, test: later } = await rows(text, path, { label: "rating" });
  expect([train, later]).toEqual([
    ["a x 0 −", "a y 0 −", "a z 0", "a w 0"],
    ["a x 0 −", "a z 0"],
  ]);
});
test("a label column says what is positive; without one every row is", async () => {
  const content = "user,item,rating\na,x,1\na,y,0\na,z,\n";
  expect((await rows(file("csv", content), file("csv", content))).train).toEqual(["a x 0", "a y 0", "a z 0"]);
  expect((await rows(file("csv", content), file("csv", content), { label: "rating" })).train).toEqual([
    "a x 0",
    "a y 0 −",
    "a z 0 −",
  ]);
});
describe("ids", () => {
  const both = async (extension: string, content: string) =>
    (await rows(file(extension, content), file(extension, content))).train;
  test("in CSV are what is written: zeros in front and numbers of any length", async () => {
    const content = "user,item\n007,12345678901234567890\n7,12345678901234567891\n";
    expect(await both("csv", content)).toEqual(["007 12345678901234567890 0", "7 12345678901234567891 0"]);
  });
  test("in JSON too", async () => {
    const content = '{"user":12345678901234567890,"item":"a"}\n{"user":12345678901234567891,"item":5}\n';
    expect(await both("jsonl", content)).toEqual(["12345678901234567890 a 0", "12345678901234567891 5 0"]);
  });
  test("are read as text also where the first 100,000 rows have numbers only", async () => {
    const numbers = Array.from({ length: 150_000 }, (_, row) => `${row % 7},${row % 5},${row}`);
    const content = `user,item,ts\n${numbers.join("\n")}\nann,b,2020-01-01\n`;
    expect((await both("csv", content)).at(-1)).toBe("ann b 1577836800");
  });
  test.each([
    ["in CSV", "csv", "user,item\n1.0,2\n,2\n10.0,3\n"],
    ["in JSON", "jsonl", '{"user":1.0,"item":2}\n{"user":10.0,"item":3}\n'],
  ])("a column of whole numbers with a point is one of whole numbers, %s", async (_, extension, content) => {
    const { test: later, found } = await rows(file("csv", "user,item\n1,2\n10,3\n"), file(extension, content));
    expect([later, found.train.userCount]).toEqual([["1 2 0", "10 3 0"], 2]);
  });
  test("a point stays where it tells ids apart", async () => {
    expect(await both("csv", "user,item\n1.0,2\n1,2\n1.5,2\n")).toEqual(["1.0 2 0", "1 2 0", "1.5 2 0"]);
  });
  test.each([
    ["DOUBLE", "1.0::DOUBLE"],
    ["DECIMAL", "1.00::DECIMAL(9,2)"],
    ["BIGINT", "1::BIGINT"],
    ["JSON", "'1'::JSON"],
    ["BLOB", "'1'::BLOB"],
  ])("of Parquet as %s are the same", async (_, one) => {
    const parquet = await parquetFile(`SELECT ${one} AS user, 'a' AS item`);
    expect((await rows(file("csv", "user,item\n1,a\n"), parquet)).test).toEqual(["1 a 0"]);
  });
  test("of Parquet as doubles that stand for several are refused", async () => {
    const parquet = await parquetFile("SELECT 12345678901234567890::DOUBLE AS user, 'a' AS item");
    await expect(read(parquet, parquet)).rejects.toThrow(
      /has 1 ids in the column "user".*too large to be exact: write/,
    );
  });
});

describe("times", () => {
  const order = async (times: readonly string[], columns: GivenColumns = {}) => {
    const content = `user,item,ts\n${times.map((time, row) => `ann,${row},"${time}"`).join("\n")}\n`;
    return (await rows(file("csv", content), file("csv", content), columns)).train.map((row) => row.slice(4));
  };
  test("within one second keep their order, and are rounded down", async () => {
    expect(await order(["1700000000900", "1700000000100", "1700000000600"])).toEqual([
      "1 1700000000",
      "2 1700000000",
      "0 1700000000",
    ]);
    expect(await order(["2023-11-14 22:13:20.9", "2023-11-14 22:13:20.1"])).toEqual(["1 1700000000", "0 1700000000"]);
  });
  test("before 1970 are in order too", async () => {
    expect(await order(["-10", "-20", "5"])).toEqual(["1 0", "0 0", "2 5"]);
  });
  test("that are not finite are left out, and an absurd one does not change the unit of the others", async () => {
    expect(await order(["nan", "1700000000", "inf", "1700000001", "1e18", "-inf", "infinity"], { time: "ts" })).toEqual(
      ["1 1700000000", "3 1700000001", "4 4294967295"],
    );
  });
  test.each([
    ["12/1/2010 8:26", "12/13/2010 20:26", 1291191960],
    ["1.12.2010 8:26", "13.12.2010 20:26", 1291191960],
    ["12/1/10 8:26", "12/13/10 20:26", 1291191960],
    ["12/1/2010 8:26:00 AM", "12/2/2010 8:26:00 PM", 1291191960],
    ["12 1, 2010", "12 13, 2010", 1291161600],
    ["December 1, 2010", "December 13, 2010", 1291161600],
    ["01-Dec-2010", "13-Dec-2010", 1291161600],
    ["Wed Dec 01 08:26:00 +0000 2010", "Mon Dec 13 08:26:00 +0000 2010", 1291191960],
  ])("may be dates such as %s", async (first, second, seconds) => {
    const [one, two] = await order([second, first]);
    expect(one).toBe(`1 ${seconds}`);
    expect(two).toMatch(/^0 129\d{7}$/);
  });
  test("a guessed column that holds none is not taken, with a warning; a named one is an error", async () => {
    const content = "user,item,time\nann,b,noon\nann,a,morning\n";
    const { train, found } = await rows(file("csv", content), file("csv", content));
    expect([train, found.columns.time, found.rejectedRows]).toEqual([["ann b 0", "ann a 0"], null, 0]);
    expect(found.warnings[0]).toMatch(
      /only 0 of 2 rows have a time in the column "time", so rows are taken in the order/,
    );
    await expect(read(file("csv", content), file("csv", content), { time: "time" })).rejects.toThrow(
      /has no row with a user, an item and a readable time/,
    );
  });
  test("a type that holds no times is none", async () => {
    const parquet = await parquetFile("SELECT 'ann' AS user, 'b' AS item, TIME '12:30:00' AS time");
    expect((await rows(parquet, parquet)).train).toEqual(["ann b 0"]);
  });
  test("null: none is looked for", async () => {
    const content = "user,item,ts\nann,b,2\nann,a,1\n";
    const columns = { time: null };
    const found = await readInteractionFiles({ train: file("csv", content), test: file("csv", content), columns });
    expect([found.columns.time, ...found.train.times]).toEqual([null, 0, 0]);
  });
});

test("JSON Lines, tabs and gzip", async () => {
  const lines = '{"userId":"ann","movieId":1}\n{"userId":"bob","movieId":2}\n';
  const tabs = gzipSync("userId\tmovieId\nann\t2\n");
  const { train, test: later } = await rows(file("jsonl", lines), file("tsv.gz", tabs));
  expect([train, later]).toEqual([["ann 1 0", "bob 2 0"], ["ann 2 0"]]);
});
test("names in capitals", async () => {
  const [tabs, lines] = [gzipSync("user\titem\nann\t2\n"), zstdCompressSync('{"user":"bob","item":3}\n')];
  const { train, test: later } = await rows(file("TSV.GZ", tabs), file("JSONL.ZST", lines));
  expect([train, later]).toEqual([["ann 2 0"], ["bob 3 0"]]);
});
test("rows without an id or a time are counted and left out", async () => {
  const content = "user,item,ts\nann,b,1\n,b,2\nann,,3\nann,c,\n";
  const { train, found } = await rows(file("csv", content), file("csv", content));
  expect(train).toEqual(["ann b 1"]);
  expect(found.rejectedRows).toBe(6);
});

describe("files that cannot be used", () => {
  const good = file("csv", TRAIN);
  const check = (train: string, later: string, columns: GivenColumns, sentence: RegExp) =>
    expect(read(train, later, columns)).rejects.toThrow(sentence);
  test("not there", () => check(join(folder, "none.csv"), good, {}, /none\.csv cannot be read: .*No files found/));
  test("columns that say nothing", () =>
    check(file("csv", "a,b\n1,2\n"), good, {}, /looks like the user's id.*"a", "b"/));
  test("a named column that is not there", () => check(good, good, { user: "who" }, /no column "who" for the user/));
  test("a test file with other columns", () =>
    check(
      good,
      file("csv", "person,item_id\n1,2\n"),
      {},
      /has no column "user_id"; its columns are "person", "item_id"/,
    ));
  test("no rows", () => check(good, file("csv", "user_id,item_id,ts\n"), {}, /has no row with a user/));
  test("not a table", () => check(file("parquet", "nonsense"), good, {}, /cannot be read/));
  test("nothing at all", () => check(good, file("csv", ""), {}, /\.csv is empty/));
  test.each([
    [
      "user,item,ts\nann,1,5\nbob,2\nann,3,6\n",
      /cannot be read: .*Line: 3 .*bob,2 .*Expected Number of Columns: 3 Found: 2/,
    ],
    [
      "user;item\nann;1\nbob;2;3\nann;3\n",
      /cannot be read: .*Line: 3 .*bob;2;3 .*Expected Number of Columns: 2 Found: 3/,
    ],
    [
      "user,item\n#ann,1\n#bob\ncat,3\ndan,4\n",
      /cannot be read: .*Line: 3 .*#bob .*Expected Number of Columns: 2 Found: 1/,
    ],
  ])("rows of different lengths: %j", (text, sentence) => check(file("csv", text), good, {}, sentence));
  test("not in UTF-8", () => {
    const utf16 = file("csv", Buffer.from("\uFEFFuser,item\nann,1\nbob,2\n", "utf16le"));
    return check(utf16, good, {}, /cannot be read: .*not utf-8 encoded/);
  });
  test("no header line", () =>
    check(file("csv", "7,8\n9,10\n"), good, {}, /begins with data \(7, 8\): its first line must be a header/));
});
