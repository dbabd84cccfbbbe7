import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, startBrowser, UNLESS_SKIPPED } from "../fixtures/browser.ts";
import { CONSOLE_JOURNEYS } from "../fixtures/console-journeys.ts";
import { type ConsolePage, openConsole, pageFaults, stateOf } from "../fixtures/console-page.ts";
import { commandOf, endService, isAlive, type StartedService, startService } from "../fixtures/started-service.ts";

/** Short fitting time: these tests check the path, not the model's quality. With 3 s, a busy machine tried nothing but popular items. */
const QUICK = { SHORTLIST_FIT_SECONDS: "10" };
const TIMEOUT = 360_000;

let state: string;
let service: StartedService;
let local: { edge_url: string; trainer_url: string; api_key: string; model_name: string };

beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), "start-demo-"));
  service = startService(["--state", state], QUICK);
  await service.printed("Up until Ctrl-C");
  local = JSON.parse(await readFile(join(state, "local.json"), "utf8"));
}, TIMEOUT);
afterAll(async () => {
  await endService(service);
  await rm(state, { recursive: true, force: true });
});

const call = (path: string, init: RequestInit = {}) =>
  fetch(new URL(path, local.edge_url).href, {
    ...init,
    headers: { "x-api-key": local.api_key, "content-type": "application/json" },
  });
const recordOf = async () => (await call(`/v0/models/${local.model_name}`)).json() as Promise<Record<string, unknown>>;
/** The printed curl lines with the ids printed below each. */
const printedLists = (output: string) =>
  [...output.matchAll(/^(curl .*)\n\n((?: +\d+ {2}.*\n)+)/gm)].map(([, line, list]) => ({
    line: line!,
    ids: [...list!.matchAll(/^ +\d+ {2}(\S+)/gm)].map((match) => match[1]!),
  }));

test("progress and a summary of the training are printed", () => {
  for (const stage of ["fetching", "training", "deploying"])
    expect(service.output()).toMatch(new RegExp(`^${stage} `, "m"));
  expect(service.output()).toMatch(/Trained on \d+,\d+ interactions of 4,000 users/);
  expect(service.errors()).toBe("");
});

test("local.json is readable by its owner only and names a running service", async () => {
  expect((await stat(join(state, "local.json"))).mode & 0o777).toBe(0o600);
  expect(Object.keys(local)).toEqual(["edge_url", "trainer_url", "api_key", "model_name"]);
  expect(await recordOf()).toMatchObject({ status: "ACTIVE", model_name: "demo-shop", failure: null });
  expect((await fetch(`${local.trainer_url}/health/ready`)).status).toBe(200);
  expect(await readFile(join(state, "logs/edge.log"), "utf8")).not.toContain("/v0/models"); // addresses have user ids
});

test("the three printed curl lines return the printed lists", () => {
  const lists = printedLists(service.output());
  expect(lists).toHaveLength(3);
  for (const { line, ids } of lists) {
    expect(ids.length).toBeGreaterThan(3);
    expect((JSON.parse(execFileSync("sh", ["-c", line], { encoding: "utf8" })) as unknown[]).map(String)).toEqual(ids);
  }
});

test("an event of a new visitor changes the next list", () => {
  const output = service.output();
  const [, before] = /The new visitor (?:\S+) gets popular items: (.+)\.\n/.exec(output)!;
  expect(output).toContain('"type":"purchase"');
  const [, strategy, after] = /The next list is for this visitor \((.+)\): (.+)\.\n/.exec(output)!;
  expect(strategy).toBe("personalized");
  expect(after!.split(", ")).toHaveLength(5);
  expect(after).not.toBe(before);
});

