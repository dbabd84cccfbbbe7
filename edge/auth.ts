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
  /** Throws Problem missing_api_key and invalid_api_key, both REFUSAL_MS or twice it after the call, and artifact_unavailable. */
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
      const refusal = timedRefusal();
      try {
        if (apiKey === undefined || apiKey === "") return await refusal.leave("missing_api_key");
        if (!isWellFormedApiKey(apiKey)) return await refusal.leave("invalid_api_key");
        const key = keyRecordKey(await hashApiKey(apiKey));
        const read = () => {
          refusal.begin();
          return access.reader.json(key, KeyRecord);
        };
        const record = await cache.get(key, read, access).catch(unreadable);
        if (record === undefined || !isKeyValid(record, access.nowMs())) return await refusal.leave("invalid_api_key");
        return { keyId: record.key_id, customer: record.customer, scopes: record.scopes };
      } finally {
        refusal.end();
      }
    },
  };
}

/** How long after a request its refusal leaves: longer than nearly every read of a record takes. */
export const REFUSAL_MS = 250;

/**
 * A refusal for its key leaves when every such refusal does, whether its record was read, was absent or was not looked for:
 * reading one takes longer than finding none, and would tell that there was one. The timer runs from before the read: one
 * that is set after it would have to ask a clock that knows whole milliseconds only. Whoever misses a tick takes the next.
 */
function timedRefusal() {
  let timer: ReturnType<typeof setInterval> | undefined;
  let hasEnded = false;
  let onTick = () => {};
  const begin = () => {
    if (!hasEnded) timer ??= setInterval(() => onTick(), REFUSAL_MS);
  };
  return {
    begin,
    /** Throws the problem when it is time. */
    async leave(code: "missing_api_key" | "invalid_api_key"): Promise<never> {
      begin();
      await new Promise<void>((resolve) => {
        onTick = resolve;
      });
      throw new Problem(code, DETAIL);
    },
    end() {
      hasEnded = true;
      clearInterval(timer);
    },
  };
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
