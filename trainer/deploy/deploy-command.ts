/** What `npm run deploy` does: everything that Shortlist needs in a Cloudflare account, step by step. */
import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import * as z from "zod";
import { CustomerId } from "../../shared/key-record.ts";
import type { CommandLine, Given, Result } from "../command-line.ts";
import { UsageError } from "../expected-error.ts";
import { LocalError } from "../local/local-error.ts";
import type { Environment } from "../settings.ts";
import { plainTerminal, type Terminal } from "../terminal.ts";
import { checkEdge } from "./check-edge.ts";
import { type Cloudflare, cloudflareApi } from "./cloudflare-api.ts";
import { copyLocal } from "./copy-local.ts";
import { openDeployFile } from "./deploy-file.ts";
import type { Deployment } from "./deployment.ts";
import { destroy } from "./destroy.ts";
import { STEPS } from "./steps.ts";
import { loginToken } from "./wrangler.ts";

const API = "https://api.cloudflare.com/client/v4";
const text = { type: "string" } as const;
const flag = { type: "boolean", default: false } as const;
export const DEPLOY = {
  name: "deploy",
  does: "puts Shortlist into your Cloudflare account. It can be repeated: each step changes only what differs",
  forms: [
    ["", "all steps, then calls of the deployed edge"],
    ["--dry-run", "shows what it would do, and changes nothing"],
    ["--from-local DIR", "takes models, keys and stored events of npm run serve along"],
    ["destroy", "removes everything, after it said what is lost"],
  ],
  flags: {
    "trainer-url": { ...text, value: "URL", help: "the trainer's https address, once it runs" },
    domain: {
      ...{ ...text, value: "HOST" },
      help: "serve on this host of a zone in your account, which is faster than workers.dev",
    },
    "from-local": { ...text, value: "DIR", help: "the folder of a service that runs on this machine" },
    customer: { ...text, value: "NAME", default: "main", help: "customer of the first API key (main)" },
    settings: {
      ...{ ...text, value: "FILE", default: ".shortlist/cloudflare.env" },
      help: "the file to write, with the trainer's variables (.shortlist/cloudflare.env)",
    },
    "public-url": { ...text, value: "URL", help: "the address by which callers reach the edge, if it is another one" },
    wait: { ...text, value: "SECONDS", default: "60", help: "how long a new address may take to answer (60)" },
    "dry-run": { ...flag, help: "change nothing" },
    yes: { ...flag, help: "with destroy: do not ask" },
    json: { ...flag, help: "the steps as one JSON object in the end" },
  },
  takesWords: true,
  notes:
    "The login is that of npx wrangler login, or CLOUDFLARE_API_TOKEN. CLOUDFLARE_ACCOUNT_ID chooses among accounts.",
} as const satisfies CommandLine;

type Flags = Given<typeof DEPLOY.flags>["flags"];
type Said = { readonly step: string; readonly text: string };

type Machine = { readonly environment: Environment; readonly terminal: Terminal };

export async function runDeployCommand(
  { flags, words }: Given<typeof DEPLOY.flags>,
  { environment, terminal: given }: Machine,
): Promise<Result | number> {
  const [command = "deploy", ...rest] = words;
  if (!["deploy", "destroy"].includes(command) || rest.length > 0)
    throw new UsageError(`There is no command ${JSON.stringify(words.join(" "))}. See --help.`);
  check(flags);
  const terminal = flags.json ? plainTerminal(() => undefined) : given;
  const steps: Said[] = [];
  const say = (step: string, said: string) => {
    steps.push({ step, text: said });
    terminal.print(`${step}: ${said}`);
  };

  const token = await loginToken(environment);
  const api = cloudflareApi({ baseUrl: environment.CLOUDFLARE_API_BASE_URL ?? API, token });
  const account = await accountOf(api, environment.CLOUDFLARE_ACCOUNT_ID);
  say("account", account.name);
  const deployment: Deployment = {
    api,
    accountId: account.id,
    file: await openDeployFile(resolve(environment.INIT_CWD ?? process.cwd(), flags.settings)),
    environment,
    customer: flags.customer,
    trainerUrl: flags["trainer-url"]?.replace(/\/+$/, ""),
    domain: flags.domain,
    publicUrl: flags["public-url"]?.replace(/\/+$/, ""),
    random: (count) => randomBytes(count),
    nowMs: Date.now(),
  };
  const isDryRun = flags["dry-run"];
  if (command === "destroy") {
    await destroy(deployment, { isDryRun, isConfirmed: flags.yes, ...terminal });
    return { text: "", json: { account: account.id, destroyed: !isDryRun } };
  }
  say("plan", await planOf(api, account.id));
  const local = flags["from-local"];
  const copy = local === undefined ? [] : [copyLocal(resolve(environment.INIT_CWD ?? process.cwd(), local))];
  for (const { name, look, change } of [...STEPS, ...copy]) {
    if (terminal.isLive) terminal.progress(`${name}…`);
    const found = await look(deployment);
    if ("done" in found) say(name, `unchanged: ${found.done}`);
    else say(name, isDryRun ? `would ${found.wanted}` : await change(deployment));
  }
  if (isDryRun) return { text: "Nothing was changed.", json: { account: account.id, dry_run: true, steps } };
  const { SHORTLIST_EDGE_URL: url, SHORTLIST_API_KEY: apiKey } = deployment.file.values();
  const found = await checkEdge({ url: url!, apiKey: apiKey!, waitMs: 1000 * Number(flags.wait) });
  for (const line of found) say("check", line);
  const path = deployment.file.path;
  return {
    text: `Deployed at ${url}. Start the trainer with the variables in ${path}, as its .env file.`,
    json: { account: account.id, edge_url: url, settings: path, steps },
  };
}

function check(flags: Flags): void {
  const protocols = { "trainer-url": /^https$/, "public-url": /^https?$/ };
  for (const name of ["trainer-url", "public-url"] as const)
    if (flags[name] !== undefined && !z.url({ protocol: protocols[name] }).safeParse(flags[name]).success)
      throw new UsageError(`--${name} must be an address such as https://trainer.example.`);
  if (!CustomerId.safeParse(flags.customer).success) throw new UsageError("--customer must consist of a-z 0-9 and -.");
  if (flags.domain !== undefined && !/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(flags.domain))
    throw new UsageError("--domain must be a host such as rank.shop.example.");
  if (!/^\d{1,4}$/.test(flags.wait)) throw new UsageError("--wait must be a number of seconds.");
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