test("rankings are personal, filtered and without seen items", async () => {
  const rank = async (body: object) =>
    (await (
      await call("/v0/models/demo-shop/rank", { method: "POST", body: JSON.stringify(body) })
    ).json()) as number[];
  const [one, other] = [await rank({ user_id: "user-0001" }), await rank({ user_id: "user-0002" })];
  expect(one).not.toEqual(other);
  const items = (await readFile(join(state, "data/demo-shop/items.csv"), "utf8"))
    .split("\n")
    .map((row) => row.split(","));
  const categoryOf = new Map(items.map((row) => [Number(row[0]), row[2]]));
  const category = categoryOf.get(one[0]!)!;
  const filtered = await rank({ user_id: "user-0001", retrieval: { category }, limit: 50 });
  expect(new Set(filtered.map((id) => categoryOf.get(id)))).toEqual(new Set([category]));
  const events = (await readFile(join(state, "data/demo-shop/interactions.csv"), "utf8")).split("\n");
  const seen = new Set(events.filter((row) => row.startsWith("user-0001,")).map((row) => Number(row.split(",")[1])));
  expect(seen.size).toBeGreaterThan(0);
  const all = await rank({ user_id: "user-0001", limit: 500 });
  expect(all.filter((id) => seen.has(id))).toEqual([]);
});

describe.skipIf(!hasBrowser)(`in Chromium${UNLESS_SKIPPED}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());
  const openPage = async () => {
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    page.on("pageerror", (error) => errors.push(error.message));
    return { page, errors };
  };

  /** Serves a page of the examples, at another origin than the edge. */
  const serveExample = async (name: string) => {
    const html = await readFile(join("edge/client/examples", name));
    const shop = createServer((_, answer) => answer.setHeader("content-type", "text/html").end(html));
    await once(shop.listen(0, "127.0.0.1"), "listening");
    const { port } = shop.address() as AddressInfo;
    const query = new URLSearchParams({ edge: local.edge_url, key: local.api_key, model: local.model_name });
    return { shop, address: `http://127.0.0.1:${port}/?${query}` };
  };

  test("a page of another origin shows a list, and a click changes it", { timeout: TIMEOUT }, async () => {
    const { shop, address } = await serveExample("shop.html");
    try {
      const { page, errors } = await openPage();
      await page.goto(address);
      await page.getByText("Popular items.").waitFor();
      expect(await pageFaults(page)).toEqual([]);
      const titles = () => page.locator("button").allInnerTexts();
      const popular = await titles();
      expect(popular).toHaveLength(12);
      await page.locator("button").first().click();
      await page.getByText("Chosen for you.").waitFor();
      const chosen = await titles();
      expect(chosen).not.toContain(popular[0]);
      expect(chosen.filter((title) => !popular.includes(title)).length).toBeGreaterThan(3);
      await page.reload(); // the visitor is still known
      await page.getByText("Chosen for you.").waitFor();
      expect(await titles()).toEqual(chosen);

      // An event that is still waiting when the visitor leaves the page.
      const options = JSON.stringify({ url: local.edge_url, apiKey: local.api_key, batchMs: 60_000 });
      await page.evaluate(`import("${local.edge_url}/client.js").then(({ Shortlist }) =>
        void new Shortlist(${options}).events({ user_id: "leaver", item_id: 1001, type: "view" }))`);
      await page.goto("about:blank");
      const eventsOfLeaver = async () => (await call("/v0/users/leaver/events")).json();
      await expect.poll(eventsOfLeaver).toMatchObject({ events: [{ type: "view" }] });
      expect(errors.filter((error) => !error.includes("favicon"))).toEqual([]);
    } finally {
      shop.close();
    }
  });

  test("a page of rows shows lists, and a purchase moves to the row of what was bought", {
    timeout: TIMEOUT,
  }, async () => {
    const { shop, address } = await serveExample("rows.html");
    try {
      const { page, errors } = await openPage();
      await page.goto(address);
      await page.getByRole("region", { name: "For you" }).getByRole("button").nth(7).waitFor();
      const popular = page.getByRole("region", { name: "What everybody buys" }).getByRole("button");
      await popular.nth(7).waitFor();
      expect(await pageFaults(page)).toEqual([]);
      const chosen = await popular.first().locator(".title").innerText();
      await popular.first().click();
      await page.getByRole("region", { name: "Buy again" }).waitFor();
      await page.locator("article").getByText(chosen).waitFor();
      await page.getByRole("button", { name: "Buy", exact: true }).click();
      const user = await page.evaluate<string>("localStorage.user");
      const types = async () => {
        const { events } = (await (await call(`/v0/users/${user}/events`)).json()) as { events: { type: string }[] };
        return events.map(({ type }) => type);
      };
      await expect.poll(types).toEqual(expect.arrayContaining(["view", "purchase", "impression"]));
      expect(await pageFaults(page)).toEqual([]);
      expect(errors.filter((error) => !error.includes("favicon"))).toEqual([]);
    } finally {
      shop.close();
    }
  });

  test("the reference sends a request with the reader's key", async () => {
    const { page, errors } = await openPage();
    await page.goto(`${local.edge_url}/v0/docs`);
    await page.getByLabel("API key").fill(local.api_key);
    const call = page.locator("#rankByQuery");
    await call.getByText("Try it").click();
    await call.getByLabel("GET").fill(`/v0/models/${local.model_name}/rank?limit=2`);
    await call.getByRole("button", { name: "Send" }).click();
    const output = call.locator("output pre");
    await output.waitFor();
    expect(await output.textContent()).toMatch(/^200 in \d+ ms\n\[\n {2}\d+,\n {2}\d+\n\]$/);
    await page.reload(); // the key is still there
    expect(await page.getByLabel("API key").inputValue()).toBe(local.api_key);
    expect(await pageFaults(page)).toEqual([]);
    expect(errors.filter((error) => !error.includes("404"))).toEqual([]); // there is no favicon
  });

  describe("in the console", () => {
    let opened: ConsolePage;
    beforeAll(async () => {
      const [, address] = /^Watch it in the console: (.+)$/m.exec(service.output())!;
      opened = await openConsole(browser, address!);
    });

    test.each(Object.entries(CONSOLE_JOURNEYS))("%s", { timeout: TIMEOUT }, async (_, journey) => {
      await journey(opened, { ...local, folder: join(state, "data/demo-shop") }).catch(async (error: Error) => {
        error.message += `\nThe page: ${await stateOf(opened.page).catch(String)}`;
        throw error;
      });
      expect(opened.faults).toEqual([]);
    });
  });
});

