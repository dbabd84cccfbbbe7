/** The clients make every call of the API against a real edge and a real trainer. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { Miniflare } from "miniflare";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import backEnd from "../../edge/client/examples/back-end.ts";
import { PageClient } from "../../edge/client/page-client.ts";
import { type ModelSpec, Shortlist } from "../../edge/client/shortlist.ts";
import { CALLS } from "../../edge/openapi-calls.ts";
import { RankBody, SimilarBody } from "../../shared/api.ts";
import { Event } from "../../shared/events/event.ts";
import { ItemChange } from "../../shared/items/change-items.ts";
import { hasPython, runPython, UNLESS_SKIPPED } from "../fixtures/python.ts";
import { startWholeService, type WholeService } from "../fixtures/whole-service.ts";

const TIMEOUT = 240_000;
/** Calls that a client does not need: the same by GET, the same with the id in the path, and those without a key. */
const LEFT_OUT = ["rankByQuery", "similarByQuery", "eraseUser", "live", "ready"];
let folder: string;
let service: WholeService;
let apiKey: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "clients-"));
  // Every user likes a third of 30 items.
  const clicks = Array.from({ length: 1200 }, (_, row) => {
    const user = Math.floor(row / 6);
    return `u${user},i${(user % 3) + 3 * ((user * 7 + (row % 6) * 3) % 10)},${1e9 + (row % 6) * 1e5 + user},1`;
  });
  await writeFile(join(folder, "clicks.csv"), ["user_id,item_id,created_at,label", ...clicks].join("\n"));
  const products = Array.from({ length: 30 }, (_, item) => `i${item},shelf ${item % 3},${item * 10}`);
  await writeFile(join(folder, "products.csv"), ["item_id,shelf,price", ...products].join("\n"));
  service = await startWholeService({
    realRuns: true,
    environment: {
      SHORTLIST_FILE_ROOTS: JSON.stringify({ acme: [folder] }),
      SHORTLIST_FIT_SECONDS: "1",
      SHORTLIST_IGNORE_GATE: "true",
    },
  });
  ({ key: apiKey } = await service.edge.issueKey());
}, TIMEOUT);
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

const specOf = (modelName: string): ModelSpec => ({
  model_name: modelName,
  connector_configs: [{ type: "File", location: "*.csv" }],
  schema: {
    user: { id: "user_id" },
    item: { id: "item_id", source: { query: "SELECT * FROM products" } },
    interaction: {
      created_at: "created_at",
      label: { type: "Binary", name: "label" },
      source: { query: "SELECT * FROM clicks" },
    },
  },
});

