/** The routes of the edge, and what every request passes before its route. */
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { REQUEST_ID } from "../shared/api.ts";
import { clipped } from "../shared/clipped.ts";
import { Problem } from "../shared/problem.ts";
import { traceIdIn } from "../shared/trace-parent.ts";
import { batchFile } from "./batch-file-route.ts";
import { commonHeaders } from "./common-headers.ts";
import { docsPage } from "./docs/page.ts";
import { settingsOf } from "./env.ts";
import { eraseUser } from "./events/erase-route.ts";
import { postEvents, viewUserEvents } from "./events/events-route.ts";
import { mergeUsers } from "./events/merge-route.ts";
import { changeExperiment, viewExperiment } from "./experiment-route.ts";
import { manage } from "./forward.ts";
import { live, ready, viewHealth } from "./health-route.ts";
import { createIsolate, type EdgeEnv, type Isolate } from "./isolate.ts";
import { changeItems } from "./items/change-items.ts";
import { listItems, viewItem } from "./items/read-items.ts";
import { writeCallPoint } from "./live/call-analytics.ts";
import { countCall } from "./live/call-counter.ts";
import { viewLive } from "./live/live-route.ts";
import { openApiText, RANK_HEADERS } from "./openapi.ts";
import type { Call } from "./openapi-call.ts";
import { CALLS } from "./openapi-calls.ts";
import { errorForLog, problemOf, problemResponse } from "./problem-response.ts";
import { rankByBody, rankByQuery, readAhead, similarByBody, similarByQuery } from "./rank-route.ts";
import { RefusedCall } from "./ranking/capacity.ts";
import type { ObjectCache } from "./reading/cached-objects.ts";
import { rememberingRouter } from "./remembering-router.ts";
import { requestEntry, writeLog } from "./request-log.ts";
import type { VersionLoader } from "./versions/snapshot-cache.ts";
import { requireOrigin } from "./web-page-keys.ts";

type Handler = (c: Context<EdgeEnv>) => Response | Promise<Response>;

/** The handlers of published calls, by operation id. All other calls are forwarded to the trainer. */
const HANDLERS: Readonly<Record<string, Handler>> = {
  rankByQuery,
  rankByBody,
  similarByQuery,
  similarByBody,
  postEvents,
  viewUserEvents,
  mergeUsers,
  changeItems,
  listItems,
  viewItem,
  viewLive,
  viewHealth,
  viewExperiment,
  putExperiment: changeExperiment,
  endExperiment: changeExperiment,
  eraseUser,
  eraseGivenUser: eraseUser,
  live,
  ready,
};

/** Every path, with its methods and their handlers. */
export const ROUTES: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
  "/v0/openapi.json": { GET: openApi },
  "/v0/docs": { GET: docsPage },
  "/v0/files/*": { GET: batchFile },
  ...routesOf(CALLS),
};

function routesOf(calls: readonly Call[]): Record<string, Record<string, Handler>> {
  const routes: Record<string, Record<string, Handler>> = {};
  for (const { path, method, id } of calls) {
    const route = path.replace(/\{(\w+)\}/g, ":$1");
    routes[route] = { ...routes[route], [method.toUpperCase()]: HANDLERS[id] ?? manage };
  }
  return routes;
}

/** Headers by which callers find a call in logs and traces. */
const CALL_HEADERS = ["x-request-id", "traceparent"];
const URI_CHARACTERS_MAX = 8192;
const SIGNATURES = ["x-user-signature", "x-from-signature"];

/** @param cache The data centre's cache, if there is one. */
export function createApp(loader: VersionLoader, cache?: ObjectCache): Hono<EdgeEnv> {
  const app = new Hono<EdgeEnv>({ router: rememberingRouter() });

  app.use(identify(loader, cache));
  app.use(allowOrigins);
  app.use(checkAddress);
  app.use("/v0/models/*", authenticate);
  app.use("/v0/users/*", authenticate);
  app.use("/v0/events", authenticate);
  app.use("/v0/live", authenticate);
  app.use("/v0/health", authenticate);
  for (const [path, methods] of Object.entries(ROUTES))
    for (const [method, handler] of Object.entries(methods)) app.on(method, path, handler);
  for (const [path, methods] of Object.entries(ROUTES))
    app.all(path, refuseMethod(path, Object.keys(methods).join(", ")));

  app.notFound((c) => {
    const detail = `There is nothing at ${clipped(c.req.path, 200)}. The calls are listed at /v0/docs.`;
    return problemResponse(new Problem("not_found", detail), c.get("requestId"));
  });
  app.onError((error, c) => {
    if (error instanceof RefusedCall) c.set("isLoggedTogether", true);
    const problem = problemOf(error);
    c.set("refusal", problem.code);
    const answer = problemResponse(problem, c.get("requestId"));
    if (answer.status >= 500 && !c.get("isLoggedTogether"))
      writeLog({ event: "request_failed", level: "error", request_id: c.get("requestId"), error: errorForLog(error) });
    return answer;
  });
  return app;
}

