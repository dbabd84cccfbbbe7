import { createBeginPace } from "./begin-pace.ts";
import { createHeldWork } from "./held-work.ts";
import { HOLDER_SHARE } from "./leases-by-holder.ts";
import { createOfferedLoad } from "./offered-load.ts";
import { createSlowness } from "./slowness.ts";
import { createStalls } from "./stalls.ts";

/** CPU time of a rank call, in milliseconds: measured in workerd by `npm run bench -- edge-scale` at 10k, 100k and 1M items. */
const BASE_MS = 1.7;
const MS_PER_ITEM = 21.5e-6;
/** However long they take, so many calls may wait. */
const CALLS_LEAST = 4;
/** Of what calls may wait when more arrive than can be answered: a queue that does not pass by itself only makes all wait. */
const OVERLOAD_SHARE = 0.2;
/** Of what calls may wait, how much longer they may after stalls. */
const STALLED_SHARE = 5;
/** What loading a version takes of the thread, together with the records that are then read anew. */
const LOADING_MS = 200;
/** This many missing arrivals mean that calls queue outside; chance explains it once in 3,000. */
const MISSED_LEAST = 8;

/** Shorter waits say nothing: clocks count milliseconds. */
const WAIT_MS_LEAST = 10;
const TOLD_EVERY_MS = 1000;
/** A call with nobody before it begins before its time: a timer would take longer. Who go on so are held up once for many. */
const EARLY_MS_MAX = 5;
/** Of a refusal in a flood: still early for who keeps to its Retry-After. */
const HOLD_MS = 100;

/** A call that was let in. */
export type Place = {
  /** When to begin, at the earliest. */
  readonly beginMs: number;
  /** To be called then, or as much later as the isolate came to it. */
  begin(nowMs: number): void;
  /** Awaits work that uses no CPU, such as a read; meanwhile the call does not count as queued. */
  away<T>(waiting: Promise<T>, nowMs: () => number): Promise<T>;
  /** Leaves the place. */
  end(nowMs: number): void;
};

export type Arrival = { readonly holder: string; readonly itemCount: number; readonly nowMs: number };

/**
 * Who may rank in an isolate, which has one thread for all. What is under way, by its estimated time and by how many
 * times as long as estimated others have waited, is how long a new call would wait. Beyond `queueMsMax` it is refused, beyond
 * a fifth of that while more calls arrive than can be answered; after a stall of the thread that bound is longer by as much.
 * While several customers ask, none of them fills more than three quarters of it.
 *
 * Requests are given to an isolate only when its thread is free, so it does not see how many wait outside. Hence calls
 * begin at a pace that lets it see them, and a refusal comes first and costs little.
 */
export type Admission = {
  /**
   * Whether even the quickest call would be refused. To be asked for each call.
   * @param holder Its customer as far as is known before its key is checked, "" for nobody who is known.
   */
  isFull(nowMs: number, holder: string): boolean;
  /** Undefined when the wait would be too long; a single call is always let in. */
  admit(arrival: Arrival): Place | undefined;
  /** To be called when a version begins to be loaded, which takes the thread for tenths of a second. */
  loading(nowMs: number): void;
  /** How long a refusal is to be held back: callers who ask again at once would else take the thread with refusals. */
  holdMs(nowMs: number): number;
  /** To be called for every call that is refused; about once a second gives how many there were since it last did. */
  refuse(nowMs: number): number | undefined;
};

/** @param ttlMs How long a call can be in the queue at most: one whose caller hung up never leaves it. */
export function createAdmission(queueMsMax: number, ttlMs: number): Admission {
  const work = createHeldWork(ttlMs);
  const slowness = createSlowness();
  const offered = createOfferedLoad(BASE_MS);
  const stalls = createStalls(STALLED_SHARE * queueMsMax);
  const pace = createBeginPace();
  let nextBeginMs = 0;
  let lastCallMs = BASE_MS;
  let [refused, toldMs] = [0, Number.NEGATIVE_INFINITY];
  const pass = (nowMs: number) => {
    const isAwaited = work.count(nowMs) > 0 || offered.missed(nowMs) >= MISSED_LEAST;
    const stalledMs = stalls.pass(nowMs, isAwaited, lastCallMs);
    if (stalledMs > 0) offered.stalled(nowMs, stalledMs);
  };
  const boundMs = (nowMs: number) =>
    offered.isBeyondCapacity(nowMs) ? OVERLOAD_SHARE * queueMsMax : queueMsMax + stalls.patienceMs(nowMs);
  const isTooLong = (holder: string, callMs: number, nowMs: number) => {
    const aheadMs = work.weight(nowMs);
    if (aheadMs === 0) return false;
    const mostMs = Math.max(boundMs(nowMs), CALLS_LEAST * callMs);
    const waitMs = Math.max(slowness.at(nowMs) * (aheadMs + callMs), nextBeginMs - nowMs + callMs);
    if (waitMs > mostMs) return true;
    const ownMs = slowness.at(nowMs) * (work.weightOf(holder, nowMs) + callMs);
    return ownMs > HOLDER_SHARE * mostMs && !work.isAlone(holder, nowMs);
  };
  return {
    isFull(nowMs, holder) {
      pass(nowMs);
      const isRefused = isTooLong(holder, BASE_MS, nowMs);
      // Who is let on will be known: perhaps another key of the same customer.
      if (isRefused || holder !== "") work.asks(holder, nowMs);
      return isRefused;
    },
    admit({ holder, itemCount, nowMs }) {
      pass(nowMs);
      work.asks(holder, nowMs);
      const callMs = BASE_MS + MS_PER_ITEM * itemCount;
      if (isTooLong(holder, callMs, nowMs)) return undefined;
      lastCallMs = callMs;
      offered.arrived(nowMs);
      const aheadMs = work.weight(nowMs);
      let leave = work.take(holder, nowMs, callMs);
      const end = (endMs: number) => {
        pass(endMs);
        leave();
        offered.answered(endMs, work.count(endMs));
      };
      nextBeginMs = Math.min(nextBeginMs, nowMs + (1 + STALLED_SHARE) * queueMsMax); // clocks may step back
      const isEarly = aheadMs === 0 && nextBeginMs - nowMs <= EARLY_MS_MAX;
      const beginMs = isEarly ? nowMs : Math.max(nowMs, nextBeginMs);
      nextBeginMs = Math.max(nowMs, nextBeginMs) + pace.afterMs(callMs, nowMs);
      const stalledMs = stalls.total();
      const begin = (begunMs: number) => {
        pass(begunMs);
        pace.begun({ callMs, dueMs: beginMs, nowMs: begunMs, stalledMs: stalls.total() });
        const waitedMs = begunMs - nowMs - (stalls.total() - stalledMs);
        if (aheadMs >= WAIT_MS_LEAST) slowness.add(waitedMs / aheadMs, begunMs);
      };
      const away = async <T>(waiting: Promise<T>, now: () => number) => {
        leave();
        try {
          return await waiting;
        } finally {
          leave = work.take(holder, now(), callMs);
        }
      };
      return { beginMs, begin, away, end };
    },
    holdMs: (nowMs) => (offered.isFlood(nowMs) ? HOLD_MS : 0),
    loading: (nowMs) => stalls.announce(nowMs, LOADING_MS),
    refuse(nowMs) {
      offered.arrived(nowMs);
      refused++;
      if (nowMs < toldMs + TOLD_EVERY_MS) return undefined;
      const count = refused;
      [refused, toldMs] = [0, nowMs];
      return count;
    },
  };
}
