import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../trainer/local/free-port.ts";
import { endService, isAlive, type StartedService, startCommand } from "../fixtures/started-service.ts";
import { putDatabase } from "../fixtures/trainer-state.ts";

const ROOT = join(import.meta.dirname, "../..");
let folder: string;
let port: number;
let service: StartedService | undefined;
const dir = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "serve-"));
  port = await freePort();
});
afterAll(async () => {
  await endService(service);
  await rm(folder, { recursive: true, force: true });
});

const program = (name: string, ...args: string[]) =>
  startCommand([process.execPath, join(ROOT, `trainer/serve/${name}.ts`), ...args], { cwd: ROOT });
const runToEnd = async (name: string, ...args: string[]) => {
  const started = program(name, ...args);
  return { code: await started.exited, text: started.output() + started.errors() };
};
const serve = async (name: string) => {
  service = program("serve", "--dir", dir(name));
  await service.printed("Up on ");
};
const keyOf = async (name: string) =>
  JSON.parse(await readFile(join(dir(name), "local.json"), "utf8")).api_key as string;

/** The answers' bodies are checked by the tests themselves. */
// biome-ignore lint/suspicious/noExplicitAny: each call has another shape
type Answer = { status: number; headers: Headers; body: any };

async function call(key: string, path: string, body?: object, method = body ? "POST" : "GET"): Promise<Answer> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { "x-api-key": key, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, headers: answer.headers, body: await answer.json().catch(() => undefined) };
}

async function untilActive(key: string): Promise<void> {
  for (;;) {
    const { body } = await call(key, "/v0/models/shop");
    if (body.status === "ACTIVE") return;
    if (body.status === "ERROR") throw new Error(JSON.stringify(body.failure));
    await setTimeout(200);
  }
}

