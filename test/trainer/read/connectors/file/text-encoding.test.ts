import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readOneFile } from "../../../../fixtures/one-file.ts";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "one-file-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const readFile = (content: string | Uint8Array, options?: Parameters<typeof readOneFile>[2]) =>
  readOneFile(root, content, options);

describe("encodings", () => {
  const text = "user_id,item_id,title\nu1,i1,Café – 5 €\nu2,i2,Straße\nu3,i3,plain\n";
  const windows1252 = (some: string) =>
    Buffer.from([...some].map((character) => ({ "–": 0x96, "€": 0x80 })[character] ?? character.charCodeAt(0)));
  const utf16 = (some: string) => Buffer.from(`\ufeff${some}`, "utf16le");
  const titles = ["Café – 5 €", "Straße", "plain"];

  test.for<[string, Uint8Array, string, string]>([
    ["UTF-16 little endian", utf16(text), "UTF-16", "t.csv"],
    ["UTF-16 big endian", utf16(text).swap16(), "UTF-16", "t.csv"],
    ["Windows-1252", windows1252(text), "Windows-1252", "t.csv"],
    ["Windows-1252, compressed", gzipSync(windows1252(text)), "Windows-1252", "t.csv.gz"],
    ["UTF-16, compressed", zstdCompressSync(utf16(text)), "UTF-16", "t.csv.zst"],
    ["UTF-16 with tabs", utf16(text.replaceAll(",", "\t")), "UTF-16", "t.tsv"],
  ])("%s", async ([, content, encoding, name]) => {
    const { rows, notes, unreadable } = await readFile(content, { name });
    expect(rows.map((row) => row[2])).toEqual(titles);
    expect(notes).toEqual([`"${name}" is not UTF-8; it was read as ${encoding}`]);
    expect(unreadable).toEqual({});
    expect(await readdir(join(root, "temp"))).toEqual([]);
  });

  test("JSON in UTF-16", async () => {
    const { rows } = await readFile(utf16('[{"a": "Café"}]'), { name: "t.json" });
    expect(rows).toEqual([["Café"]]);
  });

  test.for(["", "\ufeff"])("UTF-8 needs no note (%j)", async (mark) => {
    const { rows, columns, notes } = await readFile(mark + text);
    expect(columns[0]).toBe("user_id");
    expect(rows.map((row) => row[2])).toEqual(titles);
    expect(notes).toEqual([]);
  });

  test("a character far down decides too, also at the end of a chunk", async () => {
    const lines = Array.from({ length: 300_000 }, (_, n) => `u${n},i${n}\n`).join("");
    const { rows, notes } = await readFile(windows1252(`user_id,item_id\n${lines}Zoë,é`), {
      query: "FROM t WHERE item_id NOT LIKE 'i%'",
    });
    expect(rows).toEqual([["Zoë", "é"]]);
    expect(notes).toEqual(['"t.csv" is not UTF-8; it was read as Windows-1252']);
  });

  test("some wrong lines of a UTF-8 file are malformed", async () => {
    const bytes = Buffer.concat([Buffer.from(`${text}u4,i4,Zoë\nu5,i5,`), Buffer.from([0xe9, 10])]);
    const { rows, unreadable, notes } = await readFile(bytes);
    expect(rows.map((row) => row[0])).toEqual(["u1", "u2", "u3", "u4"]);
    expect(unreadable).toEqual({ malformed_line: 1 });
    expect(notes).toEqual(['"t.csv": lines that do not fit its columns were left out: 6']);
  });

  test("a NUL in a later line does not lose the file, in the first it shows that this is no text", async () => {
    expect((await readFile("a,b\n1,x\n2,y\0z\n3,x\n")).rows.map((row) => row[0])).toEqual(
      expect.arrayContaining([1n, 3n]),
    );
    await expect(readFile("a\0,b\n1,2\n")).rejects.toMatchObject({ code: "file_malformed" });
  });

  test("what begins as UTF-16 and is not, names the line", async () => {
    const bytes = Buffer.concat([utf16(text), Buffer.from([0x00, 0xd8, 0x41, 0x00])]);
    await expect(readFile(bytes)).rejects.toMatchObject({
      code: "file_malformed",
      message: expect.stringMatching(/"t.csv" begins as UTF-16, but is not, shortly after line \d/),
    });
  });
});
