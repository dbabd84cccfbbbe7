/** How many times as long as estimated calls wait, by those that have waited. */
export type Slowness = {
  at(nowMs: number): number;
  /** A call that has just begun waited so many times what was estimated. */
  add(times: number, nowMs: number): void;
};

/** Waits are at most so many times what was estimated, as far as is believed. */
const SLOWNESS_MAX = 4;
/** Of what was estimated, what waits usually are, at the least: calls do not begin closer together, however quick they are. */
const USUAL_LEAST = 0.5;
/** In so long of waiting half of what waits have been is replaced by what they are: a single stall is no overload. */
const LEARNT_MS = 300;
/** The same of what they usually are, which is the machine's: its moments are not. */
const USUAL_LEARNT_MS = 5000;
const GAP_MS_MAX = 50;
/** In so long, without waits, half of what is beyond the usual is forgotten. */
const FORGOTTEN_MS = 1000;

/**
 * A mean over the time that calls waited. Slower than usual it is for a while; quicker than estimated it can only be as a rule, since
 * who lets more in because of one quick moment would have them wait in the next.
 */
export function createSlowness(): Slowness {
  let usual = 1;
  let [beyond, seenMs] = [0, 0];
  const at = (nowMs: number) => usual + beyond * 2 ** (-Math.max(0, nowMs - seenMs) / FORGOTTEN_MS);
  return {
    at,
    add(times, nowMs) {
      const gapMs = Math.min(GAP_MS_MAX, Math.max(0, nowMs - seenMs));
      const nextTo = (value: number, halfMs: number, seen: number) => seen + (value - seen) * 2 ** (-gapMs / halfMs);
      const mean = nextTo(at(nowMs), LEARNT_MS, Math.min(SLOWNESS_MAX, times));
      usual = nextTo(usual, USUAL_LEARNT_MS, Math.min(1, Math.max(USUAL_LEAST, times)));
      [beyond, seenMs] = [Math.max(0, mean - usual), nowMs];
    },
  };
}
