import { hashApiKey, isWellFormedApiKey } from "../shared/api-key.ts";
import { FormatError } from "../shared/assert.ts";
import { isKeyValid, KeyRecord, keyRecordKey, type Scope } from "../shared/key-record.ts";
import { Problem } from "../shared/problem.ts";
import { type ArtifactReader, ReadError } from "./reading/artifact-reader.ts";
import { refreshedCache } from "./reading/refreshed-cache.ts";
import type { RequestAccess } from "./reading/request-access.ts";

/** Who is calling. */
export type Caller = { readonly keyId: string; readonly customer: string; readonly scopes: readonly Scope[] };

export type Keyring = {
  /** Throws Problem missing_api_key, invalid_api_key, artifact_unavailable. */
  callerOf(apiKey: string | undefined, access: RequestAccess & { readonly reader: ArtifactReader }): Promise<Caller>;
};

const KEYS_MAX = 10_000;
const ABSENT_MS = 5000;
/** With the longest read after it, still within the minute that revocation is promised in. */
const KEPT_MS = 45_000;
/** One sentence for both codes, so that the answers are alike but for the code. */
const DETAIL = "Send a valid API key in the header x-api-key.";

/**
 * What this isolate knows of API keys. Junk is refused before any I/O. A record is at most `cacheMs` old, or 45 s when R2
 * cannot be read: so a revoked key stops working within a minute, whatever happens.
 */
export function keyring(cacheMs: number): Keyring {
  const cache = refreshedCache<KeyRecord>(
    { freshMs: cacheMs * 0.6, servableMs: cacheMs, keptMs: KEPT_MS, absentMs: Math.min(cacheMs, ABSENT_MS) },
    KEYS_MAX,
  );
  return {
    async callerOf(apiKey, access) {
      if (apiKey === undefined || apiKey === "") throw new Problem("missing_api_key", DETAIL);
      if (!isWellFormedApiKey(apiKey)) throw new Problem("invalid_api_key", DETAIL);
      const key = keyRecordKey(await hashApiKey(apiKey));
      const record = await cache.get(key, () => access.reader.json(key, KeyRecord), access).catch(unreadable);
      if (record === undefined || !isKeyValid(record, access.nowMs())) throw new Problem("invalid_api_key", DETAIL);
      return { keyId: record.key_id, customer: record.customer, scopes: record.scopes };
    },
  };
}

/** How long after a request its refusal leaves: longer than nearly every read of a record takes. */
export const REFUSAL_MS = 250;

/**
 * Throws the error. A refusal for its key leaves when every such refusal does, whether its record was read, was absent or
 * was not looked for: reading one takes longer than finding none, and would tell that there was one.
 */
export async function refuseInTime(error: unknown, startedMs: number, nowMs: () => number): Promise<never> {
  const isRefusal = error instanceof Problem && (error.code === "missing_api_key" || error.code === "invalid_api_key");
  if (isRefusal) await new Promise((resolve) => setTimeout(resolve, Math.max(0, startedMs + REFUSAL_MS - nowMs())));
  throw error;
}

/** Throws Problem insufficient_scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.includes(scope)) return;
  const detail = `This call needs an API key with the scope ${scope}; this one has ${caller.scopes.join(", ")}.`;
  throw new Problem("insufficient_scope", detail);
}

function unreadable(error: unknown): never {
  if (!(error instanceof ReadError || error instanceof FormatError)) throw error;
  const detail = "API keys cannot be read right now. Try again.";
  throw new Problem("artifact_unavailable", detail, { cause: error, retryAfterSeconds: 2 });
}
