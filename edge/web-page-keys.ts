/** Checks of calls whose API key is part of a web page, where everybody can read it. */
import { Problem } from "../shared/problem.ts";
import type { Caller } from "./auth.ts";

/** Keeps pages of other origins from using the key. Programs can send any origin. Throws Problem origin_not_allowed. */
export function requireOrigin({ origins }: Caller, origin: string | undefined): void {
  if (origins === undefined || (origin !== undefined && origins.includes(origin))) return;
  const found = origin === undefined ? "no Origin" : "another Origin";
  const detail = `This API key is for web pages of ${origins.join(", ")}; the request has ${found}.`;
  throw new Problem("origin_not_allowed", detail);
}

const HMAC = { name: "HMAC", hash: "SHA-256" } as const;

/** The header with the signature of a request's user. */
const SIGNATURE_HEADER = "x-user-signature";

/**
 * If the key says that user ids are signed, checks the signature of a request's user: the HMAC-SHA-256 of the id, which only the customer's
 * own servers can compute. Throws Problem invalid_user_signature.
 */
export async function requireSignedUser(
  { userSecret }: Caller,
  user: string,
  sent: string | undefined,
  headerName = SIGNATURE_HEADER,
): Promise<void> {
  if (userSecret === undefined) return;
  const text = new TextEncoder();
  if (sent !== undefined && /^[0-9a-f]{64}$/i.test(sent)) {
    const signature = Uint8Array.from(sent.match(/../g)!, (hex) => Number.parseInt(hex, 16));
    const key = await crypto.subtle.importKey("raw", text.encode(userSecret), HMAC, false, ["verify"]);
    if (await crypto.subtle.verify("HMAC", key, signature, text.encode(user))) return;
  }
  const detail = `This API key needs the header ${headerName}: the HMAC-SHA-256 of the user id in hex, with the user secret of the key.`;
  throw new Problem("invalid_user_signature", detail);
}
