/**
 * How far apart calls begin. A thread that always has a call to go on with never looks for new ones, which then wait outside, where
 * nobody sees them or could refuse them: so the next one begins a little after the last has ended.
 */
export type BeginPace = {
  /** Milliseconds after a call of so many, as estimated, when the next may begin. */
  afterMs(callMs: number, nowMs: number): number;
  /** To be called when a call begins, with when it was to, and for how long stalls have held up the thread so far. */
  begun(call: {
    readonly callMs: number;
    readonly dueMs: number;
    readonly nowMs: number;
    readonly stalledMs: number;
  }): void;
};

/** Of what calls take: the rest is for new ones, most of which are only refused. */
const SLACK = 1.1;
/** Of its estimated time, what a call really takes: bounds of what is learnt. Calls closer together would again keep others outside. */
const SHARES = { least: 0.5 / SLACK, most: 2 } as const;
/** Timers are late by less: clocks count milliseconds. */
const LATE_MS = 3;
/** A call counts as much as so many to come. */
const LEARNT_CALLS = 20;
/** A longer gap is more than one call: it counts as this. */
const TIMES_MAX = 1.5;
/** Calls that begin in time tell only that those before took no longer: in so long, half of what was learnt is forgotten. */
const FORGOTTEN_MS = 2000;

export function createBeginPace(): BeginPace {
  let share: number = SHARES.least;
  let last = { callMs: 1, begunMs: Number.NEGATIVE_INFINITY, stalledMs: 0 };
  const bounded = (value: number) => Math.min(SHARES.most, Math.max(SHARES.least, value));
  const at = (nowMs: number) => bounded(share * 2 ** (-Math.max(0, nowMs - last.begunMs) / FORGOTTEN_MS));
  return {
    afterMs: (callMs, nowMs) => SLACK * at(nowMs) * callMs,
    begun({ callMs, dueMs, nowMs, stalledMs }) {
      // Due when the one before began, or earlier: in between the thread was never idle.
      const isTelling = nowMs - dueMs >= LATE_MS && dueMs <= last.begunMs;
      const tookMs = nowMs - last.begunMs - (stalledMs - last.stalledMs);
      const seen = Math.min(TIMES_MAX * share, tookMs / last.callMs);
      share = isTelling ? bounded(share + (seen - share) / LEARNT_CALLS) : at(nowMs);
      last = { callMs, begunMs: nowMs, stalledMs };
    },
  };
}
