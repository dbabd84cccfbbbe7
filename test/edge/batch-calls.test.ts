/**
 * Batches as a customer meets them, over HTTP: right, wrong and hostile calls, and links to files. What the lists are is tested in
 * trainer/run/make-batch, and the queue in trainer/manage/records/batches.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BatchRecord, batchFilePath } from "../../shared/batch.ts";
import { livePointerKey } from "../../shared/manifest.ts";
import { CUSTOMER_BATCHES_MAX } from "../../trainer/manage/records/batches.ts";
import { CACHING } from "../fixtures/edge-world.ts";
import { SECRET } from "../fixtures/trainer-client.ts";
import { freshFolder } from "../fixtures/trainer-state.ts";
import { startWholeService, type WholeService } from "../fixtures/whole-service.ts";

const BATCHES = "/v0/models/shop/batches";
const NOBODY = "00000000-0000-4000-8000-000000000000";

let service: WholeService;
let folder: string;
let other: string;
beforeAll(async () => {
  folder = await freshFolder();
  await mkdir(join(folder, "shop"));
  await writeFile(
    join(folder, "shop", "people.csv"),
    "user_id,mail,country\nann,yes,de\nbob,no,de\n7,yes,at\n,yes,at\n",
  );
  const environment = { SHORTLIST_FILE_ROOTS: JSON.stringify({ acme: [folder] }) };
  service = await startWholeService({ edge: { vars: CACHING }, environment });
  for (const customer of ["acme", "globex"]) {
    const { version } = await service.edge.publish({ customer });
    await service.trainer.create("shop", `publish ${version}`, { customer });
    await service.trainer.until("shop", (record) => record.version === version, { customer });
  }
  await service.trainer.create("empty", "wait");
  expect(
    (await service.edge.call("/v0/models/shop/scenarios/home", { method: "PUT", body: { limit: 2 } })).status,
  ).toBe(200);
  other = (await service.edge.issueKey({ customer: "globex" })).key;
});
afterAll(() => service?.stop());

async function call(path: string, { method, body, key }: { method?: string; body?: unknown; key?: string } = {}) {
  const answer = await service.edge.call(path, {
    ...(method && { method }),
    ...(body !== undefined && { body }),
    ...(key && { key }),
  });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
}
const view = async (id: string) => (await call(`${BATCHES}/${id}`)).body as unknown as BatchRecord;
async function made(body: object): Promise<BatchRecord> {
  const { status, body: created, headers } = await call(BATCHES, { body });
  expect(status).toBe(202);
  const id = String(created.batch_id);
  expect(headers.get("location")).toBe(`${BATCHES}/${id}`);
  await expect.poll(async () => (await view(id)).state, { timeout: 60_000, interval: 100 }).not.toBe("running");
  return view(id);
}
const idsOf = async (path: string, body: object) =>
  (await (await service.edge.call(path, { body })).json()) as string[];

test("lists as CSV are those of rank calls, under a link that needs no key", async () => {
  const { state, rows, users, files, failure, ended_at } = await made({
    users: ["ann", "bob", "bob", "nobody"],
    limit: 3,
    format: "csv",
  });
  expect([state, failure, rows, users, files.length]).toEqual(["done", null, 9, 3, 1]);
  expect(Date.parse(ended_at!)).toBeGreaterThan(Date.now() - 60_000);
  const answer = await fetch(files[0]!.url);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    "content-type": "application/octet-stream",
    "content-length": String(files[0]!.bytes),
    "content-disposition": expect.stringMatching(/^attachment; filename="[0-9a-f-]{36}-0001\.csv"$/),
  });
  const [head, ...lines] = (await answer.text()).trim().split("\n");
  expect(head).toBe("user_id,rank,item_id,score");
  for (const user_id of ["ann", "bob", "nobody"]) {
    const own = lines.filter((line) => line.startsWith(`${user_id},`)).map((line) => line.split(",").slice(1, 3));
    const expected = await idsOf("/v0/models/shop/rank", { user_id, limit: 3 });
    expect(own).toEqual(expected.map((id, i) => [String(i + 1), id]));
  }
});

test("a scenario gives the lists their length, and NDJSON has a line for each place", async () => {
  const { files } = await made({ users: ["ann"], scenario: "home", limit: 1, format: "ndjson" });
  const lines = (await (await fetch(files[0]!.url)).text()).trim().split("\n");
  const own = await idsOf("/v0/models/shop/rank", { user_id: "ann", scenario: "home", limit: 1 });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ user_id: "ann", rank: 1, item_id: own[0] }]);
});

test("users come from the first column of a query, and the users of an item are in Parquet by default", async () => {
  const query = "SELECT user_id, country FROM people WHERE mail = 'yes'";
  const listed = await made({ users: { source: { query } }, limit: 1, format: "csv" });
  expect([listed.state, listed.users]).toEqual(["done", 2]); // one row has no id
  const text = await (await fetch(listed.files[0]!.url)).text();
  expect(text.split("\n").map((line) => line.split(",")[0])).toEqual(expect.arrayContaining(["ann", "7"]));
  expect(text).not.toContain("bob");

  const { files } = await made({ users: { source: { query } }, items: ["i3"], users_per_item: 1 });
  const path = join(folder, "users.parquet");
  await writeFile(path, new Uint8Array(await (await fetch(files[0]!.url)).arrayBuffer()));
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const rows = (await connection.runAndReadAll(`SELECT item_id, rank, user_id FROM '${path}'`)).getRowObjectsJson();
  expect(rows).toEqual([{ item_id: "i3", rank: 1, user_id: expect.stringMatching(/^(ann|7)$/) }]);
});

test("a query without users makes a file without rows", async () => {
  const nobody = { source: { query: "SELECT user_id FROM people WHERE country = 'xx'" } };
  const { state, rows, users, files } = await made({ users: nobody, format: "csv" });
  expect([state, rows, users, files.length]).toEqual(["done", 0, 0, 1]);
  expect(await (await fetch(files[0]!.url)).text()).toBe("user_id,rank,item_id,score\n");
});

test.each<[string, object, string]>([
  ["a query that is wrong", { users: { source: { query: "SELECT nothing FROM people" } } }, "source_query_failed"],
  ["a table that is not there", { users: { source: { query: "SELECT * FROM staff" } } }, "source_table_not_found"],
  ["a file outside", { users: { source: { query: "SELECT * FROM read_csv('/etc/passwd')" } } }, "source_query_refused"],
  ["a query that writes", { users: { source: { query: "DROP TABLE people" } } }, "source_query_not_select"],
  ["items that are unknown", { users: ["ann"], items: ["zz", "__proto__"] }, "item_not_found"],
])("%s fails the batch, which says why and has no files", async (_, body, code) => {
  const { state, failure, files, rows } = await made(body);
  expect({ state, failure, files, rows }).toMatchObject({ state: "failed", failure: { code }, files: [], rows: null });
});

const REFUSED: readonly [path: string, body: unknown, status: number, code: string, pointer?: string][] = [
  [BATCHES, { users: Array(5001).fill("u") }, 400, "invalid_parameter", "/users"],
  [BATCHES, { users: [] }, 400, "invalid_parameter", "/users"],
  [BATCHES, { users: "everybody" }, 400, "invalid_parameter", "/users"],
  [BATCHES, { users: [["ann"]] }, 400, "invalid_parameter", "/users/0"],
  [
    BATCHES,
    { users: { source: { query: "SELECT 1", connector_id: "x" } } },
    400,
    "invalid_parameter",
    "/users/source/connector_id",
  ],
  [BATCHES, { limit: 0 }, 400, "invalid_parameter", "/limit"],
  [BATCHES, { limit: 1001 }, 400, "invalid_parameter", "/limit"],
  [BATCHES, { limit: 2.5 }, 400, "invalid_parameter", "/limit"],
  [BATCHES, { format: "xlsx" }, 400, "invalid_parameter", "/format"],
  [BATCHES, { format: "../../csv" }, 400, "invalid_parameter", "/format"],
  [BATCHES, { items: [] }, 400, "invalid_parameter", "/items"],
  [BATCHES, { items: Array(21).fill("i1") }, 400, "invalid_parameter", "/items"],
  [BATCHES, { items: ["i1"], users_per_item: 100_001 }, 400, "invalid_parameter", "/users_per_item"],
  [BATCHES, { retrieval: {} }, 400, "unknown_field", "/retrieval"],
  [BATCHES, "[", 400, "invalid_json"],
  [BATCHES, { scenario: "absent" }, 404, "scenario_not_found"],
  [BATCHES, { scenario: "../home" }, 400, "invalid_parameter", "/scenario"],
  ["/v0/models/absent/batches", {}, 404, "model_not_found"],
  ["/v0/models/empty/batches", {}, 409, "model_not_active"],
];
test.each(REFUSED.map((row) => [JSON.stringify(row[1]).slice(0, 60), ...row] as const))(
  "%s to %s is refused",
  async (_, path, body, status, code, pointer) => {
    expect(await call(path, { body })).toMatchObject({
      status,
      body: { code, ...(pointer && { errors: [{ pointer }] }) },
    });
  },
);

test("a batch is known to its model alone, and needs the scope to manage", async () => {
  const { batch_id: id, files } = await made({ users: ["ann"], limit: 1, format: "csv" });
  const { key: ranking } = await service.edge.issueKey({ scopes: ["rank", "events"] });
  for (const method of ["GET", "DELETE"]) {
    const unknown = { status: 404, body: { code: "batch_not_found" } };
    expect(await call(`${BATCHES}/${id}`, { method, key: other })).toMatchObject(unknown);
    for (const name of [NOBODY, "x", `${id}%2F0001.csv`, "..%2F..%2Fshop", "%00"])
      expect(await call(`${BATCHES}/${name}`, { method })).toMatchObject({ status: 404 });
    expect(await call(`/v0/models/empty/batches/${id}`, { method })).toMatchObject(unknown);
    expect((await call(`${BATCHES}/${id}`, { method, key: ranking })).status).toBe(403);
  }
  expect((await call(BATCHES, { body: {}, key: ranking })).status).toBe(403);
  expect(await view(id)).toMatchObject({ state: "done", files: [{ bytes: files[0]!.bytes }] });
});

test("one customer's waiting batches are limited, do not count for another, and stop", async () => {
  const waiting: string[] = [];
  const refused: unknown[] = [];
  for (let i = 0; i < CUSTOMER_BATCHES_MAX + 5; i++) {
    const { status, body, headers } = await call(BATCHES, { body: { users: ["ann"] } });
    if (status === 202) waiting.push(String(body.batch_id));
    else refused.push([status, body.code, Number(headers.get("retry-after")) > 0]);
  }
  expect(refused.length).toBeGreaterThan(0);
  expect(new Set(refused.map((each) => JSON.stringify(each)))).toEqual(new Set(['[429,"rate_limited",true]']));
  const { status, body } = await call(BATCHES, { body: { users: ["ann"] }, key: other });
  expect(status).toBe(202);
  for (const id of waiting.reverse())
    expect(["done", "stopped"]).toContain((await call(`${BATCHES}/${id}`, { method: "DELETE" })).body.state);
  const stopped = await view(waiting[0]!);
  expect(stopped).toMatchObject({ state: "stopped", files: [], failure: null });
  expect(await view(waiting[0]!)).toEqual(stopped);
  await call(`${BATCHES}/${body.batch_id}`, { method: "DELETE", key: other });
});

/** The status of a path that is sent as it is written: fetch resolves `..` in paths. */
const statusOf = (path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.edge.url);
    const sent = request({ hostname, port, path }, (answer) => resolve(answer.resume().statusCode!));
    sent.on("error", reject).end();
  });

