import { expect, test } from "vitest";
import {
  describeRejected,
  isRejectReason,
  meaningOf,
  rejectedOf,
} from "../../../../trainer/read/rules/reject-reasons.ts";

test("reasons are described with their first rows, the most frequent first", () => {
  const rejected = {
    missing_user: { count: 1, firstRows: [7] },
    missing_time: { count: 9, firstRows: [1, 2] },
    malformed_line: { count: 2, firstRows: [] },
  };
  expect(describeRejected(rejected)).toEqual([
    "9 × missing_time: the time is null, empty or infinite (row 1, 2, …)",
    "2 × malformed_line: the line does not fit the file's columns, or is not UTF-8",
    "1 × missing_user: the user id is null or empty (row 7)",
  ]);
});

test("words in place of ids are counted under the reason of a missing id", () => {
  const found = (reason: string, count: number, ...firstRows: number[]) => ({ reason, count, firstRows });
  const rejected = rejectedOf([
    found("missing_user:N/A", 2, 4, 9),
    found("missing_user", 3, 1, 2, 3),
    found("missing_user:NULL", 5, 5),
  ]);
  expect(rejected).toEqual({ missing_user: { count: 10, firstRows: [1, 2, 3, 4, 5], words: { "N/A": 2, NULL: 5 } } });
  expect(describeRejected(rejected)).toEqual([
    '10 × missing_user: the user id is null or empty, or a word for nothing: "NULL" 5, "N/A" 2 ' +
      '("keep_null_words": true in schema.interaction takes them for ids) (row 1, 2, 3, 4, 5, …)',
  ]);
});

test("a reason that only a connector knows has a meaning too", () => {
  expect(["missing_user", "torn_page", "constructor"].map(isRejectReason)).toEqual([true, false, false]);
  for (const reason of ["torn_page", "constructor"]) expect(meaningOf(reason)).toBe("see the documentation");
});
