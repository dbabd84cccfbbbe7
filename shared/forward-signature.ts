/**
 * Signs management requests that the edge forwards to the trainer, to prove that the edge has authenticated them. The signature is an
 * HMAC-SHA-256 with a secret that both know, over everything that decides what the request does. The trainer refuses requests that are
 * unsigned, older than the window, or repeated.
 */
import { hexOf } from "./hash.ts";

export const FORWARD_HEADERS = {
  customer: "x-shortlist-customer",
  keyId: "x-shortlist-key-id",
  scopes: "x-shortlist-scopes",
  timestamp: "x-shortlist-timestamp",
  nonce: "x-shortlist-nonce",
  signature: "x-shortlist-signature",
  bodyDigest: "x-shortlist-body-sha256",
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
  /** SHA-256 in lower-case hex. It is sent as a header, so that the signature can be checked before the body is read. */
  readonly bodyDigest: string;
};

export const bodyDigestOf = async (body: Uint8Array): Promise<string> =>
  toHex(await crypto.subtle.digest("SHA-256", body as Uint8Array<ArrayBuffer>));

/** The signature in lower-case hex. */
export async function signForward(request: ForwardedRequest, secret: string): Promise<string> {
  const text = new TextEncoder();
  const hmac = { name: "HMAC", hash: "SHA-256" } as const;
  const key = await crypto.subtle.importKey("raw", text.encode(secret), hmac, false, ["sign"]);
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
    request.bodyDigest,
  ];
  // JSON quotes the fields, so that a separator inside a field cannot move text into the next one.
  return toHex(await crypto.subtle.sign("HMAC", key, text.encode(JSON.stringify(fields))));
}

/** Compares in constant time, so that the time reveals nothing about where two signatures differ. */
export function isSameSignature(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < b.length; i++) difference |= a.charCodeAt(i % (a.length || 1)) ^ b.charCodeAt(i);
  return difference === 0;
}

const toHex = (buffer: ArrayBuffer) => hexOf(new Uint8Array(buffer));
