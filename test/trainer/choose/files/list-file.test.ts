import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { plainTable } from "../../../../trainer/choose/files/list-file.ts";

const folder = mkdtempSync(join(tmpdir(), "list-file-"));
afterAll(() => rm(folder, { recursive: true }));
let fileCount = 0;
const file = (content: string | Uint8Array, extension = "txt") => {
  const path = join(folder, `${fileCount++}.${extension}`);
  writeFileSync(path, content);
  return path;
};
const plain = (path: string, areLists = false) => plainTable(path, { name: "copy", workDirectory: folder, areLists });

test.each([
  ["a user's items, blanks at the ends, a user without items", "0 5 007 9 \n1 5\n\n2\n", true, true],
  ["tabs and other line ends", "0\t5\t6\r\n1\t5\r\n", true, true],
  ["lines of one length, which may be a table without a header", "0 5\n1 6\n", false, true],
  ["a header", "user item\n0 5 6\n", false, false],
  ["commas", "0,5\n1,6,7\n", false, false],
  ["an empty file", "", false, false],
])("whether lines are lists: %s", async (_, content, isRagged, isLoose) => {
  expect((await plain(file(content))).wasLists).toBe(isRagged);
  expect((await plain(file(content), true)).wasLists).toBe(isLoose);
});
test("a list file becomes a table with a row for each item, in the order of the file", async () => {
  const content = "0 5 007 9 \n1 5\n\n2\n10\t3  4\r\n";
  for (const path of [file(content), file(gzipSync(content), "txt.gz")]) {
    const { path: copy } = await plain(path);
    expect(readFileSync(copy, "utf8")).toBe("user_id,item_id\n0,5\n0,007\n0,9\n1,5\n10,3\n10,4\n");
  }
});
test("a file that the File connector can read stays where it is; others are copied under a plain name", async () => {
  const path = file("user,item\n", "csv.gz");
  expect(await plain(path)).toEqual({ path, wasLists: false });
  const copies = [file(gzipSync("user,item\n"), "dat.gz"), file("{}", "[1].jsonl")].map(
    async (one) => (await plain(one)).path,
  );
  expect((await Promise.all(copies)).map((copy) => basename(copy))).toEqual(["copy.csv.gz", "copy.jsonl"]);
});
