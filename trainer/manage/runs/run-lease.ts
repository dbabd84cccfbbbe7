import { setTimeout as delay } from "node:timers/promises";
import { errorForLog, type Log } from "../../log/log.ts";
import type { Attempt } from "../records/model-transitions.ts";
import type { RunLedger } from "../records/run-ledger.ts";

/** Why this trainer stops a run. `lost`: the lease is another trainer's. */
export type StopReason = "cancelled" | "lost" | "stopping";

export type Lease = {
  readonly signal: AbortSignal;
  /** Renews the lease to find out, since a machine that slept may have lost it. Never rejects. */
  ownsLease(): Promise<boolean>;
  end(): void;
};

export type LeaseOptions = {
  readonly ledger: Pick<RunLedger, "renew">;
  readonly heartbeatSeconds: number;
  readonly log: Log;
};

/** Renews the lease of a run until `end`. Aborts `stop` when the run was cancelled, is another trainer's, or cannot be renewed. */
export function keepLease(
  attempt: Attempt,
  { ledger, heartbeatSeconds, log }: LeaseOptions,
  stop: AbortController,
): Lease {
  const heartbeatMs = heartbeatSeconds * 1000;
  const { signal } = stop;
  let renewedMs = performance.now();
  let pending: Promise<boolean> | undefined;
  /** Another trainer may claim the run after heartbeatMs. This one stops after half of that, so that its process is gone by then. */
  const stopIfLate = () => {
    if (performance.now() - renewedMs > heartbeatMs / 2) stop.abort("lost" satisfies StopReason);
  };
  const tryToRenew = async (): Promise<boolean> => {
    const startedMs = performance.now();
    try {
      const state = await ledger.renew(attempt);
      if (state === "owned") renewedMs = startedMs;
      else stop.abort(state satisfies StopReason);
      return state === "owned";
    } catch (error) {
      log({ event: "renewal_failed", level: "warning", run_id: attempt.runId, error: errorForLog(error) });
      stopIfLate();
      return false;
    }
  };
  const renew = async (): Promise<boolean> => {
    pending = tryToRenew();
    const ownsLease = await pending;
    pending = undefined;
    return ownsLease;
  };
  const renewal = setInterval(() => {
    if (pending === undefined) void renew();
    else stopIfLate(); // the database neither answers nor fails
  }, heartbeatMs / 6);
  return {
    signal,
    async ownsLease() {
      while (!signal.aborted) {
        await pending; // its answer may be older than this question
        if (await renew()) return true;
        // While the database fails, the lease is renewed again and again until the run must stop.
        await delay(heartbeatMs / 12, undefined, { signal }).catch(() => undefined);
      }
      return false;
    },
    end: () => clearInterval(renewal),
  };
}
