import { randomUUID } from "node:crypto";
import { bodyDigestOf, FORWARD_HEADERS, signForward } from "../../shared/forward-signature.ts";
import { LocalError } from "../local/local-error.ts";

const ASK_MS_MAX = 120_000;

/** Calls the trainer of this machine as the operator, signed with the secret that it shares with the edge. Returns its JSON. */
export async function askTrainer(trainerUrl: string, secret: string, path: string): Promise<unknown> {
  const call = {
    method: "POST",
    path,
    customer: "operator",
    keyId: "operator",
    scopes: ["manage"],
    timestampSeconds: Math.floor(Date.now() / 1000),
    nonce: randomUUID(),
    idempotencyKey: "",
    bodyDigest: await bodyDigestOf(new Uint8Array(0)),
  };
  const response = await fetch(trainerUrl + path, {
    method: call.method,
    headers: {
      [FORWARD_HEADERS.customer]: call.customer,
      [FORWARD_HEADERS.keyId]: call.keyId,
      [FORWARD_HEADERS.scopes]: call.scopes.join(","),
      [FORWARD_HEADERS.timestamp]: String(call.timestampSeconds),
      [FORWARD_HEADERS.nonce]: call.nonce,
      [FORWARD_HEADERS.bodyDigest]: call.bodyDigest,
      [FORWARD_HEADERS.signature]: await signForward(call, secret),
    },
    signal: AbortSignal.timeout(ASK_MS_MAX),
  });
  const body = (await response.json()) as { detail?: string };
  if (response.ok) return body;
  throw new LocalError(`The trainer answered ${response.status} to ${path}: ${body.detail ?? ""}`);
}
