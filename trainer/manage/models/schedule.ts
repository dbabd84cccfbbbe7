import { CronExpressionParser } from "cron-parser";

/** Counted from the model's creation, so that not every customer's models train at midnight. */
const PERIOD_SECONDS: Readonly<Record<string, number>> = { "@hourly": 3600, "@daily": 86_400, "@weekly": 7 * 86_400 };

/**
 * When a model trains next after `nowMs`, RFC 3339 UTC; null for `@once`. Cron lines have five fields and mean UTC.
 *
 * @throws ScheduleError when the schedule is none, or will never come.
 */
export function nextRunAt(schedule: string, createdAtMs: number, nowMs: number): string | null {
  if (schedule === "@once") return null;
  if (Object.hasOwn(PERIOD_SECONDS, schedule)) {
    const periodMs = PERIOD_SECONDS[schedule]! * 1000;
    const passed = Math.max(0, Math.floor((nowMs - createdAtMs) / periodMs));
    return new Date(createdAtMs + (passed + 1) * periodMs).toISOString();
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

/**
 * The next time after `nowMs` where it is before the one that a model has, as after a clock that was ahead; else undefined. What is
 * drawn anew each time has none.
 */
export function soonerRunAt(schedule: string, has: string | null, times: { createdAtMs: number; nowMs: number }) {
  if (has === null || DRAWN.test(schedule)) return undefined;
  const next = nextRunAt(schedule, times.createdAtMs, times.nowMs);
  return next !== null && Date.parse(next) < Date.parse(has) ? next : undefined;
}

/** A letter of its own: THU and MARCH have one too. */
const DRAWN = /(?<![A-Z])H/;

/**
 * Whether a schedule can be a model's from now on; a stored one is read as it is.
 *
 * @throws ScheduleError also for the parser's H, which is drawn anew each time: the run would come at no fixed time.
 */
export function checkSchedule(schedule: string): void {
  if (!schedule.startsWith("@") && DRAWN.test(schedule))
    throw new ScheduleError(
      schedule,
      "H stands for a random value; expected numbers, names of days or months, * , - /",
    );
  nextRunAt(schedule, 0, 0);
}

/** The schedule is none that we know. */
export class ScheduleError extends Error {
  override readonly name = "ScheduleError";

  constructor(schedule: string, reason: string, options?: ErrorOptions) {
    const known = ["@once", ...Object.keys(PERIOD_SECONDS)].join(", ");
    super(`must be ${known} or a cron line of five fields, found ${JSON.stringify(schedule)}: ${reason}`, options);
  }
}
