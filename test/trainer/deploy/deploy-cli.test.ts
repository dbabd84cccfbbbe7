import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";
import { outcomeOf } from "../../../trainer/command-line.ts";
import { DEPLOY, runDeployCommand } from "../../../trainer/deploy/deploy-command.ts";
import { BUCKET, WORKER } from "../../../trainer/deploy/deployment.ts";
import { placesIn, ServeSettings, writeServeSettings } from "../../../trainer/serve/serve-settings.ts";
import { directoryStore } from "../../../trainer/store/directory-store.ts";
import { storedJson } from "../../../trainer/store/object-store.ts";
import { plainTerminal } from "../../../trainer/terminal.ts";
import { ACCOUNT, openStandIn, TOKEN_VALUE } from "./stand-in.ts";

const X = "x".repeat(32);
let cloud: Awaited<ReturnType<typeof openStandIn>>;
beforeEach(async () => {
  cloud = await openStandIn();
});
afterEach(() => cloud.close());

type Outcome = { readonly code: number; readonly out: string; readonly err: string };

function commandOf(...args: string[]) {
  const { CLOUDFLARE_API_TOKEN: _, CLOUDFLARE_ACCOUNT_ID: __, FORWARD_SECRET: ___, ...own } = process.env;
  const address = args.includes("--no-public-url") ? [] : ["--public-url", cloud.url];
  const given = ["--settings", join(cloud.dir, "cloudflare.env"), "--wait", "0", ...address];
  return {
    args: [...args.filter((arg) => arg !== "--no-public-url"), ...given],
    environment: { ...own, ...cloud.environment },
  };
}

/** Runs the command as a process. */
async function spawned(...words: string[]): Promise<Outcome> {
  const { args, environment } = commandOf(...words);
  return await new Promise((resolve) =>
    execFile(process.execPath, ["trainer/deploy/deploy-cli.ts", ...args], { env: environment }, (error, out, err) =>
      resolve({ code: error ? Number(error.code) : 0, out, err }),
    ),
  );
}

/** The same in this process, which takes a tenth of the time. */
async function deploy(...words: string[]): Promise<Outcome> {
  const { args, environment } = commandOf(...words);
  let printed = "";
  const terminal = plainTerminal((line) => {
    printed += `${line}\n`;
  });
  const outcome = await outcomeOf(DEPLOY, args, (given) => runDeployCommand(given, { environment, terminal }));
  return { code: outcome.exitCode, out: printed + outcome.out, err: outcome.err };
}

const written = async () => parseEnv(await readFile(join(cloud.dir, "cloudflare.env"), "utf8"));

test("the names are those of wrangler.toml", () => {
  const config = readConfig({ config: "wrangler.toml" }, { hideWarnings: true });
  expect([config.name, config.r2_buckets[0]!.bucket_name]).toEqual([WORKER, BUCKET]);
});

test("the first run makes everything, and a second one changes nothing but the upload", async () => {
  const first = await spawned();
  expect(first).toMatchObject({ code: 0, err: "" });
  expect(first.out).toContain("plan: workers_paid");
  expect(first.out).toContain("bucket: made shortlist-models");
  expect(first.out).toContain("check: the key is valid; no trainer answers yet");
  expect(cloud.state.changes).toEqual([
    "POST /r2/buckets",
    "PUT /r2/buckets/shortlist-models/lifecycle",
    "POST /tokens",
  ]);
  const resources = { [`com.cloudflare.edge.r2.bucket.${ACCOUNT}_default_shortlist-models`]: "*" };
  expect(cloud.state.tokens[0]!.policies).toEqual([{ effect: "allow", permission_groups: [{ id: "g1" }], resources }]);
  const settings = await written();
  expect(settings.SHORTLIST_S3_SECRET_ACCESS_KEY).toBe(createHash("sha256").update(TOKEN_VALUE).digest("hex"));
  expect((await stat(join(cloud.dir, "cloudflare.env"))).mode & 0o777).toBe(0o600);
  expect((await cloud.worker())!.secrets.FORWARD_SECRET).toBe(settings.FORWARD_SECRET);
  expect((await cloud.worker())!.account).toBe(ACCOUNT);
  for (const secret of [settings.FORWARD_SECRET, settings.SHORTLIST_API_KEY, settings.SHORTLIST_S3_SECRET_ACCESS_KEY])
    expect(first.out).not.toContain(secret);

  cloud.state.changes = [];
  cloud.state.models = ["shop"];
  const second = await deploy("--trainer-url", "https://trainer.example");
  expect(second).toMatchObject({ code: 0, err: "" });
  expect(cloud.state.changes).toEqual([]);
  expect(await written()).toEqual({ ...settings, TRAINER_URL: "https://trainer.example" });
  expect((await cloud.worker())!.args).toContain("TRAINER_URL:https://trainer.example");
  expect((await cloud.worker())!.args).toContain("LIKELY_CUSTOMER:main");
  expect(second.out).toContain("check: shop: status 200, 2 items");

  await deploy();
  expect((await cloud.worker())!.args).toContain("TRAINER_URL:https://trainer.example");
});

