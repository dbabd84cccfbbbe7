import { type DataSummary, RECENT_DAYS } from "../../../shared/model-record.ts";

const DAY_SECONDS = 86_400;

/**
 * The interactions of each day (UTC) up to the newest one's, days without any included.
 *
 * @param times Epoch seconds, in any order; `from` and `to` are the first and the last of them.
 */
export function recentDays(times: Uint32Array, { from, to }: { readonly from: number; readonly to: number }) {
  const dayOf = (seconds: number) => Math.floor(seconds / DAY_SECONDS);
  const first = Math.max(dayOf(from), dayOf(to) - RECENT_DAYS + 1);
  const interactions = new Array<number>(dayOf(to) - first + 1).fill(0);
  for (const seconds of times) {
    const day = dayOf(seconds) - first;
    if (day >= 0) interactions[day]!++;
  }
  const recent: DataSummary["recent_days"] = { from: dateOf(first), interactions };
  return recent;
}

const dateOf = (day: number) => new Date(day * DAY_SECONDS * 1000).toISOString().slice(0, 10);
