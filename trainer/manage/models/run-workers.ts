import { errorForLog, type Log } from "../../log/log.ts";
import type { Run, RunLedger } from "../records/run-ledger.ts";
import type { StopReason } from "../runs/run-lease.ts";
import { repeat } from "./repeat.ts";

export type RunWorkers = ReturnType<typeof startRunWorkers>;

export type WorkerOptions = {
  readonly ledger: Pick<RunLedger, "waiting">;
  /** Runs that may work at the same time in this process. */
  readonly concurrency: number;
  /** Runs of one customer that may work at the same time. */
  readonly perCustomer: number;
  /** Claims the run and works on it. It returns at once if another trainer was faster. */
  readonly perform: (run: Run, stop: AbortController) => Promise<void>;
  readonly log: Log;
};

const POLL_MS = 2000;

/**
 * Works on the runs that wait in the ledger, in its order. There is no other queue: a row of the ledger is the job, and
 * the claim decides between trainers that read the same row.
 */
export function startRunWorkers({ ledger, concurrency, perCustomer, perform, log }: WorkerOptions) {
  const working = new Map<string, { readonly stop: AbortController; readonly ended: Promise<void> }>(); // by run id
  let isHandedBack = false;

  const work = async (run: Run, stop: AbortController) => {
    let wasPerformed = false;
    try {
      await perform(run, stop);
      wasPerformed = true;
    } catch (error) {
      log({ event: "run_error", level: "error", run_id: run.runId, error: errorForLog(error) });
    }
    working.delete(run.runId);
    if (wasPerformed) loop.wake(); // after an error, the next poll is early enough
  };
  const takeWaiting = async () => {
    // A run that begins here is listed until its claim is written, so the list must be longer by those.
    for (const run of await ledger.waiting(concurrency + working.size, perCustomer)) {
      if (isHandedBack || working.size >= concurrency) return;
      if (working.has(run.runId)) continue;
      const stop = new AbortController();
      working.set(run.runId, { stop, ended: work(run, stop) });
    }
  };
  const loop = repeat(takeWaiting, { pauseMs: POLL_MS, failureEvent: "queue", log });
  return {
    /** Looks for waiting runs now rather than at the next poll. To be called after the transaction that created a run. */
    wake: loop.wake,
    /** Stops a run if it works in this process. */
    cancel: (runId: string): void => working.get(runId)?.stop.abort("cancelled" satisfies StopReason),
    /** Takes no further run, and stops those that work, which then wait in the ledger. Resolves when all have ended. */
    async handBack(): Promise<void> {
      isHandedBack = true;
      for (const { stop } of working.values()) stop.abort("stopping" satisfies StopReason);
      await Promise.all([loop.stop(), ...Array.from(working.values(), ({ ended }) => ended)]);
    },
  };
}
