/** Questions of a run's or dry run's process to the management process, which answers each by a message of the same kind. */
import { on } from "node:events";
import { type AccessToken, AccessTokenAnswer } from "../read/connectors/bigquery/access-token.ts";
import { StageError } from "../stage/stage-error.ts";
import type { LeaseAnswer } from "./training-run.ts";

/** The management process answers within half a heartbeat. Ten minutes without an answer mean that it hangs. */
const ANSWER_MS_MAX = 600_000;

/**
 * Asks whether this run still owns the model's lease.
 *
 * @throws The signal's reason when the run is stopped, TimeoutError when no answer comes.
 */
export async function checkLease(child: NodeJS.Process, signal: AbortSignal): Promise<boolean> {
  return ((await ask(child, "owns_lease", signal)) as LeaseAnswer).owns_lease === true;
}

/** Asks for a BigQuery access token of the run's customer. Also throws StageError when none can be made. */
export async function requestAccessToken(child: NodeJS.Process, signal: AbortSignal): Promise<AccessToken> {
  const answer = AccessTokenAnswer.parse(await ask(child, "access_token", signal));
  if ("token" in answer) return answer;
  const { stage, code, message, retryable } = answer.failure;
  throw new StageError(stage, code, message, { retryable });
}

async function ask(child: NodeJS.Process, kind: string, signal: AbortSignal): Promise<unknown> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)]);
  bounded.throwIfAborted();
  const answers = on(child, "message", { signal: bounded });
  child.send!({ kind });
  try {
    for await (const [answer] of answers) if (answer.kind === kind) return answer;
  } catch (error) {
    throw bounded.aborted ? bounded.reason : error;
  }
}
