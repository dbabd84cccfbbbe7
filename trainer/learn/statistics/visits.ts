import type { Interactions } from "../../read/dataset/dataset.ts";

/** The rows before `end` at which a user's visits begin. A visit, or an order, is all positive interactions of a user at one time. */
export function visitStarts(
  { userStart, times, positive }: Interactions,
  user: number,
  end = userStart[user + 1]!,
): number[] {
  const starts: number[] = [];
  let time = -1;
  for (let row = userStart[user]!; row < end; row++) {
    if (!positive[row] || times[row] === time) continue;
    time = times[row]!;
    starts.push(row);
  }
  return starts;
}
