import { once } from "node:events";
import type { LeaseAnswer, RunMessage } from "./training-run.ts";

/** The management process answers within half a heartbeat. Ten minutes without an answer mean that it hangs. */
const ANSWER_MS_MAX = 600_000;

/**
 * Asks the management process whether this run still owns the model's lease. Only one question may be open at a time.
 *
 * @throws The signal's reason when the run is stopped, TimeoutError when no answer comes.
 */
export async function askLease(child: NodeJS.Process, signal: AbortSignal): Promise<boolean> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)]);
  bounded.throwIfAborted();
  const reply = once(child, "message", { signal: bounded });
  child.send!({ kind: "owns_lease" } satisfies RunMessage);
  const [answer] = await reply.catch(() => Promise.reject(bounded.reason));
  return (answer as LeaseAnswer).owns_lease === true;
}
