import type { Context } from "hono";
import { MANAGEMENT_BODY_BYTES_MAX } from "../shared/api.ts";
import { bodyDigestOf, FORWARD_HEADERS, type ForwardedRequest, signForward } from "../shared/forward-signature.ts";
import { Problem } from "../shared/problem.ts";
import { requireScope } from "./auth.ts";
import type { EdgeEnv } from "./isolate.ts";
import { idempotencyKeyOf, readBody } from "./request-body.ts";

const WITHOUT_BODY: ReadonlySet<string> = new Set(["GET", "HEAD"]);
const RETRY_AFTER_SECONDS = 10;
/** The headers of the trainer's answer that reach the caller. */
const ANSWER_HEADERS = ["content-type", "location", "retry-after", "allow", "idempotent-replayed", "etag"];

/** Forwards a management call to the trainer, with a signature instead of the API key, and returns the trainer's answer. */
export const manage = (c: Context<EdgeEnv>): Promise<Response> => manageBy(c, c.req.raw);

/** As `manage`, with another request of the same caller. */
export async function manageBy(c: Context<EdgeEnv>, request: Request): Promise<Response> {
  const { managementBodies } = c.get("isolate");
  const caller = c.get("caller")!;
  requireScope(caller, "manage");
  const hasBody = request.body !== null;
  const release = hasBody ? managementBodies.take(caller.customer, c.get("access").nowMs()) : () => {};
  if (release === undefined) {
    const detail = "Too many calls that manage models at once. Try again.";
    throw new Problem("overloaded", detail, { retryAfterSeconds: 1 });
  }
  return forward(c, request).finally(release);
}

/** Throws Problem trainer_unavailable, body_too_large, invalid_parameter. */
async function forward(c: Context<EdgeEnv>, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const idempotencyKey = idempotencyKeyOf(request);
  // The body of a GET has no meaning (RFC 9110, 9.3.1), and fetch sends none.
  const body = WITHOUT_BODY.has(request.method)
    ? new Uint8Array(0)
    : await readBody(request, MANAGEMENT_BODY_BYTES_MAX);
  const contentType = request.headers.get("content-type");
  const ifMatch = request.headers.get("if-match");
  const headers = {
    ...(ifMatch === null ? {} : { "if-match": ifMatch }),
    ...(contentType === null ? {} : { "content-type": contentType }),
  };
  const timeoutMs = c.get("isolate").settings.TRAINER_TIMEOUT_SECONDS * 1000;
  const call = { method: request.method, path: pathname + search, idempotencyKey, body, headers, timeoutMs };
  return passedOn(await callTrainer(c, call));
}

type TrainerCall = {
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey?: string;
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
};

/** Sends a signed request for the caller. Throws Problem trainer_unavailable. */
export async function callTrainer(
  c: Context<EdgeEnv>,
  { method, path, idempotencyKey = "", body, headers, timeoutMs }: TrainerCall,
): Promise<Response> {
  const { TRAINER_URL, FORWARD_SECRET } = c.get("isolate").settings;
  if (TRAINER_URL === "" || FORWARD_SECRET === "")
    throw unavailable(new Error("TRAINER_URL or FORWARD_SECRET is not set"));
  const signed: ForwardedRequest = {
    method,
    path,
    ...c.get("caller")!,
    timestampSeconds: Math.floor(c.get("access").nowMs() / 1000),
    nonce: crypto.randomUUID(),
    idempotencyKey,
    bodyDigest: await bodyDigestOf(body),
  };
  const traceParent = c.get("traceParent");
  // Not `new URL(path, TRAINER_URL)`: a path that begins with two slashes would name another host.
  return fetch(new URL(TRAINER_URL).origin + path, {
    method,
    headers: {
      [FORWARD_HEADERS.customer]: signed.customer,
      [FORWARD_HEADERS.keyId]: signed.keyId,
      [FORWARD_HEADERS.scopes]: signed.scopes.join(","),
      [FORWARD_HEADERS.timestamp]: String(signed.timestampSeconds),
      [FORWARD_HEADERS.nonce]: signed.nonce,
      [FORWARD_HEADERS.bodyDigest]: signed.bodyDigest,
      [FORWARD_HEADERS.signature]: await signForward(signed, FORWARD_SECRET),
      [FORWARD_HEADERS.requestId]: c.get("requestId"),
      ...(idempotencyKey === "" ? {} : { "idempotency-key": idempotencyKey }),
      ...(traceParent === undefined ? {} : { traceparent: traceParent }),
      ...headers,
    },
    redirect: "manual",
    signal: AbortSignal.timeout(timeoutMs),
    ...(body.length > 0 ? { body: body as Uint8Array<ArrayBuffer> } : {}),
  }).catch((cause: unknown) => {
    throw unavailable(cause);
  });
}

/** The trainer's answer. An answer of a gateway in between is not passed on. */
async function passedOn(answer: Response): Promise<Response> {
  const type = answer.headers.get("content-type") ?? "";
  const isRefused = answer.status === 401 || (answer.status >= 300 && answer.status < 400);
  if (isRefused || !/^application\/(problem\+)?json\b/.test(type)) {
    await answer.body?.cancel();
    throw unavailable(new Error(`the trainer's address answered ${answer.status} with ${type || "no content type"}`));
  }
  const headers = new Headers();
  for (const name of ANSWER_HEADERS) {
    const value = answer.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return new Response(answer.body, { status: answer.status, headers });
}

const unavailable = (cause: unknown) =>
  new Problem("trainer_unavailable", "Models cannot be managed right now; ranking is not affected. Try again.", {
    cause,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