test("a dry run says what it would do, and changes nothing", async () => {
  const { code, out } = await deploy("--dry-run");
  expect(code).toBe(0);
  expect(out.match(/would /g)).toHaveLength(7);
  expect(cloud.state.changes).toEqual([]);
  expect(await cloud.worker()).toBeNull();
  await expect(written()).rejects.toThrow("ENOENT");
});

test.each([
  "GET /accounts",
  "GET /r2/buckets/shortlist-models",
  "POST /r2/buckets",
  "GET /r2/buckets/shortlist-models/lifecycle",
  "PUT /r2/buckets/shortlist-models/lifecycle",
  "wrangler auth",
  "wrangler deploy",
  "GET /tokens/permission_groups",
  "POST /tokens",
  "R2",
  "GET /health/ready",
  "GET /v0/models",
])("%s fails once: one sentence, and the next run completes", async (step) => {
  if (step.startsWith("wrangler ")) await cloud.failWrangler(step.split(" ")[1]!);
  else cloud.state.fails = step;
  const endpoint = cloud.environment.SHORTLIST_S3_ENDPOINT;
  if (step === "R2") cloud.environment.SHORTLIST_S3_ENDPOINT = `${cloud.url}/nowhere`;
  const failed = await deploy();
  cloud.environment.SHORTLIST_S3_ENDPOINT = endpoint;
  expect(failed.code).toBe(1);
  expect(failed.err).not.toContain("    at ");
  expect(failed.err).toMatch(
    /^(Could not .*|There is no login: .*|wrangler deploy failed:\nwrangler says no|http:.* (is not ready|answered) .*)\n$/,
  );
  expect(await deploy()).toMatchObject({ code: 0, err: "" });
  expect(cloud.state.tokens).toHaveLength(1);
});

test("a login that may not make tokens is told how to give credentials", async () => {
  cloud.state.mayMakeTokens = false;
  const refused = await deploy();
  expect(refused.code).toBe(1);
  expect(refused.err).toContain("Account API Tokens Write");
  expect(refused.err).toContain("set SHORTLIST_S3_ACCESS_KEY_ID and SHORTLIST_S3_SECRET_ACCESS_KEY");
  const given = { SHORTLIST_S3_ACCESS_KEY_ID: "t1", SHORTLIST_S3_SECRET_ACCESS_KEY: "s" };
  Object.assign(cloud.environment, given);
  expect(await deploy()).toMatchObject({ code: 0 });
  expect(await written()).toMatchObject(given);
});

test("the address is that of workers.dev, or the domain; a running trainer's secret is kept", async () => {
  const secret = "the-secret-of-a-trainer-that-runs-already";
  Object.assign(cloud.environment, { FORWARD_SECRET: secret });
  const out = (await deploy("--dry-run", "--no-public-url")).out;
  expect(out).toContain("would note https://shortlist-edge.acme.workers.dev");
  expect(await deploy("--domain", "rank.acme.example")).toMatchObject({ code: 0 });
  expect((await cloud.worker())!.args.slice(-2)).toEqual(["--domain", "rank.acme.example"]);
  expect((await cloud.worker())!.secrets).toEqual({ FORWARD_SECRET: secret });
});

