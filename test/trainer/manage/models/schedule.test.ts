import { expect, test } from "vitest";
import { checkSchedule, nextRunAt, ScheduleError } from "../../../../trainer/manage/models/schedule.ts";

const CREATED = Date.parse("2026-01-01T10:20:30.000Z");
const check = (schedule: string, now: string, expected: string | null) =>
  expect(nextRunAt(schedule, CREATED, Date.parse(now))).toBe(expected);

test("@once has no next time", () => check("@once", "2026-01-01T10:20:30Z", null));

test("periods count from the creation", () => {
  check("@hourly", "2026-01-01T10:20:30Z", "2026-01-01T11:20:30.000Z");
  check("@daily", "2026-01-01T10:20:30Z", "2026-01-02T10:20:30.000Z");
  check("@weekly", "2026-01-01T10:20:30Z", "2026-01-08T10:20:30.000Z");
});

test("a time missed while the trainer was off is followed by one next time", () => {
  check("@hourly", "2026-03-05T00:00:00Z", "2026-03-05T00:20:30.000Z");
  check("@daily", "2026-01-02T10:20:30Z", "2026-01-03T10:20:30.000Z");
  check("@daily", "2026-01-01T09:00:00Z", "2026-01-02T10:20:30.000Z");
});

test("cron lines are in UTC", () => {
  check("30 4 * * *", "2026-01-01T10:20:30Z", "2026-01-02T04:30:00.000Z");
  check("0 0 1 * *", "2026-01-01T10:20:30Z", "2026-02-01T00:00:00.000Z");
  check("*/15 * * * MON", "2026-01-01T10:20:30Z", "2026-01-05T00:00:00.000Z");
});

test.each([
  ["@monthly", "1 fields"],
  ["@toString", "1 fields"],
  ["* * * * * *", "6 fields"],
  ["61 * * * *", "found"],
  ["0 0 30 2 *", "found"],
  ["", "1 fields"],
])("%j is refused, and the error lists the known schedules", (schedule, reason) => {
  const read = () => nextRunAt(schedule, CREATED, CREATED);
  expect(read).toThrow(ScheduleError);
  expect(read).toThrow("@once, @hourly, @daily, @weekly or a cron line of five fields");
  expect(read).toThrow(reason);
});

test.each(["H H * * *", "H/5 * * * *", "0 H(0-3) * * *", "0 0 * * H", "0 1,H * * *"])(
  "%j would come at random",
  (schedule) => {
    expect(() => checkSchedule(schedule, 3600)).toThrow(ScheduleError);
    expect(() => checkSchedule(schedule, 3600)).toThrow("H stands for a random value");
  },
);
test("a stored schedule with H still works", () =>
  expect(nextRunAt("H H * * *", CREATED, CREATED)).toMatch(/^2026-01-0[12]/));

test.each(["@hourly", "@once", "0 4 * * THU", "0 4 * * 1-5"])("%j is accepted", (schedule) =>
  expect(checkSchedule(schedule, 3600)).toBeUndefined(),
);

test("an invalid cron line is refused", () => expect(() => checkSchedule("61 * * * *", 3600)).toThrow(ScheduleError));

test.each([
  ["@hourly", 3601],
  ["*/30 * * * *", 3600],
  ["59 0,1,23 * * *", 3601],
  ["0 0 1,2 * *", 90_000],
  ["0 0 28,29 2 *", 90_000],
])("%j is refused if %i seconds must lie between two runs", (schedule, seconds) =>
  expect(() => checkSchedule(schedule, seconds)).toThrow("SHORTLIST_SCHEDULE_MINUTES"),
);
