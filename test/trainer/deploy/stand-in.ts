/** A stand-in of Cloudflare for `npm run deploy`: its API and the deployed edge over HTTP, R2's S3 API, and wrangler as a program. */
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashApiKey } from "../../../shared/api-key.ts";
import { keyRecordKey } from "../../../shared/key-record.ts";
import { directoryStore } from "../../../trainer/store/directory-store.ts";
import { openObjectServer } from "../../../trainer/store/object-server.ts";

export const ACCOUNT = "0123456789abcdef0123456789abcdef";
export const TOKEN_VALUE = "value-of-the-token";

const WRANGLER = `
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
const dir = import.meta.dirname;
const args = process.argv.slice(2);
const failed = join(dir, "fail-" + args[0]);
if (existsSync(failed)) { rmSync(failed); console.error("wrangler says no"); process.exit(1); }
if (args[0] === "auth") console.log(JSON.stringify({ type: "oauth", token: "of-the-login" }));
if (args[0] === "deploy") {
  const secrets = JSON.parse(readFileSync(args[args.indexOf("--secrets-file") + 1], "utf8"));
  writeFileSync(join(dir, "worker.json"), JSON.stringify({ args, secrets, account: process.env.CLOUDFLARE_ACCOUNT_ID }));
}
if (args[0] === "delete") rmSync(join(dir, "worker.json"));
`;

type Answer = { readonly status?: number; readonly code?: number; readonly result?: unknown };

export async function openStandIn() {
  const dir = await mkdtemp(join(tmpdir(), "cloudflare-"));
  const wrangler = join(dir, "wrangler.mjs");
  await writeFile(wrangler, WRANGLER);
  await mkdir(join(dir, "objects"));
  const objects = await openObjectServer({
    folder: join(dir, "objects"),
    bucket: "shortlist-models",
    accessKeyId: "t1",
  });
  const store = directoryStore(join(dir, "objects"));
  const state = {
    hasBucket: false,
    rules: [] as unknown[],
    tokens: [] as { id: string; name: string; policies: unknown }[],
    mayMakeTokens: true,
    models: undefined as string[] | undefined,
    /** Calls that changed something, as `METHOD path`. */
    changes: [] as string[],
    /** The next call with this method and end of its path is refused with 500. */
    fails: undefined as string | undefined,
  };
  const worker = async () =>
    JSON.parse(await readFile(join(dir, "worker.json"), "utf8").catch(() => "null")) as null | {
      args: string[];
      secrets: Record<string, string>;
      account: string;
    };

  async function api(call: string, body: Record<string, unknown>): Promise<Answer> {
    const refused = { status: 403, code: 9109 };
    switch (call) {
      case "GET /accounts":
        return { result: [{ id: ACCOUNT, name: "Acme" }] };
      case "GET /subscriptions":
        return { result: [{ rate_plan: { id: "workers_paid" } }] };
      case "GET /r2/buckets/shortlist-models":
        return state.hasBucket ? { result: { name: "shortlist-models" } } : { status: 404, code: 10006 };
      case "POST /r2/buckets":
        state.hasBucket = body.name === "shortlist-models";
        return { result: { name: body.name } };
      case "DELETE /r2/buckets/shortlist-models":
        for await (const _ of store.list("")) return { status: 409, code: 10008 };
        state.hasBucket = false;
        return { result: {} };
      case "GET /r2/buckets/shortlist-models/lifecycle":
        return state.hasBucket ? { result: { rules: state.rules } } : { status: 404, code: 10006 };
      case "PUT /r2/buckets/shortlist-models/lifecycle":
        state.rules = body.rules as unknown[];
        return { result: {} };
      case "GET /workers/subdomain":
        return { result: { subdomain: "acme" } };
      case "GET /workers/scripts":
        return { result: (await worker()) ? [{ id: "shortlist-edge" }] : [] };
      case "GET /tokens/permission_groups":
        return state.mayMakeTokens ? { result: [{ id: "g1", name: "Workers R2 Storage Bucket Item Write" }] } : refused;
      case "POST /tokens":
        state.tokens.push({ id: "t1", name: String(body.name), policies: body.policies });
        return { result: { id: "t1", value: TOKEN_VALUE } };
      case "DELETE /tokens/t1":
        state.tokens = [];
        return { result: { id: "t1" } };
    }
    return { status: 404, code: 7003 };
  }

  async function edge(call: string, key: string): Promise<{ status: number; body: unknown }> {
    if (!(await worker())) return { status: 530, body: {} };
    if (call === "GET /health/ready") return { status: 200, body: { status: "ready" } };
    if (!(await store.get(keyRecordKey(await hashApiKey(key))))) return { status: 401, body: {} };
    if (!state.models) return { status: 503, body: {} };
    if (call === "GET /v0/models")
      return { status: 200, body: { models: state.models.map((model_name) => ({ model_name })) } };
    return { status: 200, body: ["i1", "i2"] };
  }

  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const path = request.url!;
    const send = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body));
    const isApi = path.startsWith("/client/v4");
    const call = `${request.method} ${path.replace("/client/v4", "").replace(`/accounts/${ACCOUNT}`, "")}`;
    if (call === state.fails) {
      state.fails = undefined;
      return send(500, { success: false, errors: [{ code: 1, message: "out of order" }], result: null });
    }
    if (!isApi) {
      const { status, body } = await edge(call, String(request.headers["x-api-key"]));
      return send(status, body);
    }
    if (request.headers.authorization !== "Bearer of-the-login")
      return send(401, { success: false, errors: [], result: null });
    if (request.method !== "GET") state.changes.push(call);
    const { status = 200, code, result = null } = await api(call, JSON.parse(Buffer.concat(parts).toString() || "{}"));
    return send(status, { success: !code, errors: code ? [{ code, message: "refused" }] : [], result });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    dir,
    url,
    state,
    store,
    worker,
    environment: {
      CLOUDFLARE_API_BASE_URL: `${url}/client/v4`,
      SHORTLIST_WRANGLER: wrangler,
      SHORTLIST_S3_ENDPOINT: objects.endpoint,
    },
    failWrangler: (command: string) => writeFile(join(dir, `fail-${command}`), ""),
    async close() {
      server.close();
      server.closeAllConnections();
      await objects.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
