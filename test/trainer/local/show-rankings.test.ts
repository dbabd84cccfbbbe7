import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LocalError } from "../../../trainer/local/local-error.ts";
import { describeFiles, type LocalSource } from "../../../trainer/local/local-source.ts";
import {
  curlLine,
  filterOf,
  itemsOf,
  sampleUser,
  showRankings,
  titlesOf,
} from "../../../trainer/local/show-rankings.ts";

let root: string;
let source: LocalSource;
let bare: LocalSource;
const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const { signal } = new AbortController();
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "sample-"));
  const rows = [
    ["u1", 3],
    ["u2", 30],
    ["u3", 80],
  ] as const;
  const events = rows.flatMap(([user, count]) => range(count).map((i) => `${user},i${i},${1000 + i}`));
  await writeFile(join(root, "events.csv"), ["user_id,item_id,created_at", ...events].join("\n"));
  const items = range(40).map((i) => `i${i},"Item ""${i}""",${i % 3 ? "plain|red" : "plain|blue"},${i % 4}`);
  await writeFile(join(root, "items.csv"), ["id,title,tags,size", ...items].join("\n"));
  const files = { interactions: join(root, "events.csv"), items: join(root, "items.csv"), users: null, columns: {} };
  source = await describeFiles(files, { model: "shop", tempDirectory: root, signal });
  bare = await describeFiles({ ...files, items: null }, { model: null, tempDirectory: root, signal });
});
afterAll(() => rm(root, { recursive: true }));

test("the user with a medium history is chosen, with the latest items, oldest first", async () => {
  expect(await sampleUser(source)).toEqual({ id: "u2", latest: ["i25", "i26", "i27", "i28", "i29"] });
});

async function sampleOf(rows: readonly string[]) {
  await writeFile(join(root, "rows.csv"), ["user_id,item_id,created_at", ...rows].join("\n"));
  const files = { interactions: join(root, "rows.csv"), items: null, users: null, columns: {} };
  return await sampleUser(await describeFiles(files, { model: null, tempDirectory: root, signal }));
}

test("a million rows fit into the memory of a query", async () => {
  const path = join(root, "large.csv");
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run(
    `COPY (SELECT 'person-' || i % 10000 || '@example.com' AS email, 'SKU-' || i // 10000 AS sku,
       strftime(make_timestamp(1700000000000000 + i * 1000000), '%Y-%m-%d %H:%M:%S -0400') AS created_at
     FROM range(1000000) AS rows(i)) TO '${path}'`,
  );
  connection.closeSync();
  const files = { interactions: path, items: null, users: null, columns: {} };
  const large = await describeFiles(files, { model: null, tempDirectory: root, signal });
  const latest = ["SKU-95", "SKU-96", "SKU-97", "SKU-98", "SKU-99"];
  expect(await sampleUser(large)).toEqual({ id: "person-0@example.com", latest });
  await expect(large.interactions.query("SELECT nothing")).rejects.toBeInstanceOf(LocalError);
});

test("rows without a user are nobody's history, and repeated rows are one item", async () => {
  const anonymous = range(30).map((i) => `${i % 2 ? "" : "NULL"},i${i},${i}`);
  const repeated = ["u1,a,1", "u1,b,2", "u1,b,2", "u1,b,2", "u1,c,3"];
  expect(await sampleOf([...anonymous, ...repeated])).toEqual({ id: "u1", latest: ["a", "b", "c"] });
  expect(await sampleOf(anonymous)).toBe(undefined);
});

test("ids are asked for as a training stores them", async () => {
  const rows = [
    ["12.0", "501.10"],
    ["12.0", "501.1"],
    ["13.0", "7"],
  ].map(([user, item], i) => `${user},${item},${1000 + i}`);
  await writeFile(join(root, "points.csv"), ["user_id,item_id,created_at", ...rows].join("\n"));
  await writeFile(join(root, "catalog.csv"), "id,title\n501.10,Ten\n501.1,One\n");
  const files = { interactions: join(root, "points.csv"), items: join(root, "catalog.csv"), users: null, columns: {} };
  const points = await describeFiles(files, { model: "points", tempDirectory: root, signal });
  expect(await sampleUser(points)).toEqual({ id: "12", latest: ["501.10", "501.1"] });
  expect((await itemsOf(points, ["501.10"])).get("501.10")).toMatchObject({ title: "Ten" });
});

test("items are found by the id of the interactions", async () => {
  expect([...(await itemsOf(source, ["i1", "nothing"])).keys()]).toEqual(["i1"]);
  expect((await itemsOf(source, ["i1"])).get("i1")).toMatchObject({ title: 'Item "1"', tags: "plain|red" });
  expect([...(await itemsOf(bare, ["i1"])), ...(await itemsOf(source, []))]).toEqual([]);
});