test("destroy says what is lost, asks, and removes everything", async () => {
  await deploy();
  const dry = await deploy("destroy", "--dry-run");
  expect(dry.out).toContain("Durable Objects: events of the last days");
  const unsure = await spawned("destroy"); // standard input is no terminal
  expect(unsure).toMatchObject({ code: 1, err: "Nothing was removed: give --yes, or answer on a terminal.\n" });
  expect(cloud.state.hasBucket).toBe(true);
  for (const call of [
    "GET /workers/scripts",
    "GET /r2/buckets/shortlist-models",
    "DELETE /r2/buckets/shortlist-models",
  ]) {
    cloud.state.fails = call;
    const failed = await deploy("destroy", "--yes");
    expect(failed).toMatchObject({ code: 1, err: expect.stringMatching(/^Could not .* out of order \(1\)\.\n$/) });
    if (call.endsWith("scripts")) await cloud.failWrangler("delete");
    if (call.endsWith("scripts")) expect((await deploy("destroy", "--yes")).err).toContain("wrangler delete failed");
  }
  cloud.state.fails = "DELETE /tokens/t1";
  expect((await deploy("destroy", "--yes")).err).toContain("Could not remove the trainer's token");
  expect(await deploy("destroy", "--yes")).toMatchObject({ code: 0, err: "" });
  expect(await cloud.worker()).toBeNull();
  expect(cloud.state).toMatchObject({ hasBucket: false, tokens: [] });
  expect(Object.keys(await written())).not.toContain("SHORTLIST_S3_ACCESS_KEY_ID");
  expect(await deploy()).toMatchObject({ code: 0 });
});

test("--from-local copies the bucket of a running service, with new shards and without changed items", async () => {
  const dir = join(cloud.dir, "service");
  await writeServeSettings(dir, ServeSettings.parse({ format: 1, port: 1, forward_secret: X, internal_secret: X }));
  const local = directoryStore(placesIn(dir).objects);
  const put = (key: string, value: unknown) => local.putIfAbsent(key, Buffer.from(JSON.stringify(value)), "");
  await put("models/main/shop/live.json", 1);
  await put("models/main/shop/items/head.bin", 2);
  await put("customers/main/events/files/1-0/x.gz", 3);
  await put("customers/main/events/shards.json", {
    format: 1,
    generations: [
      { id: 0, shards: 4 },
      { id: 1, shards: 8 },
    ],
  });
  const stopped = await deploy("--from-local", dir);
  expect(stopped).toMatchObject({
    code: 1,
    err: `The service must run while it is copied: npm run serve -- --dir ${dir}.\n`,
  });

  const saved = put("backups/now.json.gz", 4);
  const trainer = createServer((_, response) => saved.then(() => response.end("{}"))).listen(0, "127.0.0.1");
  await once(trainer, "listening");
  const trainer_url = `http://127.0.0.1:${(trainer.address() as AddressInfo).port}`;
  await mkdir(placesIn(dir).run, { recursive: true });
  await writeFile(placesIn(dir).running, JSON.stringify({ trainer_url }));
  const copied = await deploy("--from-local", dir);
  expect(copied).toMatchObject({ code: 0, err: "" });
  expect(copied.out).toContain("copy: 3 objects copied, 2 left as they are. Not copied: events of the last minute");
  const at = async (key: string) => storedJson((await cloud.store.get(key))?.bytes ?? new Uint8Array());
  expect(await at("models/main/shop/live.json")).toBe(1);
  expect(await at("backups/now.json.gz")).toBe(4);
  expect(await at("models/main/shop/items/head.bin")).toBeUndefined();
  expect(await at("customers/main/events/shards.json")).toMatchObject({ generations: [{ id: 2, shards: 8 }] });

  expect((await deploy("--from-local", dir)).out).toContain("copy: 0 objects copied");
  await cloud.store.delete("customers/main/events/shards.json");
  const own = Buffer.from(JSON.stringify({ format: 1, generations: [{ id: 0, shards: 4 }] }));
  await cloud.store.putIfAbsent("customers/main/events/shards.json", own, "");
  const refused = await deploy("--from-local", dir);
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("main has events of its own at Cloudflare") });
  trainer.close();
});

test("wrong flags are one sentence", async () => {
  const isWrong = { code: 2, out: "", err: expect.stringMatching(/^.*\n$/) };
  expect(await spawned("--nothing")).toMatchObject(isWrong);
  for (const args of [["--trainer-url", "http://trainer"], ["--domain", "x"], ["--nothing"], ["remove"]])
    expect(await deploy(...args)).toMatchObject(isWrong);
});
