import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readOneFile } from "../../../../fixtures/one-file.ts";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "one-file-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const readFile = (content: string | Uint8Array, options?: Parameters<typeof readOneFile>[2]) =>
  readOneFile(root, content, options);

describe("one bad line does not lose the file", () => {
  const csv = (bad: string, at: number) => {
    const lines = Array.from({ length: 600 }, (_, n) => `u${n % 50},i${n % 20},"some, title",${1_760_000_000 + n}`);
    lines[at] = bad;
    return `user_id,item_id,title,created_at\n${lines.join("\n")}\n`;
  };

  test.for([0, 299, 599])("a quote inside a quoted value, in row %i", async (at) => {
    const { rows, unreadable, notes, columns } = await readFile(csv('u1,i1,"a "bad" title",1760000000', at));
    expect(columns).toEqual(["user_id", "item_id", "title", "created_at"]);
    expect(rows).toHaveLength(599);
    expect(rows.at(at === 599 ? -1 : 598)![3]).toBe(1_760_000_000n + BigInt(at === 599 ? 598 : 599));
    expect(unreadable).toEqual({ malformed_line: 1 });
    expect(notes).toEqual([`"t.csv": lines that do not fit its columns were left out: ${at + 2}`]);
  });

  test.for([0, 299, 599])("a quote that is not closed, in row %i", async (at) => {
    const { rows, unreadable, notes } = await readFile(csv('u1,i1,"no end,1760000000', at));
    const lost = at === 599 ? 1 : 2;
    expect(rows).toHaveLength(600 - lost);
    expect(unreadable).toEqual({ malformed_line: lost });
    const more = lost === 2 ? " (with the 1 after it, up to the next quote)" : "";
    expect(notes).toEqual([`"t.csv": lines that do not fit its columns were left out: ${at + 2}${more}`]);
  });

  test("the columns have the types of all rows, also of those after the line", async () => {
    const rows = Array.from({ length: 40 }, (_, n) => (n === 5 ? 'u1,"a "b" c",7' : `u1,i1,${n < 20 ? n : `x${n}`}`));
    const found = await readFile(`user_id,item_id,code\n${rows.join("\n")}\n`);
    expect(found.rows).toHaveLength(39);
    expect(found.rows.at(-1)).toEqual(["u1", "i1", "x39"]);
    expect(found.unreadable).toEqual({ malformed_line: 1 });
  });

  test("a file without such lines has no notes", async () => {
    const { unreadable, notes } = await readFile("user_id,item_id\nu1,i1\n");
    expect({ unreadable, notes }).toEqual({ unreadable: {}, notes: [] });
  });
});

describe("delimiters and headers", () => {
  test.for<[string, string, string]>([
    ["sep=; as Excel writes it", "sep=;\r\nuser_id;item_id;n\r\nu1;i1;1,5\r\nu2;i2;2\r\n", "t.csv"],
    ["sep=| beside commas", "sep=|\nuser_id|item_id|n\nu1|i1|1,5\nu2|i2|2\n", "t.csv"],
    ["two colons", "user_id::item_id::n\nu1::i1::1,5\nu2::i2::2\n", "t.dat"],
    ["commas in a .tsv", 'user_id,item_id,n\nu1,i1,"1,5"\nu2,i2,2\n', "t.tsv"],
    ["tabs in a file of another name", "user_id\titem_id\tn\nu1\ti1\t1,5\nu2\ti2\t2\n", "t.log"],
  ])("%s", async ([, content, name]) => {
    const { columns, rows } = await readFile(content, { name });
    expect(columns).toEqual(["user_id", "item_id", "n"]);
    expect(rows).toEqual([
      ["u1", "i1", "1,5"],
      ["u2", "i2", "2"],
    ]);
  });

  test("blanks, where each line has as many and no other delimiter", async () => {
    const columnsOf = async (content: string) => (await readFile(content, { name: "t.txt" })).columns;
    expect(await columnsOf("user_id item_id n\nu1 i1 1.5\nu2 i2 2")).toEqual(["user_id", "item_id", "n"]);
    expect(await columnsOf("7 1 2 3\n8 1\n")).toHaveLength(1);
    expect(await columnsOf("Our clicks\nuser,created at\nu1,2024-01-01 10:00\n")).not.toContain("Our");
  });

  test.for<[string, string, string]>([
    ["u.data", "196\t242\t3\t881250949\n186\t302\t3\t891717742\n", "FROM u"],
    ["ratings.txt", "196 242 3 881250949\n186 302 3 891717742\n", "FROM ratings"],
    ["ratings.dat", "196::242::3::881250949\n186::302::3::891717742\n", "FROM ratings"],
  ])("%s of MovieLens has no header", async ([name, content, query]) => {
    const { columns, rows } = await readFile(content, { name, query });
    expect(columns).toEqual(["column0", "column1", "column2", "column3"]);
    expect(rows).toEqual([
      [196n, 242n, 3n, 881250949n],
      [186n, 302n, 3n, 891717742n],
    ]);
  });

  test.for<[string, string | Uint8Array]>([
    ["JSON", '[{"a": "x"}]'],
    ["JSON Lines", '{"a": "x"}\n{"a": "x"}\n'],
    ["gzip", gzipSync("a,b\nx,1\n")],
  ])("%s is recognised by its content", async ([, content]) => {
    const { rows } = await readFile(content, { name: "t.export", query: "SELECT DISTINCT a FROM t" });
    expect(rows).toEqual([["x"]]);
  });
});
