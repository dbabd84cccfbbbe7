import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findFiles, findTables } from "../../../../../trainer/read/connectors/duckdb/files.ts";

let base: string;
let root: string;
let second: string;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "find-files-"));
  [root, second] = [join(base, "root"), join(base, "second")];
  await mkdir(join(root, "shop", "deep"), { recursive: true });
  await mkdir(join(root, "many"));
  await mkdir(join(root, "clash"));
  await mkdir(second);
  const touch = (path: string) => writeFile(path, "a\n1\n");
  await touch(join(base, "outside.csv"));
  for (const name of ["a.csv", "b.tsv.gz", "c.parquet", "notes.txt", "deep/d.jsonl", "odd[1].csv", "two.parts.csv"])
    await touch(join(root, "shop", name));
  for (const name of ["x.csv", "X.parquet"]) await touch(join(root, "clash", name));
  await Promise.all(Array.from({ length: 201 }, (_, i) => touch(join(root, "many", `${i}.csv`))));
  await touch(join(second, "e.csv"));
  await symlink(join(base, "outside.csv"), join(root, "escape.csv"));
  await symlink(base, join(root, "escape-folder"));
  await symlink(join(root, "shop", "a.csv"), join(root, "inside.csv"));
  await symlink(join(base, "gone.csv"), join(root, "dangling.csv"));
});
afterAll(() => rm(base, { recursive: true, force: true }));

const find = async (location: string, roots = [root, second]) =>
  (await findFiles(location, roots)).map(({ table, shownAs, format, compression }) => [
    table,
    shownAs,
    format,
    compression,
  ]);

test("a relative or absolute file has its table, format and compression", async () => {
  expect(await find("shop/a.csv")).toEqual([["a", "shop/a.csv", "csv", "none"]]);
  expect(await find(join(root, "shop/b.tsv.gz"))).toEqual([["b", "shop/b.tsv.gz", "tsv", "gzip"]]);
  expect(await find("shop/two.parts.csv")).toEqual([["two.parts", "shop/two.parts.csv", "csv", "none"]]);
  expect(await find("e.csv")).toEqual([["e", "e.csv", "csv", "none"]]); // below the second folder
});

test("a glob gives tables in the order of paths and skips other files", async () => {
  expect((await find("shop/*.parquet")).map(([table]) => table)).toEqual(["c"]);
  expect((await find("shop/{a,b}.{csv,tsv.gz}")).map(([table]) => table)).toEqual(["a", "b"]);
  expect((await find("shop/[abc].*")).map(([table]) => table)).toEqual(["a", "b", "c"]);
  expect((await find("shop/deep/*")).map(([table]) => table)).toEqual(["d"]);
});

test("the named file is read, not another that its name matches as a pattern", async () => {
  await writeFile(join(root, "shop", "odd1.csv"), "a\n1\n");
  expect((await find("shop/odd[1].csv")).map(([, shownAs]) => shownAs)).toEqual(["shop/odd[1].csv"]);
  await rm(join(root, "shop", "odd1.csv"));
  expect((await find("shop/odd*.csv")).map(([, shownAs]) => shownAs)).toEqual(["shop/odd[1].csv"]);
});

test("a named file may have any name, and its content tells the format", async () => {
  const [file] = await findFiles("shop/notes.txt", [root]);
  expect(file).toMatchObject({ table: "notes", isFormatUnknown: true });
});

test("a symbolic link is followed when it stays inside", async () => {
  expect(await find("inside.csv")).toEqual([["inside", "shop/a.csv", "csv", "none"]]);
});

test.each<[string, string]>([
  ["../outside.csv", "bad_location"],
  ["shop/../../outside.csv", "bad_location"],
  ["shop\\a.csv", "bad_location"],
  ["shop/a.csv\0", "bad_location"],
  ["file:///etc/passwd", "bad_location"],
  ["https://example.com/a.csv", "bad_location"],
  ["s3://bucket/a.csv", "bad_location"],
  ["x".repeat(2000), "bad_location"],
  ["**/*.csv", "bad_location"],
  ["{**,shop}/*.csv", "bad_location"],
  ["{..,shop}/*.csv", "bad_location"],
  ["{.,}{.,}/*.csv", "bad_location"],
  ["[.][.]/*.csv", "bad_location"],
  ["{../outside,shop/a}.csv", "bad_location"],
  ["{[,]}.{],x}{[,]}.{],x}/*.csv", "bad_location"],
  ["{a,{b,c}}.csv", "bad_location"],
  ["{1..10000000}.csv", "bad_location"],
  [`${"{a,b}".repeat(25)}.csv`, "bad_location"],
  ["shop", "bad_location"],
  ["odd", "file_not_found"],
  ["shop/odd[2].csv", "file_not_found"],
  ["shop/*.txt", "file_not_found"],
  ["not-there.csv", "file_not_found"],
  ["escape.csv", "location_not_allowed"],
  ["escape-folder/outside.csv", "location_not_allowed"],
  ["escape-folder/*.csv", "location_not_allowed"],
  ["dangling.csv", "file_not_found"],
  ["/etc/passwd", "location_not_allowed"],
  ["clash/*", "table_name_clash"],
  ["many/*.csv", "too_many_files"],
])("%j is refused: %s", async (location, code) => {
  const error = await findFiles(location, [root, second]).catch((caught) => caught);
  expect(error).toMatchObject({ code, stage: "fetching" });
  expect(error.message).not.toContain(base);
});

test("a folder without files of a known ending says what it has", async () => {
  await mkdir(join(root, "movielens"));
  for (const name of ["movies.dat", "ratings.dat"]) await writeFile(join(root, "movielens", name), "1::2\n");
  const found = findTables({ ratings: "movielens" }, [root]);
  await expect(found).rejects.toThrow(/jsonl, ndjson: name one of "(movies|ratings).dat", "(movies|ratings).dat"$/);
});

test("a path beside an allowed folder whose name begins alike is refused", async () => {
  await mkdir(`${root}-beside`);
  await writeFile(join(`${root}-beside`, "a.csv"), "a\n1\n");
  await expect(findFiles(join(`${root}-beside`, "a.csv"), [root])).rejects.toMatchObject({
    code: "location_not_allowed",
  });
});

test("without an allowed folder nothing is read", () =>
  expect(findFiles("a.csv", [])).rejects.toMatchObject({ code: "no_allowed_folder" }));
