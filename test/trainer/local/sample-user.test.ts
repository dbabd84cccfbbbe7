import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeFiles, type FileAccess, type LocalSource } from "../../../trainer/local/local-source.ts";
import { sampleFilter, sampleUser, titlesOf } from "../../../trainer/local/sample-user.ts";

let root: string;
let source: LocalSource;
let bare: LocalSource;
let access: FileAccess;
const range = (count: number) => Array.from({ length: count }, (_, i) => i);
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "sample-"));
  // u1 has 3 positives, u2 has 29, u3 has 80; u2's negative is its newest.
  const rows = [
    ["u1", 3],
    ["u2", 29],
    ["u3", 80],
  ] as const;
  const events = rows.flatMap(([user, count]) => range(count).map((i) => `${user},i${i},${1000 + i},1`));
  await writeFile(
    join(root, "events.csv"),
    ["user_id,item_id,created_at,label", ...events, "u2,i999,9999,0"].join("\n"),
  );
  const items = range(40).map((i) => `i${i},"Item ""${i}""",${i % 3 ? "plain|red" : "plain|blue"},${i % 4}`);
  await writeFile(join(root, "items.csv"), ["item_id,title,tags,size", ...items].join("\n"));
  const files = { interactions: join(root, "events.csv"), items: join(root, "items.csv"), users: null, columns: {} };
  const options = { model: null, tempDirectory: root, signal: new AbortController().signal };
  source = await describeFiles(files, options);
  bare = await describeFiles({ ...files, items: null }, options);
  access = { folders: source.folders, ...options };
});
afterAll(() => rm(root, { recursive: true }));

test("the user with a medium history is chosen, with the latest positive items, oldest first", async () => {
  expect(await sampleUser(source, access)).toEqual({ id: "u2", latest: ["i24", "i25", "i26", "i27", "i28"] });
});

test("titles come from the items table", async () => {
  expect(await titlesOf(source, ["i1", "nothing"], access)).toEqual(new Map([["i1", 'Item "1"']]));
  expect(await titlesOf(bare, ["i1"], access)).toEqual(new Map());
  expect(await titlesOf(source, [], access)).toEqual(new Map());
});

test("the sample filter is a category of the first item", async () => {
  const ids = ["i0", "i1", "i2", "i3"];
  const attributes = [
    { name: "title", type: "Category" },
    { name: "size", type: "Numerical" },
    { name: "tags", type: "CategoryList" },
  ];
  expect(await sampleFilter(source, { attributes, ids }, access)).toEqual({ tags: { $in: ["plain"] } });
});

test("without attributes the sample filter excludes the first item", async () => {
  expect(await sampleFilter(bare, { attributes: [], ids: ["i7", "i8"] }, access)).toEqual({
    item_id: { $nin: ["i7"] },
  });
});
