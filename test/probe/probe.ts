/**
 * `npm run probe` deploys a small Worker, reports its startup time, whether its clocks stand still, the memory of a million items and
 * the hits of the data centre's cache, and deletes it. It needs `npx wrangler login`.
 */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { parseArgs, promisify } from "node:util";
import { linesOf, probeAt } from "./probe-run.ts";

const USAGE = `npm run probe [-- --local] [--items 1e6] [--domain HOST]
  --local        in the local workerd, which shows neither startup time nor limits
  --items N      items of the model whose memory is measured; 1e6 by default
  --domain HOST  a custom domain of the account: on workers.dev the data centre's cache does nothing`;
const CONFIG = new URL("wrangler.toml", import.meta.url).pathname;
const WRANGLER = new URL("../../node_modules/wrangler/bin/wrangler.js", import.meta.url).pathname;
const REACHABLE_MS_MAX = 120_000;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      local: { type: "boolean", default: false },
      items: { type: "string", default: "1e6" },
      domain: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return console.log(USAGE);
  const itemCount = Number(values.items);
  if (!Number.isInteger(itemCount) || itemCount < 2) throw new Error("--items must be a whole number from 2 on.");
  const probe = values.local ? await startLocal() : await deploy(values.domain);
  try {
    console.log(`Startup: ${probe.startup}.`);
    for (const line of linesOf(await probeAt(probe.url, itemCount), itemCount)) console.log(line);
  } finally {
    await probe.stop();
  }
}

type Probe = { readonly url: string; readonly startup: string; readonly stop: () => Promise<void> };

async function startLocal(): Promise<Probe> {
  const { unstable_startWorker: startWorker } = await import("wrangler");
  const server = { hostname: "127.0.0.1", port: 0 };
  const worker = await startWorker({
    config: CONFIG,
    envFiles: [],
    dev: { server, inspector: false, logLevel: "error", watch: false },
  });
  await worker.ready;
  const url = (await worker.url).origin;
  return { url, startup: "not known of the local workerd", stop: () => worker.dispose() };
}

async function deploy(domain: string | undefined): Promise<Probe> {
  const name = `shortlist-probe-${randomUUID().slice(0, 8)}`;
  const wrangler = (...args: string[]) =>
    promisify(execFile)(process.execPath, [WRANGLER, ...args, "--config", CONFIG], { timeout: 300_000 });
  const { stdout } = await wrangler("deploy", "--name", name, ...(domain === undefined ? [] : ["--domain", domain]));
  const stop = async () => void (await wrangler("delete", name, "--force"));
  const url = domain === undefined ? /https:\/\/\S+\.workers\.dev/.exec(stdout)?.[0] : `https://${domain}`;
  const startup = /Startup Time: *([\d.]+ *ms)/i.exec(stdout)?.[1] ?? "not reported";
  try {
    if (url === undefined) throw new Error(`wrangler reported no address: ${stdout}`);
    await reachable(url);
    return { url, startup, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A new address is not known everywhere at once. */
async function reachable(url: string): Promise<void> {
  for (const endMs = performance.now() + REACHABLE_MS_MAX; ; ) {
    const isThere = await fetch(`${url}/clock`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isThere) return;
    if (performance.now() > endMs) throw new Error(`${url} does not answer.`);
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

await main();
