/**
 * What the thread was held up by, beside its calls: opening a version, collecting garbage, a neighbour on the same core. A queue that
 * a stall leaves passes by itself as far as calls come slower than they are answered, so it is no reason to refuse anybody.
 *
 * Seen from inside by the time between two moments at which the isolate did something, while calls waited inside or, as it
 * seems, outside.
 */
export type Stalls = {
  /**
   * The isolate does something.
   * @param isAwaited Whether calls wait inside, or many that should have come did not.
   * @param callMs What the call that may be under way takes.
   * @returns Milliseconds of the stall that has just ended; 0: there was none.
   */
  pass(nowMs: number, isAwaited: boolean, callMs: number): number;
  /** The thread will be held up in the next second, by so much. */
  announce(nowMs: number, takesMs: number): void;
  /** Milliseconds of all stalls so far, to tell how much of a wait they were. */
  total(): number;
  /** Milliseconds that calls may wait longer, for the stalls of the last seconds whose queues have not passed. */
  patienceMs(nowMs: number): number;
};

/** Shorter gaps are two calls of a small catalog, or a clock that counts in steps. */
const STALL_MS_LEAST = 12;
/** Longer ones are an isolate that nobody asks, whose last callers hung up. */
const STALL_MS_MAX = 2000;
/** A call that takes so many times its estimate is no stall: its catalog or this machine is slow. */
const CALLS_MAX = 4;
/** In so long half of the patience is over. */
const HALF_MS = 1500;
/** A thread that idles has no queue left from a stall. It seems idle, too, while calls are outside for a moment. */
const PER_IDLE_MS = 5;
/** After so long what was announced is over, or will not come. */
const ANNOUNCED_MS = 1000;

export function createStalls(patienceMsMax: number): Stalls {
  let lastMs = 0;
  let total = 0;
  let [patience, sinceMs] = [0, 0];
  let announcedUntilMs = 0;
  const patienceMs = (nowMs: number) => patience * 2 ** (-Math.max(0, nowMs - sinceMs) / HALF_MS);
  const add = (nowMs: number, milliseconds: number) => {
    [patience, sinceMs] = [Math.min(patienceMsMax, patienceMs(nowMs) + milliseconds), nowMs];
  };
  return {
    announce(nowMs, takesMs) {
      announcedUntilMs = nowMs + ANNOUNCED_MS;
      add(nowMs, takesMs);
    },
    pass(nowMs, isAwaited, callMs) {
      const gapMs = nowMs - lastMs;
      lastMs = nowMs;
      if (!isAwaited && nowMs > announcedUntilMs)
        add(nowMs, -Math.min(patienceMs(nowMs), PER_IDLE_MS * Math.max(0, gapMs)));
      if (!isAwaited || gapMs < Math.max(STALL_MS_LEAST, CALLS_MAX * callMs) || gapMs > STALL_MS_MAX) return 0;
      total += gapMs;
      add(nowMs, gapMs);
      return gapMs;
    },
    total: () => total,
    patienceMs,
  };
}