test("titles are in a column whose name says so, and not in one of its author's names", async () => {
  await writeFile(join(root, "books.csv"), "id,Author-Name,Book-Title\ni1,Ann Ode,Odes\n");
  const files = { interactions: join(root, "events.csv"), items: join(root, "books.csv"), users: null, columns: {} };
  const books = await describeFiles(files, { model: "books", tempDirectory: root, signal });
  expect(await titlesOf(books, ["i1", "i2"])).toEqual([
    { item: "i1", title: "Odes" },
    { item: "i2", title: "" },
  ]);
});

test("the sample filter is a category of the first item that some others have, and nothing if it has none", () => {
  const attributes = [
    { name: "title", type: "Category" },
    { name: "size", type: "Numerical" },
    { name: "shop", type: "Category" },
    { name: "tags", type: "CategoryList" },
  ];
  const item = (shop: string | null, tags: string[] | null) => ({ title: "One", size: 3, shop, tags });
  const others = [item("own", ["red", "old"]), item("own", ["red"]), item("own", ["blue"])];
  expect(filterOf([item("own", ["plain", "red"]), ...others], attributes)).toEqual({ tags: { $in: ["red"] } });
  expect(filterOf([item("own", null), ...others], attributes)).toEqual({ shop: { $in: ["own"] } });
  expect(filterOf([item("other", ["plain"])], attributes)).toEqual({ shop: { $in: ["other"] } });
  expect(filterOf([item(null, null), ...others], attributes)).toBe(undefined);
  expect(filterOf([], attributes)).toBe(undefined);
});

test("a shell reads the curl line correctly whatever the id contains", () => {
  const service = { edgeUrl: "http://127.0.0.1:8787", apiKey: "rk_key", signal };
  const example = { path: "/v0/rank?user_id=o'hara", body: { user_id: "o'hara & co" } };
  const words = execFileSync("sh", ["-c", `printf '%s\\0' ${curlLine(service, example)}`], { encoding: "utf8" });
  expect(words.split("\0")).toEqual([
    ...["curl", "-s", `${service.edgeUrl}${example.path}`, "-H", "x-api-key: rk_key"],
    ...["-H", "content-type: application/json", "-d", JSON.stringify(example.body), ""],
  ]);
});

test("no filter is shown where items have no category", async () => {
  const server = createServer((request, response) =>
    response.end(request.url!.includes("return=") ? '{"items":[]}' : '["i1","i7"]'),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const edgeUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const lines: string[] = [];
  await showRankings({ edgeUrl, apiKey: "rk_key", signal }, bare, {
    attributes: [],
    print: (line) => lines.push(line),
  });
  server.close();
  expect(lines).toHaveLength(4);
  expect(lines.join("\n")).not.toContain("only where");
});

test("lists with titles, reasons and similar items are printed, and calls are repeated until the edge serves the version", async () => {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    const status = calls.push(`${request.method} ${request.url}`) === 1 ? 404 : 200;
    const item = { item_id: "i1", reasons: [{ item_id: "i25", share: 1 }], metadata: { tags: ["plain"] } };
    const explained = JSON.stringify({ items: [item] });
    const body = request.url!.includes("return=") ? explained : '["i1","i7"]';
    response.writeHead(status, { "x-rank-strategy": "personalized" }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const edgeUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const lines: string[] = [];
  const output = { attributes: [{ name: "tags", type: "CategoryList" }], print: (line: string) => lines.push(line) };
  await showRankings({ edgeUrl, apiKey: "rk_key", signal }, source, output);
  server.close();
  const known = "GET /v0/models/shop/rank?user_id=u2&limit=10";
  const details = "GET /v0/models/shop/rank?user_id=u2&limit=10&return=reasons,metadata";
  const similar = "GET /v0/models/shop/similar_items?item_id=i1&limit=3";
  const [session, filtered] = Array(2).fill("POST /v0/models/shop/rank");
  expect(calls).toEqual([known, known, session, details, filtered, similar]);
  expect(lines[0]).toContain('Item "25"');
  expect(lines[1]).toMatch(
    /^\nFor the user u2 \(personalized\):\n\ncurl .*\n\n {3}1 {2}i1 {2}Item "1"\n {3}2 {2}i7 {2}Item "7"$/,
  );
  expect(lines[3]).toContain('only where {"tags":{"$in":["plain"]}}');
  expect(lines[4]).toBe('\nItem "1" is first for user u2, because of Item "25". Similar to it: Item "1", Item "7".');
});