test("a link is valid for its file, until its end, with its signature", async () => {
  const { files } = await made({ users: ["ann"], limit: 1, format: "csv" });
  const link = new URL(files[0]!.url);
  const key = link.pathname.slice("/v0/files/".length);
  const until = Number(link.searchParams.get("until"));
  expect(Math.abs(until - Date.now() / 1000 - 24 * 3600)).toBeLessThan(60);
  const signed = (of: string, seconds: number, secret = SECRET) => batchFilePath(of, seconds, secret);
  expect(await statusOf(await signed(key, until))).toBe(200);

  const signature = link.searchParams.get("signature")!;
  const changed = (name: string, value: string) => {
    const next = new URL(link);
    next.searchParams.set(name, value);
    return next.pathname + next.search;
  };
  const [pointer, anotherFile] = [livePointerKey("acme", "shop"), key.replace("0001", "0002")];
  const traversals = [`${key}/../../../../live.json`, key.replace("/batches/", "/batches/../batches/"), `${key}%00`];
  for (const path of [
    link.pathname,
    changed(
      "signature",
      signature.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
    ),
    changed("signature", signature.toUpperCase()),
    changed("signature", ""),
    changed("until", String(until + 1)),
    changed("until", "Infinity"),
    link.pathname.replace("0001", "0002") + link.search,
    link.pathname.replace("/acme/", "/globex/") + link.search,
    await signed(key, until, "another-secret-of-32-characters-or-more"),
    await signed(key, Math.floor(Date.now() / 1000) - 1), // it has ended
    await signed(anotherFile, until), // there is no such file
    // What no trainer signs, but what a trainer's fault must not open either.
    ...(await Promise.all(
      [pointer, `${key}/../../../../live.json`, "keys", ...traversals].map((of) => signed(of, until)),
    )),
    `${link.pathname}/%2e%2e/%2e%2e/%2e%2e/live.json${link.search}`,
    `/v0/files/${key.replaceAll("/", "%2F")}${link.search}`,
  ])
    expect([path, await statusOf(path)]).toEqual([path, 404]);
  expect((await fetch(link, { method: "DELETE" })).status).toBe(405);
  expect((await fetch(link)).status).toBe(200);
});
