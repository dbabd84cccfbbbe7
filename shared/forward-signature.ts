/**
 * How the edge proves to the trainer that a management request was authenticated: HMAC-SHA-256 with a secret that both
 * hold, over everything that decides what the request does. The trainer refuses what is unsigned, older than the
 * window, or seen before.
 */
import { hexOf } from "./hex.ts";
export const FORWARD_HEADERS = {
  customer: "x-shortlist-customer",
  keyId: "x-shortlist-key-id",
  scopes: "x-shortlist-scopes",
  timestamp: "x-shortlist-timestamp",
  nonce: "x-shortlist-nonce",
  signature: "x-shortlist-signature",
  requestId: "x-request-id",
} as const;

export const FORWARD_WINDOW_SECONDS = 60;

export type ForwardedRequest = {
  readonly method: string;
  /** Path and query string, as sent. */
  readonly path: string;
  readonly customer: string;
  readonly keyId: string;
  readonly scopes: readonly string[];
  readonly timestampSeconds: number;
  readonly nonce: string;
  readonly idempotencyKey: string;
  readonly body: Uint8Array;
};

/** The signature, lower-case hex. */
export async function signForward(request: ForwardedRequest, secret: string): Promise<string> {
  const text = new TextEncoder();
  const hmac = { name: "HMAC", hash: "SHA-256" } as const;
  const key = await crypto.subtle.importKey("raw", text.encode(secret), hmac, false, ["sign"]);
  const bodyDigest = toHex(await crypto.subtle.digest("SHA-256", request.body as Uint8Array<ArrayBuffer>));
  const fields = [
    "shortlist-forward-1",
    request.method,
    request.path,
    request.customer,
    request.keyId,
    request.scopes.join(","),
    String(request.timestampSeconds),
    request.nonce,
    request.idempotencyKey,
    bodyDigest,
  ];
  // JSON, so that no field can be moved into its neighbour by a separator inside it.
  return toHex(await crypto.subtle.sign("HMAC", key, text.encode(JSON.stringify(fields))));
}

/** Compares without stopping at the first difference, so that time tells nothing. */
export function isSameSignature(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < b.length; i++) difference |= a.charCodeAt(i % (a.length || 1)) ^ b.charCodeAt(i);
  return difference === 0;
}

const toHex = (buffer: ArrayBuffer) => hexOf(new Uint8Array(buffer));