/** The samples of Prometheus's text format, by name and labels. Fails on a line that is not part of it. */
function metricsIn(text: string): Map<string, number> {
  const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    samples.map((line) => {
      const [, name, value] = /^([a-z_]+(?:\{(?:[a-z_]+="[^"]*",?)*\})?) (\S+)$/.exec(line)!;
      return [name!, Number(value)];
    }),
  );
}

const spec = {
  model_name: "shop",
  connector_configs: [
    { id: "files", type: "File", location: "clicks.csv" },
    { id: "events", type: "Events" },
  ],
  schema: {
    user: { id: "user_id" },
    item: { id: "item_id" },
    interaction: {
      created_at: "created_at",
      label: { type: "Binary", name: "label" },
      source: { connector_id: "files", query: "SELECT *, true AS label FROM clicks" },
      events: { view: { label: true } },
    },
  },
};

async function writeClicks(): Promise<void> {
  const rows = Array.from({ length: 600 }, (_, i) => `u${i % 40},i${(i * 7) % 60},${1_760_000_000 + i * 60}`);
  await writeFile(join(folder, "clicks.csv"), `user_id,item_id,created_at\n${rows.join("\n")}\n`);
}

test("a service keeps what it has answered over kill -9, and over a backup into another folder", async () => {
  await writeClicks();
  const metricsPort = await freePort();
  const flags = ["--yes", "--port", String(port), "--data-root", folder, "--metrics-port", String(metricsPort)];
  expect(await runToEnd("setup", "--dir", dir("one"), ...flags)).toMatchObject({ code: 0 });
  const settings = JSON.parse(await readFile(join(dir("one"), "settings.json"), "utf8"));
  const quick = { ...settings, workers: 2, environment: { SHORTLIST_FIT_SECONDS: 1, SHORTLIST_IGNORE_GATE: 1 } };
  await writeFile(join(dir("one"), "settings.json"), JSON.stringify(quick));
  expect((await stat(join(dir("one"), "settings.json"))).mode & 0o077).toBe(0);

  await putDatabase(join(dir("one"), "trainer"));

  await serve("one");
  const key = await keyOf("one");
  expect((await call(key, "/v0/models", spec)).status).toBe(201);
  await untilActive(key);
  const rankPath = "/v0/models/shop/rank?user_id=visitor&limit=5";
  // Each call may reach another process; the events are in one.
  for (let i = 0; i < 6; i++) {
    const events = [{ user_id: "visitor", item_id: `i${i}`, type: "view", event_id: `e${i}` }];
    expect((await call(key, "/v0/events", { events })).body).toEqual({ accepted: 1, duplicates: 0 });
    expect((await call(key, rankPath)).headers.get("x-events")).toBe(String(i + 1));
  }
  const [hidden] = (await call(key, rankPath)).body as string[];
  const itemsPath = "/v0/models/shop/items";
  const change = async (item_id: string, isHidden: boolean) =>
    (await call(key, itemsPath, { items: [{ item_id, hidden: isHidden }] }, "PATCH")).body;
  expect(await change(hidden!, true)).toEqual({ changed: 1, ignored: 0 });
  // The other process reads the change within ten seconds.
  const lists = async () => Promise.all(Array.from({ length: 6 }, async () => (await call(key, rankPath)).body));
  await expect.poll(async () => (await lists()).flat(), { timeout: 12_000 }).not.toContain(hidden);
  const list = (await call(key, rankPath)).body;
  expect(list).toHaveLength(5);

  await call(key, "/v0/models/unknown/rank");
  const scraped = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  expect(scraped.headers.get("content-type")).toContain("version=0.0.4");
  const metrics = metricsIn(await scraped.text());
  expect(metrics.get('shortlist_runs_total{outcome="published",stage="",code=""}')).toBe(1);
  expect(metrics.get("shortlist_rows_read_total")).toBe(600);
  expect(metrics.get('shortlist_models{status="ACTIVE"}')).toBe(1);
  expect(metrics.get("shortlist_database_up")).toBe(1);
  expect(metrics.get('shortlist_model_age_seconds{customer="main",model="shop"}')).toBeLessThan(300);
  expect(metrics.get('shortlist_model_failing{customer="main",model="shop"}')).toBe(0);
  const answered = 'shortlist_rank_seconds_count{model="shop",strategy="popular",status="200"}';
  expect(metrics.get(answered)).toBeGreaterThanOrEqual(13);
  expect(metrics.get('shortlist_rank_seconds_count{model="",strategy="",status="404"}')).toBe(1);
  expect(metrics.get("shortlist_memory_bytes")).toBeGreaterThan(1e7);

  const found = await runToEnd("doctor", "--dir", dir("one"), "--json");
  const states = (JSON.parse(found.text) as { name: string; state: string }[]).map(({ name, state }) => [name, state]);
  expect(Object.fromEntries(states)).toMatchObject({
    trainer: "ok",
    edge: "ok",
    models: "warning",
    secrets: "ok",
    port: "ok",
  });
  expect(found.code).toBe(0);

  const { findings, operator } = (await call(key, "/v0/health")).body;
  const stateOf = (list: readonly { name: string; state: string }[], name: string) =>
    list.find((one) => one.name === name)?.state;
  expect([stateOf(findings, "events"), stateOf(findings, "release")]).toEqual(["ok", "ok"]);
  for (const name of ["bucket", "data folders", "edge"]) expect(stateOf(operator, name)).toBe("ok");

  const backup = await runToEnd("backup-cli", "backup", "--dir", dir("one"), "--to", join(folder, "saved.tgz"));
  expect(backup).toMatchObject({ code: 0 });
  expect((await stat(join(folder, "saved.tgz"))).mode & 0o077).toBe(0);
  await call(key, "/v0/events", { events: [{ user_id: "later", item_id: "i9", type: "view" }] });

  const pids = service!.descendants();
  expect(pids.length).toBeGreaterThan(3);
  service!.process.kill("SIGKILL");
  await service!.exited;
  for (let waited = 0; pids.some(isAlive) && waited < 100; waited++) await setTimeout(100);
  expect(pids.filter(isAlive)).toEqual([]); // two processes with the same Durable Objects would damage them
  await serve("one");
  expect(await keyOf("one")).toBe(key);
  expect((await call(key, rankPath)).body).toEqual(list);
  expect((await call(key, "/v0/users/later/events")).body.events).toHaveLength(1);
  service!.process.kill("SIGTERM");
  expect(await service!.exited).toBe(0);

  const restored = await runToEnd("backup-cli", "restore", "--dir", dir("two"), "--from", join(folder, "saved.tgz"));
  expect(restored).toMatchObject({ code: 0 });
  await serve("two");
  expect(await keyOf("two")).toBe(key);
  expect((await call(key, rankPath)).body).toEqual(list);
  expect((await call(key, "/v0/users/visitor/events")).body.events).toHaveLength(6);
  expect((await call(key, "/v0/users/later/events")).body.events).toEqual([]); // it came after the backup
  expect((await call(key, "/v0/models/shop")).body).toMatchObject({ status: "ACTIVE" });
  expect((await call(key, "/v0/models/shop/train", undefined, "POST")).status).toBe(202);

  // The changed items are in the backup: the next change, which writes all of them again, brings none back.
  expect((await call(key, `${itemsPath}?changed=true`)).body.items).toMatchObject([{ item_id: hidden, hidden: true }]);
  expect(await change(list[0], false)).toEqual({ changed: 1, ignored: 0 });
  expect((await lists()).flat()).not.toContain(hidden);

  // What is not for callers stays inside.
  expect((await call(key, "/objects/EVENTS/main%2F0-0/liveEvents", [])).status).toBe(404);
  expect((await call(key, "/objects/ITEMS/main%2Fshop/list", [])).status).toBe(404);
  expect((await call(key, "/operator/backup", {})).status).toBe(404);
  const again = await runToEnd("backup-cli", "restore", "--dir", dir("two"), "--from", join(folder, "saved.tgz"));
  expect(again).toMatchObject({ code: 1, text: expect.stringContaining("has a service already") });
}, 180_000);

test("without settings, or with a port in use, serve and doctor say what to do", async () => {
  expect(await runToEnd("doctor", "--dir", dir("none"))).toMatchObject({
    code: 2,
    text: expect.stringContaining("npm run setup"),
  });
  expect(await runToEnd("doctor", "--directory", "x")).toMatchObject({ code: 2 });
  const absent = await runToEnd("serve", "--dir", dir("absent"));
  expect(absent).toMatchObject({ code: 2, text: expect.stringContaining("npm run setup") });
  await runToEnd("setup", "--yes", "--dir", dir("three"), "--port", String(port));
  const taken = await runToEnd("serve", "--dir", dir("three"));
  expect(taken).toMatchObject({ code: 1, text: expect.stringContaining(`Port ${port} cannot be used`) });
  const wrong = await runToEnd("setup", "--yes", "--dir", dir("four"), "--port", "99999999");
  expect(wrong).toMatchObject({ code: 2, text: expect.stringContaining("port") });
});
