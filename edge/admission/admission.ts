/**
 * Decides which rank calls an isolate computes, and when. An isolate has one thread for all its calls, and a clock that stands still
 * while the thread computes. So nothing here is measured: each call has an estimated CPU time, which depends on its catalog's size.
 *
 * 1. A bound on work: the calls that were admitted and are not yet computed have limited CPU time, in all and by customer. A call
 *    beyond the bound is refused at once.
 * 2. A customer's bound has two values. A queue that has built up in a moment, such as while a version was opened, drains by itself, so
 *    it may be long. A queue that stays full only makes every call wait, so after some refusals the bound is a third until the queue
 *    was empty.
 * 3. Turns. workerd accepts requests only between two turns of its event loop. Calls that were computed one right after the other
 *    would leave thousands waiting outside, where nobody counts them. So only a few calls are computed in one turn.
 */
import { sleep } from "../reading/waiting.ts";
import { CUSTOMER_FRACTION_MAX, createCustomerQuota } from "./customer-quota.ts";

/** CPU milliseconds of a rank call, measured in workerd by `npm run bench -- edge-scale` at 10k, 100k and 1M items. */
const CPU_MS_PER_CALL = 1.7;
const CPU_MS_PER_ITEM = 21.5e-6;
/** The bound while the isolate is not overloaded, as a multiple of a customer's bound in an overload. */
const BURST_FACTOR = 3;
/** From this many refusals since the queue was last empty, the isolate counts as overloaded. Fewer are the rest of a burst. */
const OVERLOAD_REFUSALS = 20;
/** Estimated CPU milliseconds in one turn. A turn ends with a timer, which takes a millisecond or two. */
const TURN_MS_MAX = 16;
/** A call waits this fraction of the estimated CPU time ahead of it: a processor may be twice as quick as the estimate. */
const PACE = 0.5;
/** An admitted call that is not computed after this time belongs to a caller that hung up. */
const ADMITTED_MS_MAX = 2000;
const REFUSALS_LOGGED_EVERY_MS = 1000;

export type AdmittedCall = {
  /** Resolves when the call is to be computed, which must not wait for I/O. */
  turn(): Promise<void>;
  /** To be called when the call was computed or has failed. */
  end(): void;
};

export type Admission = {
  /** Whether even the smallest call of this customer is to be refused now. */
  isFull(customer: string, nowMs: number): boolean;
  /** Undefined when the call is to be refused. */
  admit(call: Arrival): AdmittedCall | undefined;
  /** Counts a refused call. About once a second, returns the number of calls refused since the last report, for the log. */
  countRefusal(nowMs: number): number | undefined;
};

type Arrival = { readonly customer: string; readonly itemCount: number; readonly nowMs: () => number };

/** @param queueMsMax The bound in an overload, in estimated CPU milliseconds. */
export function createAdmission(queueMsMax: number): Admission {
  let refusedSinceEmpty = 0;
  const isOverloaded = () => refusedSinceEmpty >= OVERLOAD_REFUSALS;
  const customerMax = () => CUSTOMER_FRACTION_MAX * (isOverloaded() ? 1 : BURST_FACTOR) * queueMsMax;
  const queue = createCustomerQuota(BURST_FACTOR * queueMsMax, ADMITTED_MS_MAX, customerMax);
  const hasRoom = (customer: string, nowMs: number, cpuMs: number) => {
    if (queue.taken(nowMs) === 0) refusedSinceEmpty = 0;
    const isRoom = queue.hasRoom(customer, nowMs, cpuMs);
    if (!isRoom) refusedSinceEmpty++;
    return isRoom;
  };

  // Sums of estimated CPU time since the isolate was started.
  let admittedMs = 0;
  let computedMs = 0;
  let computedBeforeTurnMs = 0; // before the latest turn of the event loop that is known to have begun
  const isTurnFull = () => computedMs - computedBeforeTurnMs >= TURN_MS_MAX;
  const waitForTurn = async (waitMs: number) => {
    const computedUntilNowMs = computedMs;
    await sleep(waitMs); // a timer fires in a later turn, whatever its time
    computedBeforeTurnMs = Math.max(computedBeforeTurnMs, computedUntilNowMs);
  };

  let refusals = { count: 0, loggedAtMs: Number.NEGATIVE_INFINITY };
  return {
    isFull: (customer, nowMs) => !hasRoom(customer, nowMs, CPU_MS_PER_CALL),
    admit({ customer, itemCount, nowMs }) {
      const cpuMs = CPU_MS_PER_CALL + CPU_MS_PER_ITEM * itemCount;
      if (!hasRoom(customer, nowMs(), cpuMs)) return undefined;
      const end = queue.take(customer, nowMs(), cpuMs)!;
      const admittedBeforeMs = admittedMs;
      admittedMs += cpuMs;
      const aheadMs = () => Math.max(0, admittedBeforeMs - (admittedMs - queue.taken(nowMs())));
      const turn = async () => {
        if (aheadMs() > 0) await waitForTurn(PACE * aheadMs());
        while (isTurnFull()) await waitForTurn(PACE * aheadMs());
        computedMs += cpuMs;
      };
      return { turn, end };
    },
    countRefusal(nowMs) {
      refusals.count++;
      if (nowMs < refusals.loggedAtMs + REFUSALS_LOGGED_EVERY_MS) return undefined;
      const { count } = refusals;
      refusals = { count: 0, loggedAtMs: nowMs };
      return count;
    },
  };
}
