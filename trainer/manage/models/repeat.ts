import { errorForLog, type Log } from "../../log/log.ts";

export type Loop = {
  /** Begins a turn now, or right after the present one. */
  wake(): void;
  /** Begins no further turn, and waits for the present one. */
  stop(): Promise<void>;
};

export type LoopOptions = {
  readonly pauseMs: number;
  /** The log event of a turn that failed. */
  readonly failureEvent: string;
  readonly log: Log;
};

/** Calls `turn` now, and again after every pause; never twice at the same time. A turn that fails is logged. */
export function repeat(turn: () => Promise<void>, { pauseMs, failureEvent, log }: LoopOptions): Loop {
  let timer: NodeJS.Timeout | undefined;
  let present: Promise<void> | undefined;
  let wasWoken = false;
  let isStopped = false;

  const takeTurn = async () => {
    try {
      await turn();
    } catch (error) {
      log({ event: failureEvent, level: "error", error: errorForLog(error) });
    }
    present = undefined;
    if (wasWoken) wake();
    else if (!isStopped) timer = setTimeout(wake, pauseMs);
  };
  const wake = () => {
    wasWoken = present !== undefined;
    if (wasWoken || isStopped) return;
    clearTimeout(timer);
    present = takeTurn();
  };
  wake();
  return {
    wake,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await present;
    },
  };
}