test("the TypeScript client makes every call", { timeout: TIMEOUT }, async () => {
  const made = new Set<string>();
  const recorded: typeof fetch = (url, init) => {
    const { pathname } = new URL(String(url));
    const path = CALLS.find((call) => call.method === init!.method!.toLowerCase() && isAt(pathname, call.path));
    made.add(path!.id);
    return fetch(url, init);
  };
  const client = new Shortlist({ url: service.edge.url, apiKey, fetch: recorded });

  expect(await client.dryRun(specOf("shop"))).toMatchObject({ ok: true, item_id_type: "string" });
  expect(await client.createModel(specOf("shop"))).toMatchObject({ model_name: "shop" });
  const { status, version } = await client.waitForTraining("shop");
  expect(status).toBe("ACTIVE");
  expect((await client.listModels({ limit: 1, status: "ACTIVE", name_contains: "SHO" })).models[0]).toMatchObject({
    model_name: "shop",
  });
  expect((await client.viewModel("shop")).version).toBe(version);
  expect(await client.changeModel("shop", { train_schedule: "@weekly" })).toMatchObject({ train_schedule: "@weekly" });

  const ids = await client.rank("shop", { user_id: "u4", limit: 3, retrieval: { shelf: "shelf 1" } });
  expect(ids).toHaveLength(3);
  for (const id of ids) expect(Number(String(id).slice(1)) % 3).toBe(1);
  const strategies: (string | null)[] = [];
  const { items, rank_id, strategy } = await client.rank(
    "shop",
    { user_id: "u4", return: ["scores", "metadata", "reasons"] },
    { onResponse: ({ headers }) => strategies.push(headers.get("x-rank-strategy")) },
  );
  expect(items[0]).toMatchObject({ score: expect.any(Number), metadata: { shelf: expect.any(String) } });
  expect(rank_id).toMatch(new RegExp(`^${version}\\.[0-9a-f-]{18}$`));
  expect(strategies).toEqual([strategy]);
  expect(await client.similarItems("shop", { item_id: "i3", limit: 2 })).toHaveLength(2);

  await client.events({ user_id: "u4", item_id: "i3", type: "view" });
  expect((await client.viewUserEvents("u4")).events).toMatchObject([{ item_id: "i3", type: "view" }]);
  expect((await client.viewLive()).newest_events).toMatchObject([{ user_id: "u4", item_id: "i3", type: "view" }]);
  expect((await client.viewHealth()).findings).toContainEqual(expect.objectContaining({ name: "events", state: "ok" }));

  expect(await client.mergeUsers("known", "u4")).toEqual({ user_id: "known", from: "u4", changed: true });
  expect((await client.viewUserEvents("known")).events).toMatchObject([{ item_id: "i3" }]);

  const change = { item_id: "i3", attributes: { price: 7 }, hidden: true };
  expect(await client.changeItems("shop", [change])).toEqual({ changed: 1, ignored: 0 });
  expect((await client.changedItems("shop", { limit: 1 })).items).toMatchObject([{ item_id: "i3", hidden: true }]);
  expect(await client.findItems("shop", { search: "i3", retrieval: { price: 7 } })).toMatchObject({
    items: [{ item_id: "i3", hidden: true, changed: ["price"] }],
    total: 1,
  });
  expect((await client.viewItem("shop", "i3")).attributes.price).toMatchObject({ value: 7, source: 30 });
  expect(await client.rank("shop", { pinned: ["i3"] })).not.toContain("i3");
  await client.queueItemChanges("shop", { item_id: "i3", attributes: { price: 8 } });
  expect((await client.viewItem("shop", "i3")).attributes.price!.value).toBe(8);
  expect(await client.changeItems("shop", [{ item_id: "i3", attributes: null, hidden: false }])).toMatchObject({
    changed: 1,
  });

  expect(await client.storeScenario("shop", "home", { limit: 4 })).toEqual({ limit: 4 });
  expect(await client.viewScenario("shop", "home")).toEqual({ limit: 4 });
  expect(await client.listScenarios("shop")).toEqual({ scenarios: [{ name: "home" }] });
  expect(await client.rank("shop", { scenario: "home" })).toHaveLength(4);
  expect(await client.evaluate("shop", { scenario: "home" })).toMatchObject({ scenario: "home", version, limit: 4 });
  expect(await client.deleteScenario("shop", "home")).toMatchObject({ name: "home" });

  const arms = [
    { name: "now", share: 0.5 },
    { name: "popular", share: 0.5, strategy: "popular" as const },
  ];
  const experiment = { name: "first", arms, goal: { type: "purchase" } };
  expect(await client.putExperiment("shop", experiment)).toMatchObject({ name: "first", revision: 1 });
  expect((await client.viewExperiment("shop")).verdict).toBe("running");
  expect(await client.endExperiment("shop", { keep: "now" })).toMatchObject({ keep: "now" });

  const { batch_id } = await client.createBatch("shop", { users: ["u4", "u5"], limit: 3, format: "csv" });
  const done = () => client.viewBatch("shop", batch_id);
  await expect.poll(async () => (await done()).state, { timeout: 60_000, interval: 500 }).toBe("done");
  const { rows: rowCount, files, users } = await done();
  expect([rowCount, users, files.length]).toEqual([6, 2, 1]);
  const file = await (await fetch(files[0]!.url)).text();
  const expected = await client.rank("shop", { user_id: "u5", limit: 3 });
  const lines = file.split("\n").filter((line) => line.startsWith("u5,"));
  expect(lines.map((line) => line.split(",").slice(0, 3))).toEqual(expected.map((id, i) => ["u5", String(i + 1), id]));
  expect((await fetch(files[0]!.url.replace(/.$/, "x"))).status).toBe(404);
  expect(await client.stopBatch("shop", batch_id)).toMatchObject({ state: "done", files: [{ bytes: file.length }] });

  expect((await client.viewEvaluation("shop")).chosen.method).toEqual(expect.any(String));
  expect((await client.evaluate("shop", { item_attribute: "shelf" })).segments).toHaveLength(3);
  expect((await client.listRuns("shop")).runs).toMatchObject([{ outcome: "published", version, report: null }]);
  const quality = { metric: "ndcg@10", chosen: { value: expect.any(Number) } };
  expect((await client.listVersions("shop")).versions).toMatchObject([{ version, live: true, quality }]);
  expect(await client.activateVersion("shop", version!)).toMatchObject({ version });
  expect(await client.eraseUser("u4")).toMatchObject({ user_id: "u4" });
  expect((await client.trainModel("shop")).training.state).not.toBe("IDLE");
  await client.waitForTraining("shop");
  expect(await client.deleteModel("shop")).toMatchObject({ model_name: "shop" });

  expect(CALLS.map(({ id }) => id).filter((id) => !made.has(id) && !LEFT_OUT.includes(id))).toEqual([]);
});

test.skipIf(!hasPython)(`the Python client makes every call${UNLESS_SKIPPED}`, { timeout: TIMEOUT }, async () => {
  const spec = JSON.stringify(specOf("python-shop"));
  const environment = { EDGE_URL: service.edge.url, API_KEY: apiKey, SPEC: spec };
  const stdout = await runPython("test/fixtures/client-tour.py", [], environment);
  const { methods, fields } = JSON.parse(stdout) as { methods: string[]; fields: Record<string, string[]> };
  const ours = [Shortlist, PageClient]
    .flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype))
    .filter((name) => name !== "constructor");
  expect(methods).toEqual(ours.map(snakeCase).sort());
  const namesOf = ({ shape }: { shape: object }, ...others: string[]) =>
    Object.keys(shape)
      .filter((name) => !others.includes(name))
      .sort();
  expect(fields).toEqual({
    RankFields: namesOf(RankBody, "return"),
    SimilarItemsFields: namesOf(SimilarBody, "return", "item_id"),
    Event: namesOf(Event),
    ItemChange: namesOf(ItemChange),
  });
});

