import { CronExpressionParser } from "cron-parser";

/** Periods count from the model's creation, so that the models of all customers do not train at midnight together. */
const PERIOD_SECONDS: Readonly<Record<string, number>> = { "@hourly": 3600, "@daily": 86_400, "@weekly": 7 * 86_400 };

/**
 * The first time after `nowMs` at which a model trains, RFC 3339 UTC; null for `@once`. Cron lines have five fields, in UTC.
 *
 * @throws ScheduleError for an invalid schedule, or one that never comes.
 */
export function nextRunAt(schedule: string, createdAtMs: number, nowMs: number): string | null {
  if (schedule === "@once") return null;
  if (Object.hasOwn(PERIOD_SECONDS, schedule)) {
    const periodMs = PERIOD_SECONDS[schedule]! * 1000;
    const completed = Math.max(0, Math.floor((nowMs - createdAtMs) / periodMs));
    return new Date(createdAtMs + (completed + 1) * periodMs).toISOString();
  }
  const fields = schedule.trim().split(/\s+/);
  if (fields.length !== 5) throw new ScheduleError(schedule, `it has ${fields.length} fields`);
  try {
    const options = { currentDate: new Date(nowMs), tz: "UTC" };
    return CronExpressionParser.parse(fields.join(" "), options).next().toDate().toISOString();
  } catch (cause) {
    throw new ScheduleError(schedule, cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** The parser's H, a random value, at the beginning of a word: THU and MARCH have an H too. */
const RANDOM_FIELD = /(?<![A-Z])H/;

/**
 * Checks the schedule of a new or changed model. Stored schedules are not checked again.
 *
 * @throws ScheduleError for what `nextRunAt` refuses, for H, with which a run would come at no fixed time, and for runs that
 * follow each other in less than `secondsMin`.
 */
export function checkSchedule(schedule: string, secondsMin: number): void {
  if (!schedule.startsWith("@") && RANDOM_FIELD.test(schedule))
    throw new ScheduleError(
      schedule,
      "H stands for a random value; expected numbers, names of days or months, * , - /",
    );
  let lastMs = Number.NEGATIVE_INFINITY;
  for (let i = 0, atMs = LEAP_YEAR[0]!; i < RUNS_CHECKED && atMs < LEAP_YEAR[1]!; i++) {
    const next = nextRunAt(schedule, 0, atMs);
    if (next === null) return;
    atMs = Date.parse(next);
    if (atMs - lastMs < secondsMin * 1000) {
      const rule = `${secondsMin / 60} minutes must lie between runs (SHORTLIST_SCHEDULE_MINUTES, set by the operator)`;
      throw new ScheduleError(schedule, rule);
    }
    lastMs = atMs;
  }
}

/** Runs of a cron line that show how close together they can come. A line of the densest kind, * * * * *, has 60 an hour. */
const RUNS_CHECKED = 100;
/** A year with all the dates that a cron line can name. */
const LEAP_YEAR = [Date.UTC(2028, 0, 1), Date.UTC(2029, 0, 1)];

export class ScheduleError extends Error {
  override readonly name = "ScheduleError";

  constructor(schedule: string, reason: string, options?: ErrorOptions) {
    const known = ["@once", ...Object.keys(PERIOD_SECONDS)].join(", ");
    super(`must be ${known} or a cron line of five fields, found ${JSON.stringify(schedule)}: ${reason}`, options);
  }
}
