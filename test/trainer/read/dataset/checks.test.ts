import { expect, test } from "vitest";
import {
  checkInteractionsUsable,
  checkRows,
  type RowReport,
  warningsOf,
} from "../../../../trainer/read/dataset/checks.ts";
import type { Interactions } from "../../../../trainer/read/dataset/dataset.ts";

const label = { type: "Binary", name: "liked" } as const;
const report = (given: Partial<RowReport>): RowReport => ({
  rows: 100,
  rejected: {},
  rejectedFractionMax: 0.1,
  label,
  ...given,
});
const rejected = (count: number, reason = "missing_user") => ({ [reason]: { count, firstRows: [1, 2] } });

const interactions = (users: number, items: readonly number[], positive: readonly number[]): Interactions => ({
  userCount: users,
  itemCount: 9,
  userStart: new Uint32Array(users + 1).fill(items.length, 1),
  items: Int32Array.from(items),
  times: Uint32Array.from(items, (_, i) => 1_700_000_000 + i),
  positive: Uint8Array.from(positive),
  ratings: null,
});

test.each<[Partial<RowReport>, string | null]>([
  [{}, null],
  [{ rows: 0 }, "no_rows"],
  [{ rejected: rejected(10) }, null], // the fraction itself is still allowed
  [{ rejected: rejected(11) }, "too_many_rejected_rows"],
  [{ rejected: { ...rejected(6), ...rejected(5, "future_time") } }, "too_many_rejected_rows"],
  [{ rejected: rejected(100, "future_time") }, "all_times_in_future"],
  [{ rejected: rejected(100, "future_time"), rejectedFractionMax: 1 }, "all_times_in_future"],
  [{ rejected: rejected(100), rejectedFractionMax: 1 }, "too_many_rejected_rows"], // nothing would be left
  [{ rejected: rejected(99), rejectedFractionMax: 1 }, null],
])("rows %# → %s", (given, code) => {
  const check = () => checkRows(report(given));
  if (code === null) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ stage: "checking", code }));
});

test.each<[Interactions, string | null]>([
  [interactions(2, [0, 1], [1, 0]), null],
  [interactions(2, [3, 3], [1, 1]), "too_few_items"],
  [interactions(2, [3], [1]), "too_few_items"],
  [interactions(1, [0, 1], [1, 1]), null],
  [interactions(2, [0, 1], [0, 0]), "all_labels_negative"],
])("interactions %# → %s", (given, code) => {
  const check = () => checkInteractionsUsable(given, label);
  if (code === null) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ stage: "checking", code }));
});

test("ratings that are all too low are refused with the name of the bound", () =>
  expect(() => checkInteractionsUsable(interactions(2, [0, 1], [0, 0]), { type: "Rating", name: "stars" })).toThrow(
    expect.objectContaining({ code: "no_positives", message: expect.stringContaining("positive_from") }),
  ));

test("weights that are all 0 are refused", () =>
  expect(() => checkInteractionsUsable(interactions(2, [0, 1], [0, 0]), { type: "Weight", name: "minutes" })).toThrow(
    expect.objectContaining({ code: "no_positives", message: expect.stringContaining("above 0") }),
  ));

test("the message has counts, the allowed fraction, reasons and rows", () =>
  expect(() => checkRows(report({ rejected: rejected(50) }))).toThrow(
    "50 of 100 rows cannot be used, more than the 10 % allowed: 50 × missing_user: the user id is null or empty (row 1, 2, …)",
  ));

const none = { duplicates: 0, sessions: undefined, nowSeconds: 2 ** 32 };

test("warnings: few interactions, one time for all, times before 1990, every rating positive", () => {
  const odd = { ...interactions(2, [0, 1], [1, 1]), times: Uint32Array.of(20_240_131, 20_240_131) };
  const rating = { type: "Rating", name: "stars" } as const;
  const warnings = warningsOf(odd, report({ label: rating, rejected: rejected(3) }), none);
  for (const text of ["3 × missing_user", "only 2 interactions", "same time", "before 1990", "Every rating"])
    expect(warnings.join("\n")).toContain(text);
  const usual = interactions(
    2,
    Array.from({ length: 1000 }, (_, i) => i % 9),
    new Array(1000).fill(1),
  );
  expect(warningsOf(usual, report({}), none)).toEqual([]);
});

test("rows of the future cause a warning about their zone, and a clock that is a little behind does not", () => {
  const newest = 1_700_000_000;
  const data = { ...interactions(2, [0, 1], [1, 0]), times: Uint32Array.of(newest, newest - 60) };
  const warningsAt = (nowSeconds: number) => warningsOf(data, report({}), { ...none, nowSeconds }).join();
  expect(warningsAt(newest - 9 * 3600)).toContain("9.0 hours in the future: times without a zone are read as UTC");
  expect(warningsAt(newest - 600)).not.toContain("future");
});

test("a warning where no session has two interactions", () => {
  const warningsFor = (sessions: number) =>
    warningsOf(interactions(2, [0, 1], [1, 0]), report({}), { ...none, sessions }).join();
  expect(warningsFor(2)).toContain("No session has two interactions");
  expect(warningsFor(1)).not.toContain("No session");
});

test("interactions of a single user cause a warning", () => {
  const warningsFor = (users: number) => warningsOf(interactions(users, [0, 1], [1, 0]), report({}), none).join();
  expect(warningsFor(1)).toContain("all of one user");
  expect(warningsFor(2)).not.toContain("all of one user");
});
