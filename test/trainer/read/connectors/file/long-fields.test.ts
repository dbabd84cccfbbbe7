import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readOneFile } from "../../../../fixtures/one-file.ts";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "long-fields-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const rows = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `u${from + n},i1,"a ""b"""\n`).join("");
const header = "user_id,item_id,title\n";

test("a quote that opens in one row and closes in another is reported with its lines", async () => {
  const swallowed = Array.from({ length: 99 }, (_, n) => `u${100 + n},i1,x\n`).join("");
  const text = `${header}${rows(99)}u99,i1,"begins\n${swallowed}u199,i1,ends"\n${rows(50, 200)}`;
  const { rows: read, notes } = await readOneFile(root, text);
  expect(read).toHaveLength(99 + 1 + 50);
  expect(notes).toEqual([
    '"t.csv": 1 quoted value has 20 or more line ends; if a quote is missing there, the rows within are lost: lines 101 to 201',
  ]);
});

test.each([
  [19, false],
  [20, true],
])("a value with %i line ends is reported: %s", async (lineEnds, isReported) => {
  const { notes } = await readOneFile(root, `${header}${rows(3)}u,i,"${"line\n".repeat(lineEnds)}"\n`);
  expect(notes!.length > 0).toBe(isReported);
});

test("quotes within values, and after a megabyte, are told apart", async () => {
  const inches = Array.from({ length: 60_000 }, (_, n) => `u${n},i${n},5" pipe\n`).join("");
  const long = `u,i,"${"line\n".repeat(30)}"\n`;
  const { notes } = await readOneFile(root, `${header}${inches}${long}${inches}`);
  expect(notes!.at(0)).toMatch("lines 60002 to 60032");
  expect((await readOneFile(root, `${header}${inches}`)).notes).toEqual([]);
});
