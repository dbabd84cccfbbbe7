/**
 * When stored data of erased users have to be gone. A run removes what is due (run/remove-erased.ts), and `models.erased_before`
 * notes it. What was stored within a day after an erasure may come from a run that began before it, so it counts as older.
 */
import { errorForLog, type Log } from "../../log/log.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import type { Database } from "./database.ts";

export type ErasureDeadlines = ReturnType<typeof erasureDeadlines>;

export type DeadlineParts = {
  readonly database: Database;
  readonly nowMs: () => number;
  /** Time within which all that is stored of an erased user is removed. */
  readonly withinMs: number;
  readonly log: Log;
};

/** Part of that time after which every run removes the user from what is stored. Older versions can be activated until then. */
const DUE_FRACTION = 1 / 2;
/** Part of that time after which a model without such a run gets one. What remains is for retries. */
const OVERDUE_FRACTION = 3 / 4;
const LATEST_ERASURES = `select customer, max(erased_at) + interval '1 day' as stored_before
  from shortlist.erased_users where erased_at < $1 group by customer`;

export function erasureDeadlines({ database, nowMs, withinMs, log }: DeadlineParts) {
  const timeBefore = (fraction: number) => new Date(nowMs() - fraction * withinMs).toISOString();
  /** For each customer with due erasures, the time before which stored data may have these users. */
  const due = async () => {
    const rows = await database.query(LATEST_ERASURES, [timeBefore(DUE_FRACTION)]);
    return rows.map((row) => ({
      customer: row.customer as string,
      storedBeforeMs: new Date(row.stored_before as string | Date).getTime(),
    }));
  };
  return {
    due,
    dueFor: async (customer: string): Promise<number | null> =>
      (await due()).find((one) => one.customer === customer)?.storedBeforeMs ?? null,
    /** Notes that a run has removed what was due. A failure is logged, and a later run does it again. */
    async noteRemoved({ customer, modelName }: ModelRef, storedBeforeMs: number): Promise<void> {
      const update = "update shortlist.models set erased_before = $3 where customer = $1 and model_name = $2";
      try {
        await database.query(update, [customer, modelName, new Date(storedBeforeMs).toISOString()]);
      } catch (error) {
        log({ event: "erasure_not_noted", level: "warning", customer, error: errorForLog(error) });
      }
    },
    /** Models that have had no run for so long that an erasure would not end in time. */
    async overdue(): Promise<ModelRef[]> {
      const rows = await database.query(
        `select models.customer, model_name from shortlist.models
         join (${LATEST_ERASURES}) latest on latest.customer = models.customer
         where stored_before > coalesce(erased_before, created_at)`,
        [timeBefore(OVERDUE_FRACTION)],
      );
      return rows.map((row) => ({ customer: row.customer as string, modelName: row.model_name as string }));
    },
  };
}
