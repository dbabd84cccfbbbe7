import {
  FORWARD_HEADERS,
  FORWARD_WINDOW_SECONDS,
  type ForwardedRequest,
  isSameSignature,
  signForward,
} from "../../../shared/forward-signature.ts";
import { CustomerId } from "../../../shared/key-record.ts";
import { Problem } from "../../../shared/problem.ts";

/** Who is asking, as the edge has found out and signed. */
export type Caller = { readonly customer: string; readonly keyId: string; readonly scopes: readonly string[] };

export type ForwardVerifier = (request: Request, body: Uint8Array) => Promise<Caller>;

/** Which requests have come before. */
export type Nonces = {
  /** Whether this one is new; once said, it never is again while its signature is valid. */
  add(nonce: string): boolean | Promise<boolean>;
};

const NONCES_MAX = 100_000;
/** A signature from the future stays valid for two windows. */
export const NONCE_MS = 2 * FORWARD_WINDOW_SECONDS * 1000;

/**
 * Lets through only what the edge has signed, a minute ago at most, and once: in this process, or wherever `everywhere`
 * is asked as well.
 *
 * @throws Problem invalid_api_key for anything else, overloaded when too many requests came within the window.
 */
export function forwardVerifier(secret: string, nowMs: () => number, everywhere?: Nonces): ForwardVerifier {
  const seen = recentNonces(nowMs);
  return async (request, body) => {
    const forwarded = readForwarded(request, body);
    if (forwarded === undefined) throw refusal("is not signed by the edge");
    const ageSeconds = nowMs() / 1000 - forwarded.timestampSeconds;
    if (Math.abs(ageSeconds) > FORWARD_WINDOW_SECONDS)
      throw refusal("was not signed within the last minute: check the trainer's clock");
    const expected = await signForward(forwarded, secret);
    if (!isSameSignature(request.headers.get(FORWARD_HEADERS.signature) ?? "", expected))
      throw refusal("is not signed with the secret that the edge and the trainer share");
    const isNew = seen.add(forwarded.nonce) && ((await everywhere?.add(forwarded.nonce)) ?? true);
    if (!isNew) throw refusal("was received before");
    const { customer, keyId, scopes } = forwarded;
    return { customer, keyId, scopes };
  };
}

const refusal = (reason: string) => new Problem("invalid_api_key", `The request ${reason}.`);

/** The signed fields as sent; undefined when one is missing or cannot be what it should be. */
function readForwarded(request: Request, body: Uint8Array): ForwardedRequest | undefined {
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
    body,
  };
}

/** The nonces of this process. Old ones are dropped, never new ones. */
function recentNonces(nowMs: () => number): { add(nonce: string): boolean } {
  const until = new Map<string, number>(); // in order of insertion, so the oldest are first
  return {
    add(nonce) {
      const now = nowMs();
      for (const [old, expiresMs] of until) {
        if (expiresMs > now) break;
        until.delete(old);
      }
      if (until.has(nonce)) return false;
      if (until.size >= NONCES_MAX)
        throw new Problem("overloaded", "Too many requests came within a minute.", { retryAfterSeconds: 60 });
      until.set(nonce, now + NONCE_MS);
      return true;
    },
  };
}
