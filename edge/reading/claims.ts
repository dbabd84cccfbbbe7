/**
 * Who reads what several requests want at once: one of them, while the others look again until it has come. They never
 * await its promise: workerd would hang them when its request ends first.
 */
import { sleep } from "./deadline.ts";
import type { RequestAccess } from "./request-access.ts";

export type Claims = {
  /** Whether the caller is to read: false while another does, for as long as a claim holds. */
  take(key: string, nowMs: number): boolean;
  /** To be called when the read has ended, well or not. */
  release(key: string): void;
};

/** A read that takes longer is not waited for. */
export const CLAIM_MS = 1000;
const LOOK_AGAIN_MS = 3;

/** @param ttlMs How long a claim holds that is not released: its caller may have hung up. */
export function createClaims(ttlMs: number): Claims {
  const untilMs = new Map<string, number>();
  return {
    take(key, nowMs) {
      if ((untilMs.get(key) ?? 0) > nowMs) return false;
      for (const [other, endMs] of untilMs) if (endMs <= nowMs) untilMs.delete(other);
      untilMs.set(key, nowMs + ttlMs);
      return true;
    },
    release: (key) => void untilMs.delete(key),
  };
}

type Wanted<Value> = {
  /** What has come since. */
  readonly look: () => { readonly value: Value } | undefined;
  readonly claim: (nowMs: number) => boolean;
  /** Releases the claim at its end. */
  readonly read: () => Promise<Value>;
  /** Waited for no longer than so. */
  readonly waitMs: number;
};

/** What `look` finds, or, for whoever has the claim or has waited too long, what `read` gives. */
export async function lookOrRead<Value>(
  { look, claim, read, waitMs }: Wanted<Value>,
  access: RequestAccess,
): Promise<Value> {
  for (const untilMs = access.nowMs() + waitMs; ; await sleep(LOOK_AGAIN_MS)) {
    const found = look();
    if (found) return found.value;
    if (claim(access.nowMs()) || access.nowMs() >= untilMs) break;
  }
  const reading = read();
  access.waitUntil(reading.catch(() => undefined)); // others wait for it, though this caller may hang up
  return reading;
}