test("Ctrl-C stops everything, and a second start keeps key, model and version", { timeout: TIMEOUT }, async () => {
  const before = await recordOf();
  const started = service.descendants();
  expect(started.length).toBeGreaterThan(2); // the edge, its workerd, the trainer
  service.process.kill("SIGINT");
  expect(await service.exited).toBe(0);
  expect(started.filter(isAlive)).toEqual([]);
  await expect(fetch(local.edge_url)).rejects.toThrow();

  service = startService(["--state", state], QUICK, true);
  await service.printed("Up until Ctrl-C");
  const again = JSON.parse(await readFile(join(state, "local.json"), "utf8"));
  expect(again.api_key).toBe(local.api_key);
  local = again;
  expect(await recordOf()).toMatchObject({ version: before.version, trained_at: before.trained_at });
  expect(service.output()).toContain('The model "demo-shop" exists');
  expect(service.output()).not.toMatch(/^training/m);
});

test("a second npm start on the same folder is refused in one sentence without side effects", async () => {
  const second = startService(["--state", state, "--exit"]);
  expect(await second.exited).toBe(2);
  expect(second.errors()).toMatch(
    /^Another trainer \(process \d+\) works in .*: stop it, or choose another state folder\.\n$/,
  );
  expect((await call("/v0/models/demo-shop/rank")).status).toBe(200);
});

test("keys can be issued and revoked for the running service", () => {
  const keys = (...args: string[]) =>
    execFileSync(process.execPath, ["trainer/keys/keys-cli.ts", ...args, "--state", state, "--json"], {
      encoding: "utf8",
    });
  const issued = JSON.parse(keys("issue", "--customer", "local", "--scopes", "rank"));
  const listed = JSON.parse(keys("list", "--customer", "local")) as { key_id: string }[];
  expect(listed.map((record) => record.key_id)).toContain(issued.key_id);
  expect(JSON.parse(keys("revoke", "--key-id", issued.key_id)).revoked_at).not.toBeNull();
});

test("SIGTERM that only reaches npm stops everything", { timeout: TIMEOUT }, async () => {
  const started = service.descendants();
  expect(started.length).toBeGreaterThan(4); // npm's shell, npm start, the edge, its workerd, the trainer
  service.process.kill("SIGTERM");
  await expect.poll(() => started.filter(isAlive).map(commandOf)).toEqual([]);
});
