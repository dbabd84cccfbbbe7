/** Counts the calls that an isolate answers, and sends the counts to an object of the customer from time to time. */
import type { Context } from "hono";
import type { EdgeEnv } from "../isolate.ts";
import { sleep, within } from "../reading/waiting.ts";
import { writeLog } from "../request-log.ts";
import { addTo, bucketOf, CALLS_OBJECT, type CallMinute, emptyMinute, minuteOf } from "./counts.ts";

const SEND_MS_MAX = 5000;

/**
 * Counts a list or a refusal. The first call of a customer sends, some seconds after its answer, all that were counted meanwhile. What
 * cannot be sent is lost: no call waits for these counts or repeats them.
 *
 * @param waitedMs From the request's arrival to its last I/O.
 */
export function countCall(c: Context<EdgeEnv>, waitedMs: number): void {
  const [caller, strategy, refusal] = [c.get("caller"), c.get("ranked")?.strategy, c.get("refusal")];
  if (caller === undefined || c.env.EVENTS === undefined || (strategy === undefined && refusal === undefined)) return;
  const { pendingCalls, settings } = c.get("isolate");
  const { customer } = caller;
  const { nowMs, waitUntil } = c.get("access");
  const pending = pendingCalls.get(customer) ?? { minutes: new Map<number, CallMinute>(), sentByMs: 0 };
  pendingCalls.set(customer, pending);
  const minute = minuteOf(nowMs());
  const counts = pending.minutes.get(minute) ?? emptyMinute(minute);
  pending.minutes.set(minute, counts);
  if (refusal !== undefined) addTo(counts.refusals, refusal);
  else {
    addTo(counts.lists, String(strategy));
    addTo(counts.latency, String(bucketOf(waitedMs)));
  }
  if (pending.sentByMs > nowMs()) return; // another call sends the counts, unless the runtime has ended it
  const periodMs = settings.CALL_COUNT_SECONDS * 1000;
  pending.sentByMs = nowMs() + periodMs + SEND_MS_MAX;
  waitUntil(sleep(periodMs).then(() => sendCounts(c, customer)));
}

async function sendCounts(c: Context<EdgeEnv>, customer: string): Promise<void> {
  const { pendingCalls } = c.get("isolate");
  const minutes = [...(pendingCalls.get(customer)?.minutes.values() ?? [])];
  pendingCalls.delete(customer);
  if (minutes.length === 0) return;
  const name = `${customer}/${CALLS_OBJECT}`;
  await within(SEND_MS_MAX, `the object ${name}`, c.env.EVENTS!.getByName(name).addCalls(minutes)).catch((error) =>
    writeLog({ event: "calls_not_counted", level: "warning", customer, error: String(error) }),
  );
}
