import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { stringAt } from "../../../shared/packed-strings.ts";
import type { Interactions } from "../../../trainer/dataset/dataset.ts";
import { readInteractionFiles } from "../../../trainer/evaluate/interaction-files.ts";
import type { GivenColumns } from "../../../trainer/local/guess-columns.ts";

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
test("a label column says what is positive; without one every row is", async () => {
  const content = "user,item,rating\na,x,1\na,y,0\na,z,\n";
  expect((await rows(file("csv", content), file("csv", content))).train).toEqual(["a x 0", "a y 0", "a z 0"]);
  expect((await rows(file("csv", content), file("csv", content), { label: "rating" })).train).toEqual([
    "a x 0",
    "a y 0 −",
    "a z 0 −",
  ]);
});
test("integer ids stay what they are, also beyond 2^53", async () => {
  const content = "user,item\n007,9007199254740993\n";
  expect((await rows(file("csv", content), file("csv", content))).train[0]).toMatch(/^0*7 9007199254740993 0$/);
});
test("JSON Lines, tabs and gzip", async () => {
  const lines = '{"userId":"ann","movieId":1}\n{"userId":"bob","movieId":2}\n';
  const tabs = gzipSync("userId\tmovieId\nann\t2\n");
  const { train, test: later } = await rows(file("jsonl", lines), file("tsv.gz", tabs));
  expect([train, later]).toEqual([["ann 1 0", "bob 2 0"], ["ann 2 0"]]);
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
  test("no header line", () =>
    check(file("csv", "7,8\n9,10\n"), good, {}, /begins with data \(7, 8\): its first line must be a header/));
});
