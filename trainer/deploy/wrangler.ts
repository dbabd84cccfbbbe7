/** Wrangler as a child process: it bundles the Worker, migrates Durable Objects, uploads assets, and knows the login. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as z from "zod";
import { LocalError } from "../local/local-error.ts";
import type { Environment } from "../settings.ts";

const OUTPUT_SHOWN = 2000;
const Login = z.object({ token: z.string() });

/** The token of the environment or of `wrangler login`. */
export async function loginToken(environment: Environment): Promise<string> {
  const given = environment.CLOUDFLARE_API_TOKEN;
  if (given) return given;
  const { code, output } = await run(["auth", "token", "--json"], environment);
  const json = /\{.*\}/s.exec(output)?.[0];
  const found = code === 0 && json !== undefined ? Login.safeParse(JSON.parse(json)) : undefined;
  if (found?.success) return found.data.token;
  throw new LocalError("There is no login: run npx wrangler login, or set CLOUDFLARE_API_TOKEN to an API token.");
}

type Worker = {
  readonly accountId: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly domain: string | undefined;
};

export async function deployWorker(worker: Worker, environment: Environment): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "shortlist-deploy-"));
  try {
    const file = join(folder, "secrets.json");
    await writeFile(file, JSON.stringify(worker.secrets), { mode: 0o600 });
    const variables = Object.entries(worker.variables).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
    const domain = worker.domain === undefined ? [] : ["--domain", worker.domain];
    await wrangler(["deploy", "--secrets-file", file, ...variables, ...domain], worker.accountId, environment);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const deleteWorker = (name: string, accountId: string, environment: Environment) =>
  wrangler(["delete", "--name", name, "--force"], accountId, environment);

async function wrangler(args: string[], accountId: string, environment: Environment): Promise<void> {
  const { code, output } = await run(args, { ...environment, CLOUDFLARE_ACCOUNT_ID: accountId });
  if (code !== 0) throw new LocalError(`wrangler ${args[0]} failed:\n${output.trim().slice(-OUTPUT_SHOWN)}`);
}

/** SHORTLIST_WRANGLER names another program, for tests. */
async function run(args: string[], environment: Environment): Promise<{ code: number | null; output: string }> {
  const program = environment.SHORTLIST_WRANGLER ?? installed();
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...environment, WRANGLER_SEND_METRICS: "false", CI: "true" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const parts: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => parts.push(part));
  const code = await new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
  return { code, output: Buffer.concat(parts).toString() };
}

function installed(): string {
  try {
    return join(dirname(createRequire(import.meta.url).resolve("wrangler/package.json")), "bin", "wrangler.js");
  } catch (cause) {
    throw new LocalError("wrangler is not installed: run npm ci.", { cause });
  }
}
