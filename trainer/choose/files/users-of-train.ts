import type { Dataset } from "../../read/dataset/dataset.ts";
import { pickColumn } from "../../read/dataset/reorder-items.ts";

/**
 * The dataset without the users behind the last one who has a row: those whom only the test file names. Whatever is counted or predicted
 * by the number of users must not know of them.
 */
export function usersOfTrain(data: Dataset): Dataset {
  const { userStart, userIds, userAttributes } = data;
  let userCount = data.userCount;
  while (userCount > 0 && userStart[userCount - 1] === userStart[userCount]) userCount--;
  if (userCount === data.userCount) return data;
  const kept = Int32Array.from({ length: userCount }, (_, user) => user);
  return {
    ...data,
    userCount,
    userStart: userStart.slice(0, userCount + 1),
    userIds: {
      bytes: userIds.bytes.subarray(0, userIds.start[userCount]),
      start: userIds.start.slice(0, userCount + 1),
    },
    userAttributes: userAttributes.map((column) => pickColumn(column, kept)),
  };
}
