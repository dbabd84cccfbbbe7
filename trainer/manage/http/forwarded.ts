import {
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

export type ForwardVerifier = (request: Request, body: Uint8Array) => Promise<Caller>;

/** Remembers nonces, at least as long as a signature with them is valid. */
export type Nonces = {
  /** Whether the nonce is new. */
  add(nonce: string): boolean;
};

/** Signatures may come from a clock one window ahead, and are then valid for two windows. */
export const NONCE_MS = 2 * FORWARD_WINDOW_SECONDS * 1000;

/**
 * Accepts only requests that the edge signed within the last minute, each once.
 *
 * @throws Problem invalid_api_key.
 */
export function forwardVerifier(secret: string, nowMs: () => number, nonces: Nonces): ForwardVerifier {
  return async (request, body) => {
    const forwarded = readForwarded(request, body);
    if (forwarded === undefined) throw refusal("is not signed by the edge");
    const ageSeconds = nowMs() / 1000 - forwarded.timestampSeconds;
    if (Math.abs(ageSeconds) > FORWARD_WINDOW_SECONDS)
      throw refusal("was not signed within the last minute: check the trainer's clock");
    const expected = await signForward(forwarded, secret);
    if (!isSameSignature(request.headers.get(FORWARD_HEADERS.signature) ?? "", expected))
      throw refusal("is not signed with the secret that the edge and the trainer share");
    if (!nonces.add(forwarded.nonce)) throw refusal("was received before");
    const { customer, keyId, scopes } = forwarded;
    return { customer, keyId, scopes };
  };
}

const refusal = (reason: string) => new Problem("invalid_api_key", `The request ${reason}.`);

/** The signed fields as sent; undefined when one is missing or invalid. */
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

/** Nonces that a trainer remembers: many more than customers may send in two windows. */
const NONCES_MAX = 100_000;

/**
 * Nonces in memory. They are not shared between trainers and not kept over a restart: whoever can copy a request has seen
 * it on the way between edge and trainer, and could also have kept it from arriving, so that a copy arrives first.
 *
 * @throws Problem overloaded when the memory is full.
 */
export function memoryNonces(nowMs: () => number, max = NONCES_MAX): Nonces {
  const expiryOf = new Map<string, number>(); // in order of expiry
  return {
    add(nonce) {
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
    },
  };
}
