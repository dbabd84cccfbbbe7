/** The management API: verified calls that the edge forwards, and the trainer's own health. */
import { type Context, Hono } from "hono";
import { REQUEST_ID } from "../../../shared/api.ts";
import { withoutApiKeys } from "../../../shared/api-key.ts";
import { FORWARD_HEADERS } from "../../../shared/forward-signature.ts";
import { NEW_ITEMS_PATH, NewItemsBody } from "../../../shared/items/new-items-call.ts";
import { parseWith } from "../../../shared/parse-request.ts";
import { PROBLEMS, Problem, problemBody } from "../../../shared/problem.ts";
import { PRODUCT_VERSION } from "../../../shared/product.ts";
import { traceIdIn } from "../../../shared/trace-parent.ts";
import { errorForLog, type Log } from "../../log/log.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import { StoreError } from "../../store/object-store.ts";
import type { Caller, ForwardVerifier } from "./forwarded.ts";
import { jsonOf, readBody, requireNoQuery } from "./read-request.ts";

export type AppEnv = { Variables: { requestId: string; caller: Caller; body: Uint8Array } };

export type Route = {
  readonly path: string;
  /** Handlers by HTTP method. */
  readonly methods: Readonly<Record<string, (c: Context<AppEnv>) => Promise<Response>>>;
  /** The handlers check their query parameters. Without this, query parameters are refused. */
  readonly checksQuery?: boolean;
};

export type AppContext = {
  readonly routes: readonly Route[];
  readonly verify: ForwardVerifier;
  /** Throws while the database does not answer. */
  readonly checkReady: () => Promise<void>;
  /** Saves the records to the bucket and returns the backup's name. */
  readonly backUp: () => Promise<string>;
  /** Called when an edge has stored new items of a model. */
  readonly onNewItems: (model: ModelRef) => void;
  readonly log: Log;
  readonly newId: () => string;
};

export function managementApp({
  routes,
  verify,
  checkReady,
  backUp,
  onNewItems,
  log,
  newId,
}: AppContext): Hono<AppEnv> {
  const app = new Hono<AppEnv>();

  app.use(async (c, next) => {
    const sent = c.req.header(FORWARD_HEADERS.requestId) ?? "";
    c.set("requestId", REQUEST_ID.test(sent) ? sent : newId());
    const startedMs = performance.now();
    await next();
    c.header("x-request-id", c.get("requestId"));
    c.header("cache-control", "no-store");
    if (c.req.path.startsWith("/v0/")) log(requestEntry(c, performance.now() - startedMs));
  });

  app.get("/health/live", (c) => c.json({ status: "live", version: PRODUCT_VERSION }));
  app.get("/health/ready", async (c) => {
    try {
      await checkReady();
      return c.json({ status: "ready", version: PRODUCT_VERSION });
    } catch (error) {
      log({ event: "not_ready", level: "warning", error: errorForLog(error) });
      return c.json({ status: "not ready" }, 503);
    }
  });

  // For `npm run backup` on the trainer's machine: no edge forwards this path.
  app.post("/operator/backup", async (c) => {
    await verify(c.req.raw, () => readBody(c.req.raw));
    return c.json({ name: await backUp() });
  });

  // An edge calls this path itself. It forwards no caller's request to it.
  app.post(NEW_ITEMS_PATH, async (c) => {
    const { caller, body } = await verify(c.req.raw, () => readBody(c.req.raw));
    const { model_name: modelName } = parseWith(NewItemsBody, jsonOf(body, c.req.header("content-type")));
    onNewItems({ customer: caller.customer, modelName });
    return c.json({ status: "noted" }, 202);
  });

  app.use("/v0/*", async (c, next) => {
    const { caller, body } = await verify(c.req.raw, () => readBody(c.req.raw));
    if (!caller.scopes.includes("manage"))
      throw new Problem(
        "insufficient_scope",
        "This API key may rank, but not manage models: it lacks the scope manage.",
      );
    c.set("caller", caller);
    c.set("body", body);
    await next();
  });
  for (const { path, methods, checksQuery } of routes)
    for (const [method, handle] of Object.entries(methods))
      app.on(method, path, (c) => {
        if (!checksQuery) requireNoQuery(c.req.url);
        return handle(c);
      });
  for (const { path, methods } of routes) {
    const allow = Object.keys(methods).join(", ");
    app.all(path, (c) => {
      const detail = `${path} answers ${allow}, not ${c.req.method}.`;
      throw new Problem("method_not_allowed", detail, { headers: { allow } });
    });
  }

  app.notFound((c) => answer(new Problem("not_found", `There is nothing at ${c.req.path}.`), c));
  app.onError((error, c) => {
    const problem = problemOfError(error);
    if (PROBLEMS[problem.code].status >= 500)
      log({ event: "request_failed", level: "error", request_id: c.get("requestId"), error: errorForLog(error) });
    return answer(problem, c);
  });
  return app;
}

/** The problem that the caller sees. It says everything about the caller's faults and nothing about internal errors. */
function problemOfError(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof StoreError)
    return new Problem("artifact_unavailable", PROBLEMS.artifact_unavailable.title, {
      cause: error,
      retryAfterSeconds: 5,
    });
  return new Problem("internal", PROBLEMS.internal.title, { cause: error });
}

function answer(problem: Problem, c: Context<AppEnv>): Response {
  const { retryAfterSeconds } = problem;
  const headers = {
    ...problem.headers,
    ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }),
    "content-type": "application/problem+json",
  };
  const body = JSON.stringify(problemBody(problem, c.get("requestId")));
  return c.body(body, PROBLEMS[problem.code].status, headers);
}

const requestEntry = (c: Context<AppEnv>, milliseconds: number) => {
  const caller = c.get("caller") as AppEnv["Variables"]["caller"] | undefined;
  return {
    event: "request",
    level: "info" as const,
    request_id: c.get("requestId"),
    trace_id: traceIdIn(c.req.header("traceparent")),
    method: c.req.method,
    path: pathForLog(c.req.path),
    status: c.res.status,
    milliseconds: Math.round(milliseconds),
    customer: caller?.customer,
    key_id: caller?.keyId,
  };
};

const USER_PATH = /^(\/v0\/users\/).*/s;

/** The path of a request for the log, without user ids and without parts of API keys. */
export const pathForLog = (path: string): string => withoutApiKeys(path.replace(USER_PATH, "$1…")).slice(0, 200);