test("the client runs in a Worker", async () => {
  await service.edge.publish({ modelName: "published" });
  const { outputFiles } = buildSync({
    entryPoints: ["edge/client/shortlist.ts"],
    bundle: true,
    format: "esm",
    write: false,
  });
  const worker = new Miniflare({
    workers: [
      {
        config: {
          name: "back-end",
          compatibilityDate: "2026-10-20",
          manifest: {
            mainModule: "main.js",
            modules: {
              "shortlist.js": { type: "esm", contents: outputFiles[0]!.text },
              "main.js": {
                type: "esm",
                contents: `import { Shortlist } from "./shortlist.js";
                  export default { async fetch(_, { url, apiKey }) {
                    return Response.json(await new Shortlist({ url, apiKey }).rank("published", { user_id: "ann" }));
                  } }`,
              },
            },
          },
          env: { url: { type: "json", value: service.edge.url }, apiKey: { type: "json", value: apiKey } },
        },
      },
    ],
  });
  try {
    expect(await (await fetch(await worker.ready)).json()).toEqual(["i2", "i3", "i4", "i5", "i6", "i7"]);
  } finally {
    await worker.dispose();
  }
});

test("the back end of the examples ranks, stores what was seen, and answers when the service does not", async () => {
  vi.spyOn(console, "error").mockReturnValue();
  const events = { meanings: { view: { label: true, seen: true } }, learnt: {} };
  await service.edge.publish({ customer: "shoes", events });
  vi.stubEnv("SHORTLIST_EDGE", service.edge.url);
  vi.stubEnv("SHORTLIST_KEY", (await service.edge.issueKey({ customer: "shoes" })).key);
  const headers = { "x-signed-in-user": "carl" };
  const listed = async (path: string) => {
    const answer = await backEnd.request(path, { headers });
    const { items } = (await answer.json()) as { items: { item_id: string; metadata: object }[] };
    return { status: answer.status, ids: items.map(({ item_id }) => item_id), first: items[0] };
  };
  const before = await listed("/for-you");
  expect(before.first).toMatchObject({ metadata: { category: expect.any(String) } });
  expect((await backEnd.request("/items/i6/views", { method: "POST", headers })).status).toBe(204);
  const after = await listed("/for-you");
  expect(before.ids).toContain("i6");
  expect(after.ids.slice(0, 2).sort()).toEqual(["i5", "i7"]); // the neighbours of i6
  expect(after.ids).not.toContain("i6");
  expect((await (await backEnd.request("/for-you")).json()) as object).toMatchObject({ strategy: "popular" });
  expect((await listed("/items/i3/similar")).ids.slice(0, 2).sort()).toEqual(["i2", "i4"]);
  expect(await listed("/items/nothing/similar")).toMatchObject({ status: 404, ids: [] });
  vi.stubEnv("SHORTLIST_KEY", "rk_wrong");
  expect(await listed("/for-you")).toMatchObject({ status: 503, ids: [] });
});

test.skipIf(!hasPython)(
  `the script of the examples trains on CSV files and draws a plot${UNLESS_SKIPPED}`,
  {
    timeout: TIMEOUT,
  },
  async () => {
    const plot = join(folder, "quality.svg");
    const args = ["csv-shop", "clicks.csv", "--items", "products.csv", "--plot", plot];
    const environment = { SHORTLIST_EDGE: service.edge.url, SHORTLIST_KEY: apiKey };
    const output = await runPython("edge/client/examples/train_csv.py", args, environment);
    expect(output).toMatch(/was chosen\. .*quality\.svg shows why\. Popular items: \['i\d+'/);
    const svg = await readFile(plot, "utf8");
    expect(svg).toMatch(/^<svg .*<\/svg>\n$/s);
    // How many methods are measured depends on how busy the machine is, so the bars are compared with the report.
    const report = await new Shortlist({ url: service.edge.url, apiKey }).viewEvaluation("csv-shop");
    const measured = report.candidates.filter(
      ({ outcome, metrics }) => ["chosen", "lost"].includes(outcome) && metrics[report.chosen_by]?.value != null,
    );
    const bars = [...svg.matchAll(/text-anchor="end">(\w+)<\/text><rect /g)].map(([, method]) => method);
    expect(bars).toContain(report.chosen.method);
    expect(bars.sort()).toEqual([...new Set(["popularity", ...measured.map(({ method }) => method)])].sort());
  },
);

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const isAt = (pathname: string, template: string) =>
  new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(pathname);
