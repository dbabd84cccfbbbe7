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
 * @throws ScheduleError for what `nextRunAt` refuses, and for H, with which a run would come at no fixed time.
 */
export function checkSchedule(schedule: string): void {
  if (!schedule.startsWith("@") && RANDOM_FIELD.test(schedule))
    throw new ScheduleError(
      schedule,
      "H stands for a random value; expected numbers, names of days or months, * , - /",
    );
  nextRunAt(schedule, 0, 0);
}

export class ScheduleError extends Error {
  override readonly name = "ScheduleError";

  constructor(schedule: string, reason: string, options?: ErrorOptions) {
    const known = ["@once", ...Object.keys(PERIOD_SECONDS)].join(", ");
    super(`must be ${known} or a cron line of five fields, found ${JSON.stringify(schedule)}: ${reason}`, options);
  }
}
