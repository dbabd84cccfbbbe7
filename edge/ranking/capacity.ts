/** Where rank calls wait for the isolate: for a place, and for their turn. A call without room is refused. */
import { Problem } from "../../shared/problem.ts";
import type { CustomerQuota } from "../admission/customer-quota.ts";
import type { Isolate } from "../isolate.ts";
import { sleep } from "../reading/waiting.ts";
import { writeLog } from "../request-log.ts";

/** A refusal is delayed by this time, so that callers that ignore Retry-After cannot fill the thread. */
const REFUSAL_MS = 100;

/** The isolate has no room for the call. Refused calls are logged together. */
export class RefusedCall extends Problem {
  constructor() {
    super("overloaded", "Too many rank calls at once. Try again.", { retryAfterSeconds: 1 });
  }
}

export type Capacity = Pick<Isolate, "admission" | "ranks">;
export type Waiting = { readonly customer: string; readonly nowMs: () => number };

/** Throws RefusedCall if not even the smallest call has room. */
export async function requireRoom({ customer, nowMs }: Waiting, isolate: Capacity): Promise<void> {
  if (isolate.admission.isFull(customer, nowMs())) await refuse(nowMs, isolate);
}

/** Does work that takes one place of a quota. Throws RefusedCall, and what `work` throws. */
export async function withPlace<T>(
  quota: CustomerQuota,
  { customer, nowMs }: Waiting,
  isolate: Capacity,
  work: () => Promise<T>,
): Promise<T> {
  const release = quota.take(customer, nowMs());
  if (release === undefined) return refuse(nowMs, isolate);
  try {
    return await work();
  } finally {
    release();
  }
}

/** Computes when it is the call's turn; everything that has to be read is in memory. Throws RefusedCall, and what `compute` throws. */
export async function inTurn<T>(
  call: Waiting & { readonly itemCount: number },
  isolate: Capacity,
  compute: () => Promise<T>,
): Promise<T> {
  const admitted = isolate.admission.admit(call);
  if (admitted === undefined) return refuse(call.nowMs, isolate);
  try {
    await admitted.turn();
    return await compute();
  } finally {
    admitted.end();
  }
}

/** Throws RefusedCall, after a while. About once a second, one line of the log counts the refused calls. */
async function refuse(nowMs: () => number, { admission, ranks }: Capacity): Promise<never> {
  const ms = nowMs();
  const count = admission.countRefusal(ms);
  if (count !== undefined) writeLog({ event: "ranks_refused", level: "error", count, waiting: ranks.taken(ms) });
  await sleep(REFUSAL_MS);
  throw new RefusedCall();
}
