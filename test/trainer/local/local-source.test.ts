import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ModelSpec } from "../../../shared/model-spec.ts";
import { describeFiles } from "../../../trainer/local/local-source.ts";
import type { GivenFiles } from "../../../trainer/local/start-flags.ts";
import { findFiles } from "../../../trainer/read/connectors/duckdb/files.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "source-"));
  await mkdir(join(root, "shop"));
  await mkdir(join(root, "temp"));
});
afterEach(() => rm(root, { recursive: true }));

const access = () => ({ model: null, tempDirectory: join(root, "temp"), signal: new AbortController().signal });
async function given(files: { [name: string]: string }, more: Partial<GivenFiles> = {}): Promise<GivenFiles> {
  for (const [name, text] of Object.entries(files))
    await writeFile(join(root, "shop", name), name.endsWith(".gz") ? gzipSync(text) : text);
  return { interactions: join(root, "shop", Object.keys(files)[0]!), items: null, users: null, columns: {}, ...more };
}
const EVENTS = "user_id,item_id,timestamp,rating\nu1,i1,100,5\nu1,i2,200,1\nu2,i1,300,4\n";
const oneSentence = async (files: Promise<GivenFiles>) => {
  const failure = (await describeFiles(await files, access()).catch((error: Error) => error)) as Error;
  expect(failure.name).toBe("LocalError");
  expect(failure.message).not.toContain("\n");
  return failure.message;
};

test("a file becomes a model named after it, with guessed columns", async () => {
  const source = await describeFiles(await given({ "rentals.csv": EVENTS }), access());
  expect(source.body.model_name).toBe("rentals");
  expect(source.columns).toMatchObject({ user: "user_id", item: "item_id", time: "timestamp" });
  expect(source.body.schema.interaction.label).toEqual({ type: "Rating", name: "rating", positive_from: 4 });
  ModelSpec.parse(source.body);
  const columns = "user user_id, item item_id, time timestamp, label rating (positive from 4: 67 % of the rows)";
  expect(source.findings).toBe(`The columns: ${columns}.`);
  const query = source.body.schema.interaction.source.query;
  expect((await source.interactions.query(query)).map((row) => row.user_id)).toEqual(["u1", "u1", "u2"]);
});

test.each([
  ["-1,-1,-1,1", 1, "25 %"],
  ["0,0,0,2", 1, "25 %"],
  ["1,1,1,5", 5, "25 %"],
  ["1,2,NaN,5", 2, "50 %"],
])("labels %s are positive from %d", async (labels, positive_from, share) => {
  const rows = labels.split(",").map((label, i) => `u${i},i${i},${100 + i},${label}`);
  const text = `user_id,item_id,created_at,rating\n${rows.join("\n")}\n`;
  const source = await describeFiles(await given({ "rated.csv": text }), access());
  expect(source.body.schema.interaction.label).toMatchObject({ type: "Rating", positive_from });
  expect(source.findings).toMatch(`positive from ${positive_from}: ${share} of the rows`);
});

test("a file whose users are sessions becomes a model of sessions", async () => {
  const rows = "session_id,item_id,created_at\n1,a,100\n1,b,200\n";
  const source = await describeFiles(await given({ "clicks.csv": rows }), access());
  const { interaction } = ModelSpec.parse(source.body).schema;
  expect(interaction.session_id).toBe("session_id");
  expect(source.findings).toMatch("The columns: session session_id, item item_id, time created_at");
});

test("files of the same name in different folders are not confused", async () => {
  const source = await describeFiles(await given({ "interactions.csv": EVENTS }), access());
  const other = join(root, "other");
  await mkdir(other);
  await writeFile(join(other, "interactions.csv"), EVENTS);
  const { location } = source.body.connector_configs[0]!;
  const found = await findFiles(location!, [other, ...source.folders]);
  expect(found.map(({ path }) => path)).toEqual([source.interactions.path]);
});

test("files of two folders are both allowed and have full paths", async () => {
  await mkdir(join(root, "more"));
  await writeFile(join(root, "more", "catalogue.csv"), "id,title\ni1,One\n");
  const files = await given({ "rentals.csv": EVENTS }, { items: join(root, "more", "catalogue.csv") });
  const source = await describeFiles(files, access());
  expect(source.folders).toHaveLength(2);
  expect(source.body.connector_configs).toEqual([
    { id: "interactions", type: "File", location: join(root, "shop", "rentals.csv") },
    { id: "items", type: "File", location: join(root, "more", "catalogue.csv") },
    { id: "events", type: "Events" },
  ]);
  expect(source.body.schema.item.source).toEqual({
    connector_id: "items",
    query: 'SELECT "id" AS "item_id", * EXCLUDE ("id") FROM "catalogue"',
  });
  ModelSpec.parse(source.body);
});

test("given columns are used", async () => {
  const columns = { user: "b", item: "a", time: "c" };
  const source = await describeFiles(await given({ "x.csv": "a,b,c\n1,2,3\n" }, { columns }), access());
  expect(source.columns).toMatchObject({ ...columns, label: null });
  expect(source.body.schema.interaction.source.query).toBe('SELECT "b", "a", "c", true AS label FROM "x"');
  expect(source.findings).toBe("The columns: user b, item a, time c, no label, so every row is positive.");
});

test.each([
  ["1,0,1", { type: "Binary", name: "rating" }],
  ["true,false,true", { type: "Binary", name: "rating" }],
  ["1,2,9000", { type: "Rating", name: "rating", positive_from: 2 }],
])("the label values %s are read as %j", async (values, label) => {
  const rows = values.split(",").map((value, i) => `u${i},i1,${value}`);
  const source = await describeFiles(
    await given({ "x.csv": `user_id,item_id,rating\n${rows.join("\n")}\n` }),
    access(),
  );
  expect(source.body.schema.interaction).toMatchObject({ label, created_at: "created_at" });
});

test("the latest change of a file is known", async () => {
  const files = await given({ "rentals.csv": EVENTS, "items.csv": "id,title\ni1,One\n" });
  const items = join(root, "shop", "items.csv");
  const { changedMs } = await describeFiles({ ...files, items }, access());
  expect(changedMs).toBe((await stat(items)).ctimeMs);
});

test("an unreadable file and unclear columns are reported in one sentence", async () => {
  expect(await oneSentence(given({ "x.csv": "a,b,c\n1,2,3\n" }))).toMatch(
    /--user-column.*--item-column.*"a", "b", "c"/,
  );
  expect(await oneSentence(given({ "x.csv": EVENTS }, { columns: { time: "never" } }))).toContain('no column "never"');
  expect(await oneSentence(given({ "x.csv": "user_id,item_id\n" }))).toContain("has no rows");
  expect(await oneSentence(given({ "x.csv": "" }))).toMatch(/x\.csv/);
  expect(await oneSentence(given({ "x.parquet": "not parquet" }))).toContain("x.parquet");
  expect(await oneSentence(given({ "x.txt": EVENTS }))).toContain("does not end in");
  await writeFile(join(root, "odd.csv"), "colour,size\nred,1\n");
  expect(await oneSentence(given({ "x.csv": EVENTS }, { items: join(root, "odd.csv") }))).toContain("--items");
});
