import type { Caller } from "../auth.ts";
import type { CustomerShards } from "../events/call-shards.ts";
import type { Isolate } from "../isolate.ts";
import type { ReadAccess } from "../reading/artifact-reader.ts";
import type { RequestAccess } from "../reading/waiting.ts";
import type { PointerAhead } from "../versions/live-pointers.ts";

/** A rank call whose key was checked: who calls, and for which model. */
export type RankCall = RequestAccess & {
  readonly requestId: string;
  readonly caller: Caller;
  readonly customer: string;
  readonly modelName: string;
  /** The header x-user-signature. */
  readonly userSignature: string | undefined;
  /** The pointer that was read while the key was checked, if any. */
  readonly ahead: PointerAhead | undefined;
  readonly shards: CustomerShards;
};

/** What the reads of one rank call have in common. All of them must end before `untilMs`. */
export type RankAccess = ReadAccess & { readonly startedMs: number; readonly untilMs: number };

export function rankAccess(
  { nowMs, waitUntil }: RequestAccess,
  { reader, settings }: Pick<Isolate, "reader" | "settings">,
): RankAccess {
  const [startedMs, timeoutMs] = [nowMs(), settings.RANK_TIMEOUT_MS];
  return { nowMs, waitUntil, reader: reader.endingIn(timeoutMs), startedMs, untilMs: startedMs + timeoutMs };
}

/** Returns the time that has passed since its last call. The clock stands still while the Worker computes, so it is waiting. */
export function waitingTimer(nowMs: () => number): () => number {
  let beforeMs = nowMs();
  return () => {
    const ms = nowMs() - beforeMs;
    beforeMs += ms;
    return ms;
  };
}
