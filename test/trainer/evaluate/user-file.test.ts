import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { packStrings } from "../../../shared/packed-strings.ts";
import { InteractionFileError } from "../../../trainer/evaluate/interaction-files.ts";
import { readUserFile } from "../../../trainer/evaluate/user-file.ts";

const folder = mkdtempSync(join(tmpdir(), "user-file-"));
afterAll(() => rm(folder, { recursive: true }));
const file = (name: string, content: string) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const read = (path: string, ids: readonly string[], userColumn = "user_id") =>
  readUserFile(path, { userColumn, userIds: packStrings(ids) });

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
