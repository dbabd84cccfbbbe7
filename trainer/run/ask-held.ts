import { once } from "node:events";
import type { HeldAnswer, RunMessage } from "./training-run.ts";

/** Management answers within half a heartbeat, and this process ends with it; beyond that nothing is known. */
const ANSWER_MS_MAX = 600_000;

/**
 * Whether this run is still to be heard, by the management process that started it. One question at a time.
 *
 * @throws The signal's reason when the run is stopped meanwhile, TimeoutError when there is no answer.
 */
export async function askHeld(asking: NodeJS.Process, signal: AbortSignal): Promise<boolean> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)]);
  bounded.throwIfAborted();
  const answer = once(asking, "message", { signal: bounded });
  asking.send!({ kind: "is_held" } satisfies RunMessage);
  const [told] = await answer.catch(() => Promise.reject(bounded.reason));
  return (told as HeldAnswer).is_held === true;
}
