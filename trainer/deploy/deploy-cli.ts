/** The program of `npm run deploy`: everything that Shortlist needs in a Cloudflare account, step by step. */
import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { CustomerId } from "../../shared/key-record.ts";
import { LocalError } from "../local/local-error.ts";
import { reachThisMachine } from "../no-proxy.ts";
import { StoreError } from "../store/object-store.ts";
import { checkEdge } from "./check-edge.ts";
import { type Cloudflare, cloudflareApi } from "./cloudflare-api.ts";
import { copyLocal } from "./copy-local.ts";
import { openDeployFile } from "./deploy-file.ts";
import type { Deployment } from "./deployment.ts";
import { destroy } from "./destroy.ts";
import { STEPS } from "./steps.ts";
import { loginToken } from "./wrangler.ts";

const USAGE = `npm run deploy puts Shortlist into your Cloudflare account. It can be repeated: each step changes only what differs.

  npm run deploy                     all steps, then calls of the deployed edge
  npm run deploy -- --dry-run        shows what it would do, and changes nothing
  npm run deploy -- --from-local DIR takes models, keys and stored events of npm run serve along
  npm run deploy -- destroy          removes everything, after it said what is lost (--yes: without asking)

  --trainer-url URL   the trainer's https address, once it runs
  --domain HOST       serve on this host of a zone in your account, which is faster than workers.dev
  --customer NAME     customer of the first API key (main)
  --settings FILE     the file to write, with the trainer's variables (.shortlist/cloudflare.env)
  --public-url URL    the address by which callers reach the edge, if it is another one
  --wait SECONDS      how long a new address may take to answer (60)

The login is that of npx wrangler login, or CLOUDFLARE_API_TOKEN. CLOUDFLARE_ACCOUNT_ID chooses among accounts.`;

const API = "https://api.cloudflare.com/client/v4";
const text = { type: "string" } as const;
const flag = { type: "boolean", default: false } as const;
const OPTIONS = {
  "trainer-url": text,
  domain: text,
  "from-local": text,
  customer: { type: "string", default: "main" },
  settings: { type: "string", default: ".shortlist/cloudflare.env" },
  "public-url": text,
  wait: { type: "string", default: "60" },
  "dry-run": flag,
  yes: flag,
  help: flag,
} as const;

const print = (line: string) => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  reachThisMachine(process.env);
  const { values: flags, positionals } = parse(process.argv.slice(2));
  if (flags.help) return print(USAGE);
  const [command = "deploy", ...rest] = positionals;
  if (!["deploy", "destroy"].includes(command) || rest.length > 0)
    throw new LocalError(`There is no command ${JSON.stringify(positionals.join(" "))}. See --help.`);
  check(flags);

  const token = await loginToken(process.env);
  const api = cloudflareApi({ baseUrl: process.env.CLOUDFLARE_API_BASE_URL ?? API, token });
  const account = await accountOf(api, process.env.CLOUDFLARE_ACCOUNT_ID);
  print(`account: ${account.name}`);
  const deployment: Deployment = {
    api,
    accountId: account.id,
    file: await openDeployFile(resolve(process.env.INIT_CWD ?? process.cwd(), flags.settings)),
    environment: process.env,
    customer: flags.customer,
    trainerUrl: flags["trainer-url"]?.replace(/\/+$/, ""),
    domain: flags.domain,
    publicUrl: flags["public-url"]?.replace(/\/+$/, ""),
    random: (count) => randomBytes(count),
    nowMs: Date.now(),
  };
  const isDryRun = flags["dry-run"];
  if (command === "destroy") return await destroy(deployment, { isDryRun, isConfirmed: flags.yes, print });
  print(`plan: ${await planOf(api, account.id)}`);
  const local = flags["from-local"];
  const copy = local === undefined ? [] : [copyLocal(resolve(process.env.INIT_CWD ?? process.cwd(), local))];
  for (const { name, look, change } of [...STEPS, ...copy]) {
    const found = await look(deployment);
    if ("done" in found) print(`${name}: unchanged: ${found.done}`);
    else print(`${name}: ${isDryRun ? `would ${found.wanted}` : await change(deployment)}`);
  }
  if (isDryRun) return print("Nothing was changed.");
  const { SHORTLIST_EDGE_URL: url, SHORTLIST_API_KEY: apiKey } = deployment.file.values();
  const found = await checkEdge({ url: url!, apiKey: apiKey!, waitMs: 1000 * Number(flags.wait) });
  for (const line of found) print(`check: ${line}`);
  print(`Deployed at ${url}. Start the trainer with the variables in ${deployment.file.path}, as its .env file.`);
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true, strict: true });
  } catch (cause) {
    throw new LocalError(`${(cause as Error).message.split(/[.\n]/)[0]}. See --help.`, { cause });
  }
}

function check(flags: ReturnType<typeof parse>["values"]): void {
  const protocols = { "trainer-url": /^https$/, "public-url": /^https?$/ };
  for (const name of ["trainer-url", "public-url"] as const)
    if (flags[name] !== undefined && !z.url({ protocol: protocols[name] }).safeParse(flags[name]).success)
      throw new LocalError(`--${name} must be an address such as https://trainer.example.`);
  if (!CustomerId.safeParse(flags.customer).success) throw new LocalError("--customer must consist of a-z 0-9 and -.");
  if (flags.domain !== undefined && !/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(flags.domain))
    throw new LocalError("--domain must be a host such as rank.shop.example.");
  if (!/^\d{1,4}$/.test(flags.wait)) throw new LocalError("--wait must be a number of seconds.");
}

const Account = z.object({ id: z.string(), name: z.string() });

async function accountOf(api: Cloudflare, wanted: string | undefined): Promise<z.infer<typeof Account>> {
  if (wanted) return { id: wanted, name: wanted };
  const asked = { path: "/accounts", purpose: "list the accounts of this login", permission: "Account Settings Read" };
  const accounts = await api.call(asked, z.array(Account));
  if (accounts.length === 1) return accounts[0]!;
  const names = accounts.map(({ id, name }) => `${id} (${name})`).join(", ");
  throw new LocalError(`Set CLOUDFLARE_ACCOUNT_ID to the account to use: ${names || "this login has none"}.`);
}

/** The plan as far as this login may see it. Cloudflare itself refuses a Worker that the plan does not allow. */
async function planOf(api: Cloudflare, accountId: string): Promise<string> {
  const Plans = z.array(z.looseObject({ rate_plan: z.looseObject({ id: z.string().optional() }).optional() }));
  const asked = { path: `/accounts/${accountId}/subscriptions`, purpose: "read the plan", permission: "Billing Read" };
  const plans = await api.call(asked, Plans).catch((error: unknown) => {
    if (error instanceof LocalError) return undefined;
    throw error;
  });
  if (plans === undefined) return "this login may not see it; Shortlist needs the paid Workers plan";
  const name = plans.map(({ rate_plan }) => rate_plan?.id ?? "").find((id) => id.includes("workers"));
  return name ?? "no Workers plan is listed; Shortlist needs the paid one";
}

try {
  await main();
} catch (error) {
  const isExpected = error instanceof LocalError || error instanceof StoreError;
  process.stderr.write(`${isExpected ? error.message : ((error as Error).stack ?? error)}\n`);
  process.exitCode = 1;
}
