/** `npx wrangler dev` and `npm run train` in two terminals, with the settings that the README shows. */
import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../trainer/local/free-port.ts";
import { hasBrowser, startBrowser, UNLESS_SKIPPED } from "../fixtures/browser.ts";
import { openConsole } from "../fixtures/console-page.ts";
import { commandOf, endService, isAlive, type StartedService, startCommand } from "../fixtures/started-service.ts";
import { putDatabase } from "../fixtures/trainer-state.ts";

const TIMEOUT = 240_000;
let folder: string;
let edge: string;
let apiKey: string;
const started: StartedService[] = [];

beforeAll(async () => {
  // A copy, since the test edits the Worker.
  folder = await mkdtemp(join(tmpdir(), "wrangler-dev-"));
  for (const name of ["edge", "shared", "trainer", "package.json", "wrangler.toml"])
    await cp(name, join(folder, name), { recursive: true });
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  await putDatabase(join(folder, ".shortlist"));
  // Every user likes a third of 30 items.
  const events = Array.from({ length: 1200 }, (_, row) => {
    const user = Math.floor(row / 6);
    return `u${user},i${(user % 3) + 3 * ((user * 7 + (row % 6) * 5) % 10)},${1e9 + row},1`;
  });
  writeFileSync(join(folder, "clicks.csv"), ["user_id,item_id,created_at,label", ...events].join("\n"));

  const [, settings] = /cat > \.env <<'END'\n(.*?)END\n/s.exec(readFileSync("README.md", "utf8"))!;
  expect(settings!.trim().split("\n").length).toBeLessThanOrEqual(5);
  const [edgePort, trainerPort] = [await freePort(), await freePort()];
  edge = `http://127.0.0.1:${edgePort}`;
  const here = settings!
    .replaceAll("8787", `${edgePort}`)
    .replaceAll("8788", `${trainerPort}`)
    .replace("/data/acme", folder);
  const quick = `SHORTLIST_TRAINER_PORT=${trainerPort}\nSHORTLIST_FIT_SECONDS=1\nSHORTLIST_IGNORE_GATE=1\n`;
  writeFileSync(join(folder, ".env"), here + quick);
  const env = { CLOUDFLARE_CF_FETCH_ENABLED: "false", WRANGLER_SEND_METRICS: "false", INIT_CWD: folder };
  started.push(startCommand(["npx", "wrangler", "dev", "--port", `${edgePort}`], { cwd: folder, env }));
  started.push(startCommand(["npm", "run", "train"], { cwd: folder, env }));
  await started[1]!.printed('"event":"started"');
}, TIMEOUT);
afterAll(async () => {
  for (const service of started) await endService(service);
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

const statusOf = (path: string) =>
  fetch(edge + path).then(
    ({ status }) => status,
    () => 0,
  );

test("a key is issued, a model is created and ranks, and an edited Worker answers without a restart", {
  timeout: TIMEOUT,
}, async () => {
  await expect.poll(() => statusOf("/health/ready"), { timeout: TIMEOUT }).toBe(200);
  const issued = execFileSync("npm", ["run", "-s", "keys", "--", "issue", "--customer", "acme", "--json"], {
    cwd: folder,
  });
  apiKey = (JSON.parse(String(issued)) as { api_key: string }).api_key;
  const headers = { "x-api-key": apiKey };
  const body = JSON.stringify({
    model_name: "shop",
    connector_configs: [{ type: "File", location: "clicks.csv" }],
    schema: {
      user: { id: "user_id" },
      item: { id: "item_id" },
      interaction: {
        created_at: "created_at",
        label: { type: "Binary", name: "label" },
        source: { query: "SELECT * FROM clicks" },
      },
    },
  });
  const json = { ...headers, "content-type": "application/json" };
  expect((await fetch(`${edge}/v0/models`, { method: "POST", headers: json, body })).status).toBe(201);
  const rank = async () => (await fetch(`${edge}/v0/models/shop/rank?user_id=u1&limit=5`, { headers })).json();
  await expect.poll(rank, { timeout: TIMEOUT, interval: 500 }).toHaveLength(5);

  const script = await fetch(`${edge}/client.js`);
  expect(script.headers.get("content-type")).toContain("text/javascript");
  expect(script.headers.get("access-control-allow-origin")).toBe("*"); // pages of every origin may import it
  const { Shortlist } = await import(`data:text/javascript,${encodeURIComponent(await script.text())}`);
  const client = new Shortlist({ url: edge, apiKey: headers["x-api-key"] });
  expect(await client.rank("shop", { user_id: "u1", limit: 5 })).toEqual(await rank());
  expect(await (await fetch(`${edge}/client.py`)).text()).toBe(readFileSync("edge/client/shortlist.py", "utf8"));

  const event = JSON.stringify({ events: [{ user_id: "u1", item_id: "i0", type: "view" }] });
  const posted = await fetch(`${edge}/v0/events`, { method: "POST", headers: json, body: event });
  expect(await posted.json()).toEqual({ accepted: 1, duplicates: 0 });

  const route = join(folder, "edge/health-route.ts");
  const code = readFileSync(route, "utf8");
  expect(code).toContain('status: "live"');
  writeFileSync(route, code.replace('status: "live"', 'status: "edited"'));
  const live = () =>
    fetch(`${edge}/health/live`).then(
      (answer) => answer.json(),
      () => undefined,
    );
  await expect.poll(live, { timeout: TIMEOUT }).toMatchObject({ status: "edited" });
  expect(await rank()).toHaveLength(5);
  const stored = await fetch(`${edge}/v0/users/u1/events`, { headers });
  expect(await stored.json()).toMatchObject({ events: [{ item_id: "i0" }] }); // the new Worker has the old one's shards
});

test("SIGTERM that only reaches npm stops the trainer", { timeout: TIMEOUT }, async () => {
  const trainer = started[1]!;
  const processes = trainer.descendants();
  expect(processes.length).toBeGreaterThan(1); // npm's shell and the trainer
  trainer.process.kill("SIGTERM");
  await expect.poll(() => processes.filter(isAlive).map(commandOf)).toEqual([]);
});

test.skipIf(!hasBrowser)(
  `without a trainer the console shows lists, and says what is away${UNLESS_SKIPPED}`,
  {
    timeout: TIMEOUT,
  },
  async () => {
    const browser = await startBrowser();
    try {
      const { page, pageFaults, faults } = await openConsole(
        browser,
        `${edge}/#/models/shop/try?user=u1&key=${apiKey}`,
      );
      await page.getByText(/^10 items/).waitFor();
      await page.getByText(/^History of u1: /).waitFor();
      await page.getByText("Ranking goes on without the trainer.").first().waitFor();
      expect(await pageFaults()).toEqual([]);
      await page.getByRole("button", { name: "From events" }).click();
      await page.getByRole("button", { name: "u1 view" }).waitFor();
      await page.goto(`${edge}/#/live`);
      await page.getByRole("region", { name: "Events per minute" }).waitFor();
      await page.goto(`${edge}/#/`);
      await page.getByText("Models cannot be managed right now").waitFor();
      expect(await pageFaults()).toEqual([]);
      expect(faults.filter((fault) => !fault.includes("503"))).toEqual([]);
    } finally {
      await browser.close();
    }
  },
);
