/**
 * Whether more calls arrive than an isolate can answer, by both rates as they have been of late.
 *
 * Long waits alone do not tell: after a stall of a few tenths of a second a queue is as long as in an overload, but it passes
 * by itself, and refusing calls would help nobody.
 */
export type OfferedLoad = {
  /** A call has come, whatever becomes of it. */
  arrived(nowMs: number): void;
  /** A call was answered while `others` waited. */
  answered(nowMs: number, others: number): void;
  /** The thread was held up until now: as many calls as in so long before come at once, and nothing could be answered. */
  stalled(nowMs: number, gapMs: number): void;
  isBeyondCapacity(nowMs: number): boolean;
  /** Several times the capacity: refusals alone, though each costs little, take much of the thread. */
  isFlood(nowMs: number): boolean;
  /** Calls that would have come since the last one, had they gone on coming as before it; 0 after a while, since they may have ended. */
  missed(nowMs: number): number;
};

/** Arrivals and answers count for so long: twice the capacity is seen within a sixth of a second, chance at four fifths of it is not. */
const RATE_MS = 200;
/** In so long, half of what answers have taken is forgotten: a stall is no lack of capacity. */
const CAPACITY_MS = 10_000;
/** Answers tell the capacity only when so many others wait, since the thread may have idled otherwise. */
const OTHERS_LEAST = 4;
/** Longer than the thread takes for any answer: those who were seen to wait read since, or hung up. */
const ANSWER_MS_MAX = 250;
/** What is estimated counts as much as so many answers. */
const ESTIMATE_CALLS = 50;
/** Longer than collections of garbage take, and what a host takes of a core. */
const MISSED_MS_MAX = 1000;
/** Arrivals within a tenth of the capacity may be chance. */
const MARGIN = 1.1;
/** A refusal takes about a tenth of a call. */
const FLOOD_TIMES = 4;

/** @param callMs What a call takes, until answers tell. */
export function createOfferedLoad(callMs: number): OfferedLoad {
  const arrivals = recentRate();
  const answered = recentRate();
  let [answers, answersMs] = [ESTIMATE_CALLS, ESTIMATE_CALLS * callMs];
  let saturatedSinceMs: number | undefined;
  let [perMsBefore, arrivedMs] = [0, 0];
  let [owed, owedUntilMs] = [0, 0];
  // What is answered can be answered, even where nobody has ever had to wait.
  const capacityAt = (nowMs: number) => Math.max(answers / answersMs, answered.at(nowMs));
  return {
    arrived(nowMs) {
      [perMsBefore, arrivedMs] = [arrivals.at(nowMs), nowMs];
      if (owed >= 1 && nowMs <= owedUntilMs) owed--;
      else arrivals.add(nowMs);
    },
    stalled(nowMs, gapMs) {
      [owed, owedUntilMs] = [arrivals.skip(gapMs), nowMs + gapMs];
      answered.skip(gapMs);
      if (saturatedSinceMs !== undefined) saturatedSinceMs += gapMs;
    },
    answered(nowMs, others) {
      answered.add(nowMs);
      if (saturatedSinceMs !== undefined) {
        const tookMs = Math.max(0, nowMs - saturatedSinceMs);
        const kept = 2 ** (-tookMs / CAPACITY_MS);
        if (tookMs <= ANSWER_MS_MAX) [answers, answersMs] = [answers * kept + 1, answersMs * kept + tookMs];
      }
      saturatedSinceMs = others >= OTHERS_LEAST ? nowMs : undefined;
    },
    isBeyondCapacity: (nowMs) => arrivals.at(nowMs) > MARGIN * capacityAt(nowMs),
    isFlood: (nowMs) => arrivals.at(nowMs) > FLOOD_TIMES * capacityAt(nowMs),
    missed(nowMs) {
      const gapMs = Math.max(0, nowMs - arrivedMs);
      return gapMs > MISSED_MS_MAX ? 0 : perMsBefore * gapMs;
    },
  };
}

/** Events per millisecond, the newest counting most. */
function recentRate() {
  let [perMs, lastMs] = [0, 0];
  const at = (nowMs: number) => perMs * Math.exp(-Math.max(0, nowMs - lastMs) / RATE_MS);
  const add = (nowMs: number) => {
    [perMs, lastMs] = [at(nowMs) + 1 / RATE_MS, nowMs];
  };
  /** So long counts as no time; gives how many events there would have been. */
  const skip = (gapMs: number) => {
    lastMs += gapMs;
    return perMs * gapMs;
  };
  return { at, add, skip };
}