/** Gives the request its id, the isolate's state and its line in the log. */
function identify(loader: VersionLoader, cache?: ObjectCache): MiddlewareHandler<EdgeEnv> {
  let isolate: Isolate | undefined; // an isolate has one app
  return async (c, next) => {
    const arrivedMs = Date.now();
    const given = c.req.header("x-request-id") ?? "";
    c.set("requestId", REQUEST_ID.test(given) ? given : crypto.randomUUID());
    const traceParent = c.req.header("traceparent");
    if (traceIdIn(traceParent) !== undefined) c.set("traceParent", traceParent);
    isolate ??= createIsolate(c.env.MODELS, settingsOf(c.env), loader, cache);
    c.set("isolate", isolate);
    c.set("access", { nowMs: Date.now, waitUntil: (work) => c.executionCtx.waitUntil(work) });
    await next();
    const { headers } = c.res; // c.header() would make a new response with its own stream each time
    if (!c.get("hasCommonHeaders"))
      for (const [name, value] of Object.entries(commonHeaders(c.get("requestId")))) headers.set(name, value);
    const waitedMs = Date.now() - arrivedMs;
    countCall(c, waitedMs);
    writeCallPoint(c, waitedMs);
    const isSampled = c.res.status >= 500 || Math.random() < isolate.settings.LOG_SAMPLE_RATE;
    if (isSampled && !c.get("isLoggedTogether")) writeLog(requestEntry(c, waitedMs));
  };
}

const allowOrigins: MiddlewareHandler<EdgeEnv> = (c, next) => {
  const allowed = c.get("isolate").settings.CORS_ORIGINS;
  if (allowed.length === 0) return next();
  return cors({
    origin: (origin) => (allowed.includes("*") ? "*" : allowed.includes(origin) ? origin : null),
    allowMethods: ["GET", "POST", "PUT", "PATCH", "DELETE"],
    allowHeaders: ["content-type", "x-api-key", ...CALL_HEADERS, "idempotency-key", "if-match", ...SIGNATURES],
    exposeHeaders: [...Object.keys(RANK_HEADERS), "retry-after", "location", "idempotent-replayed", "etag"],
    maxAge: 600,
  })(c, next);
};

/** Throws Problem uri_too_long, not_found. */
const checkAddress: MiddlewareHandler<EdgeEnv> = (c, next) => {
  if (c.req.url.length > URI_CHARACTERS_MAX)
    throw new Problem("uri_too_long", `The address has more than ${URI_CHARACTERS_MAX} characters.`);
  // A backslash is a character to routes but a slash to fetch(), so the forwarded call would not be the one that was checked.
  if (c.req.url.split("?", 1)[0]!.includes("\\"))
    throw new Problem("not_found", "An address has no backslash. Write it as %5C.");
  return next();
};

/** Lets through a known key within its rate limit. */
const authenticate: MiddlewareHandler<EdgeEnv> = async (c, next) => {
  const { keys, reader } = c.get("isolate");
  const limitUnknown = async () => {
    const address = c.req.header("cf-connecting-ip") ?? "";
    await limitRate(c, c.env.UNKNOWN_KEY_LIMIT, address, "This address has sent too many unknown API keys");
  };
  const onHint = (customer: string) => readAhead(c, customer);
  const access = { ...c.get("access"), reader, limitUnknown, onHint };
  const caller = await keys.callerOf(c.req.header("x-api-key"), access);
  c.set("caller", caller);
  requireOrigin(caller, c.req.header("origin"));
  // All visitors of a web page share its key, so each address has its own limit.
  const visitor = caller.origins ? ` ${c.req.header("cf-connecting-ip") ?? ""}` : "";
  await limitRate(c, c.env.RATE_LIMIT, caller.keyId + visitor, "This API key has made too many requests");
  await next();
};

/**
 * Throws Problem rate_limited. A limiter that fails refuses nobody. It has no timeout: it runs on the same machine, and a timer would
 * cost more than all other work of a call that finds everything in memory.
 */
async function limitRate(c: Context<EdgeEnv>, limiter: RateLimit | undefined, key: string, reason: string) {
  const seconds = c.get("isolate").settings.RATE_LIMIT_SECONDS;
  const isWithin = await limiter?.limit({ key }).then(
    ({ success }) => success,
    (error) => {
      writeLog({ event: "rate_limit_failed", level: "warning", request_id: c.get("requestId"), error: String(error) });
      return true;
    },
  );
  if (isWithin === false)
    throw new Problem("rate_limited", `${reason} within ${seconds} seconds.`, { retryAfterSeconds: seconds });
}

function openApi(c: Context<EdgeEnv>): Response {
  return c.body(openApiText(), 200, { "content-type": "application/json" });
}

const refuseMethod =
  (path: string, allow: string) =>
  (c: Context<EdgeEnv>): never => {
    throw new Problem("method_not_allowed", `${path} answers ${allow}, not ${c.req.method.slice(0, 20)}.`, {
      headers: { allow },
    });
  };
