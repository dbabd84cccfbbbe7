import { visitStarts } from "../../learn/statistics/visits.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";

/** In data of clicks or ratings, fewer interactions of a user share their second: 1.35 for each in MovieLens-1M, 6 and 9 in groceries. */
const ROWS_PER_ORDER_MIN = 1.5;
/** People who enter many ratings in one sitting do so within minutes, in MovieLens-100K two a second. */
const HOUR_SECONDS = 3600;
/** With fewer users who came back, orders would be too few cases. */
const RETURNED_MIN = 200;

/**
 * Whether interactions are lines of orders: users have several at one time, and mostly come back after an hour or more. What was bought
 * together cannot be predicted from each other, so such data are to be judged by whole orders.
 */
export function comeInOrders(data: Interactions): boolean {
  let [rows, orders, gaps, longGaps, returned] = [0, 0, 0, 0, 0];
  for (const isPositive of data.positive) rows += isPositive;
  for (let user = 0; user < data.userCount; user++) {
    const times = visitStarts(data, user).map((row) => data.times[row]!);
    orders += times.length;
    gaps += Math.max(0, times.length - 1);
    longGaps += times.filter((time, i) => i > 0 && time - times[i - 1]! >= HOUR_SECONDS).length;
    if (times.length > 1) returned++;
  }
  return rows >= ROWS_PER_ORDER_MIN * orders && returned >= RETURNED_MIN && 2 * longGaps > gaps;
}
