/** The users who saw a list of an experiment, and whether they reached its goal: in the shard that has their events. */

import type { ExposureCount } from "../../shared/experiment/counts.ts";
import type { Goal } from "../../shared/experiment/goal.ts";
import { activityLevel } from "../../shared/experiment/verdict.ts";
import type { UserId } from "../../shared/ids.ts";
import type { EventsOfUser, Exposure, ShownExperiment } from "./shard-rpc.ts";
import type { ShardTables } from "./shard-tables.ts";
import { isErased } from "./user-events.ts";

/** An experiment without new users for this time is forgotten. */
const HOUR_MS = 3_600_000;
const KEPT_MS = 90 * 24 * HOUR_MS;
const LATE_HOURS = 24;

/** Stores the user's first list of the experiment. Later ones change nothing. */
export function expose(
  tables: ShardTables,
  { salt, ...definition }: ShownExperiment,
  exposure: Exposure,
  nowMs: number,
): void {
  tables.query("INSERT OR IGNORE INTO experiments VALUES (?, ?)", salt, JSON.stringify(definition));
  const { user, arm, revision, at, reached, guarded } = exposure;
  if (isErased(tables, user, nowMs)) return;
  const activity = exposure.activity ?? activityLevel(tables.numberIn(EVENTS_BEFORE, user, at));
  tables.query(
    "INSERT OR IGNORE INTO exposures (salt, user, arm, revision, at, reached, guarded, activity) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    ...[salt, user, arm, revision, at, Number(reached), Number(guarded), activity],
  );
}

/** Events that had arrived before. A shard keeps every event for eight days at least. */
const EVENTS_BEFORE = "SELECT SUM(count) AS value FROM batches WHERE user = ? AND at <= ?";

/** Removes and returns the user's exposure, for the shard that the user has now. */
export function takeExposure(tables: ShardTables, salt: string, user: UserId): Exposure | null {
  const text = "SELECT arm, revision, at, reached, guarded, activity FROM exposures WHERE salt = ? AND user = ?";
  type Stored = { arm: string; revision: number; at: number; reached: number; guarded: number; activity: number };
  const [found] = tables.query<Stored>(text, salt, user);
  if (found === undefined) return null;
  tables.query("DELETE FROM exposures WHERE salt = ? AND user = ?", salt, user);
  return { ...found, user, reached: found.reached === 1, guarded: found.guarded === 1 };
}

/** @param stepMs How long the periods are by which users are counted, in milliseconds. */
export const countExposures = (tables: ShardTables, salt: string, stepMs: number): ExposureCount[] =>
  tables.query<ExposureCount>(
    `SELECT arm, revision, at - at % ? AS "from", activity, COUNT(*) AS exposed, SUM(reached) AS reached, SUM(guarded) AS guarded
     FROM exposures WHERE salt = ? GROUP BY 1, 2, 3, 4`,
    ...[stepMs, salt],
  );

/** Marks the users whose new events reach the goal of an experiment in time. An event may arrive late: the time that it names counts. */
export function noteGoals(tables: ShardTables, batch: readonly EventsOfUser[], nowMs: number): void {
  for (const { salt, goal, guard, countedUntilMs } of experimentsOf(tables)) {
    if (nowMs > countedUntilMs) continue;
    for (const { user, events } of batch) {
      for (const { type, created_at } of events) {
        if (type === goal.type) mark("reached", goal, created_at);
        if (guard && type === guard.type) mark("guarded", guard, created_at);
      }
      function mark(column: "reached" | "guarded", { within_hours }: Goal, seconds: number) {
        tables.query(
          `UPDATE exposures SET ${column} = 1
           WHERE salt = ? AND user = ? AND ${column} = 0 AND ? BETWEEN at / 1000 AND at / 1000 + ?`,
          ...[salt, user, seconds, within_hours * 3600],
        );
      }
    }
  }
}

/** An experiment that ends by itself is forgotten when its counts are not needed any more: see exposure-counts.ts. */
export function forgetOldExperiments(tables: ShardTables, nowMs: number): void {
  const lastOf = "SELECT MAX(at) AS value FROM exposures WHERE salt = ?";
  for (const { salt, endsMs } of experimentsOf(tables))
    if (endsMs === undefined && tables.numberIn(lastOf, salt) < nowMs - KEPT_MS) removeExposures(tables, salt);
}

export function removeExposures(tables: ShardTables, salt: string): void {
  tables.query("DELETE FROM exposures WHERE salt = ?", salt);
  tables.query("DELETE FROM experiments WHERE salt = ?", salt);
  tables.query("DELETE FROM state WHERE name = ?", `counts/${salt}`);
}

type StoredExperiment = ShownExperiment & {
  /** From then on, an event changes nothing: it would be more than a day late. */
  readonly countedUntilMs: number;
};

export const experimentsOf = (tables: ShardTables): StoredExperiment[] =>
  tables.query<{ salt: string; definition: string }>("SELECT * FROM experiments").map(({ salt, definition }) => {
    const { goal, guard, endsMs, stepMs } = JSON.parse(definition) as Omit<ShownExperiment, "salt">;
    const hours = Math.max(goal.within_hours, guard?.within_hours ?? 0) + LATE_HOURS;
    return {
      salt,
      goal,
      guard,
      endsMs,
      stepMs,
      countedUntilMs: endsMs === undefined ? Infinity : endsMs + hours * HOUR_MS,
    };
  });

/** Whether the trainer waits for counts of an experiment. */
export const hasEnding = (tables: ShardTables): boolean =>
  experimentsOf(tables).some(({ endsMs }) => endsMs !== undefined);
