import {
  bodyDigestOf,
  FORWARD_HEADERS,
  FORWARD_WINDOW_SECONDS,
  type ForwardedRequest,
  isSameSignature,
  signForward,
} from "../../../shared/forward-signature.ts";
import { CustomerId } from "../../../shared/key-record.ts";
import { Problem } from "../../../shared/problem.ts";

/** The caller, as the edge has identified and signed it. */
export type Caller = { readonly customer: string; readonly keyId: string; readonly scopes: readonly string[] };

/** Verifies a request before its body is read, and then the body. */
export type ForwardVerifier = (request: Request, readBody: () => Promise<Uint8Array>) => Promise<VerifiedRequest>;
export type VerifiedRequest = { readonly caller: Caller; readonly body: Uint8Array };

export type VerifierParts = {
  /** Shared with the edge. */
  readonly secret: string;
  readonly nowMs: () => number;
  /** Called with each caller before the nonce is remembered and the body read. Throws Problem to refuse the call. */
  readonly limit: (caller: Caller) => void;
  /** Returns whether the nonce is new. Remembers it at least as long as a signature with it is valid. */
  readonly addNonce: (nonce: string) => boolean;
};

/** Signatures may come from a clock one window ahead, and are then valid for two windows. */
export const NONCE_MS = 2 * FORWARD_WINDOW_SECONDS * 1000;

/**
 * Accepts only requests that the edge signed within the last minute, each once.
 *
 * @throws Problem invalid_api_key, overloaded.
 */
export function forwardVerifier({ secret, nowMs, limit, addNonce }: VerifierParts): ForwardVerifier {
  let unverifiedBodies = 0;
  /** Edges of the previous release send no digest, so that their signature can only be checked with the body. */
  const readUnverified = async (readBody: () => Promise<Uint8Array>): Promise<Uint8Array> => {
    if (unverifiedBodies >= UNVERIFIED_BODIES_MAX)
      throw new Problem("overloaded", "Too many calls without a digest: update the edge.", { retryAfterSeconds: 1 });
    unverifiedBodies++;
    return readBody().finally(() => unverifiedBodies--);
  };
  return async (request, readBody) => {
    const headers = readForwarded(request);
    if (headers === undefined) throw refusal("is not signed by the edge");
    const early = headers.bodyDigest === undefined ? await readUnverified(readBody) : undefined;
    const forwarded = { ...headers, bodyDigest: headers.bodyDigest ?? (await bodyDigestOf(early!)) };
    const ageSeconds = nowMs() / 1000 - forwarded.timestampSeconds;
    if (Math.abs(ageSeconds) > FORWARD_WINDOW_SECONDS)
      throw refusal("was not signed within the last minute: check the trainer's clock");
    const expected = await signForward(forwarded, secret);
    if (!isSameSignature(request.headers.get(FORWARD_HEADERS.signature) ?? "", expected))
      throw refusal("is not signed with the secret that the edge and the trainer share");
    const caller = { customer: forwarded.customer, keyId: forwarded.keyId, scopes: forwarded.scopes };
    limit(caller);
    if (!addNonce(forwarded.nonce)) throw refusal("was received before");
    const body = early ?? (await readBody());
    if (early === undefined && (await bodyDigestOf(body)) !== forwarded.bodyDigest)
      throw refusal("has another body than the edge has signed");
    return { caller, body };
  };
}

const UNVERIFIED_BODIES_MAX = 8;

const refusal = (reason: string) => new Problem("invalid_api_key", `The request ${reason}.`);

type SentHeaders = Omit<ForwardedRequest, "bodyDigest"> & { readonly bodyDigest: string | undefined };

/** The signed fields as sent; undefined when one is missing or invalid. */
function readForwarded(request: Request): SentHeaders | undefined {
  const header = (name: keyof typeof FORWARD_HEADERS) => request.headers.get(FORWARD_HEADERS[name]);
  const [customer, keyId, scopes] = [header("customer"), header("keyId"), header("scopes")];
  const [timestamp, nonce] = [header("timestamp"), header("nonce")];
  if (!customer || !keyId || scopes === null || !timestamp || !nonce) return undefined;
  if (!CustomerId.safeParse(customer).success || !/^\d{1,12}$/.test(timestamp)) return undefined;
  if (nonce.length < 16 || nonce.length > 128) return undefined;
  const { pathname, search } = new URL(request.url);
  return {
    method: request.method,
    path: pathname + search,
    customer,
    keyId,
    scopes: scopes.split(","),
    timestampSeconds: Number(timestamp),
    nonce,
    idempotencyKey: request.headers.get("idempotency-key") ?? "",
    bodyDigest: header("bodyDigest") ?? undefined,
  };
}

/** Nonces that a trainer remembers: many more than customers may send in two windows. */
const NONCES_MAX = 500_000;

/**
 * Nonces in memory. They are not shared between trainers and not kept over a restart: whoever can copy a request has seen
 * it on the way between edge and trainer, and could also have kept it from arriving, so that a copy arrives first.
 *
 * @throws Problem overloaded when the memory is full.
 */
export function memoryNonces(nowMs: () => number, max = NONCES_MAX): VerifierParts["addNonce"] {
  const expiryOf = new Map<string, number>(); // in order of expiry
  return (nonce) => {
    const now = nowMs();
    for (const [old, expiresMs] of expiryOf) {
      if (expiresMs > now) break;
      expiryOf.delete(old);
    }
    if (expiryOf.has(nonce)) return false;
    if (expiryOf.size >= max)
      throw new Problem("overloaded", "The trainer has had too many calls.", { retryAfterSeconds: 60 });
    expiryOf.set(nonce, now + NONCE_MS);
    return true;
  };
}

/** Refuses a customer's calls beyond `perMinute`. */
export function callLimit(perMinute: number, nowMs: () => number): VerifierParts["limit"] {
  const counts = new Map<string, number>(); // by customer, in the present minute
  let minute = 0;
  return ({ customer }) => {
    const now = nowMs();
    if (Math.floor(now / 60_000) !== minute) counts.clear();
    minute = Math.floor(now / 60_000);
    const count = (counts.get(customer) ?? 0) + 1;
    counts.set(customer, count);
    if (count <= perMinute) return;
    const detail = `You may manage models with ${perMinute} calls a minute (SHORTLIST_CUSTOMER_CALLS, set by the operator).`;
    throw new Problem("rate_limited", detail, { retryAfterSeconds: Math.ceil(((minute + 1) * 60_000 - now) / 1000) });
  };
}
