/** The calls that a Worker makes to a shard, and how it makes them. */

import type { StoredEvent } from "../../shared/events/event.ts";
import type { LiveEvent } from "../../shared/events/live-events.ts";
import type { Merge } from "../../shared/events/merges.ts";
import type { ExposureCount } from "../../shared/experiment/counts.ts";
import type { RunningExperiment } from "../../shared/experiment/running.ts";
import type { ItemId, UserId } from "../../shared/ids.ts";
import type { Choices } from "../../shared/recent-choices.ts";
import type { CallMinute, Counts } from "../live/counts.ts";
import { callObject, type ObjectCall, type ObjectNamespace } from "../reading/call-object.ts";

/** An event before its shard has numbered it. */
export type NewEvent = Omit<StoredEvent, "user_id" | "seq">;
export type EventsOfUser = { readonly user: UserId; readonly events: readonly NewEvent[] };

/** Names a shard, and the place of its files in the bucket. */
export type ShardPlace = { readonly customer: string; readonly shard: string };

/** The numbers of events that were accepted and that were stored before; or, if nothing was stored, the users who have too many. */
export type Appended =
  | { readonly accepted: number; readonly duplicates: number }
  | { readonly full: readonly UserId[] };

/** A merge with its number in the shard. */
export type StoredMerge = Merge & { readonly seq: number };

/** What users of a shard have done lately, and with whom they are one person. */
export type LiveOfUsers = {
  readonly events: readonly LiveEvent[] | "too_many";
  readonly merges: readonly StoredMerge[];
};

/** Limit on the live events of a person that a call reads. */
export const LIVE_EVENTS_MAX = 20_000;

/** How many users have had an event with the item. */
export type ItemCount = { readonly item: ItemId; readonly users: number };

/** How many users chose items in the last 48 hours and in the 28 days before: some items, and the sums of all. */
export type ShardChoices = {
  readonly totals: Choices;
  readonly items: readonly (Choices & { readonly item: ItemId })[];
};

/** What a shard has stored lately. */
export type LiveCounts = {
  readonly minutes: readonly { readonly minute: number; readonly events: Readonly<Counts> }[];
  /** Events that arrived until this time may be missing in the counts. */
  readonly uncountedMs: number;
  /** The newest events, the last one first, with the time of their arrival. */
  readonly newest: readonly (StoredEvent & { readonly at: number })[];
};

/** An experiment whose lists users see. */
export type ShownExperiment = Pick<RunningExperiment, "salt" | "goal" | "guard"> & {
  /**
   * When it ends by itself, in epoch milliseconds: the trainer decides what follows, so the shard writes its counts into the bucket.
   * Absent: the experiment runs until somebody ends it.
   */
  readonly endsMs?: number | undefined;
  /** How long the periods of those counts are, in milliseconds. */
  readonly stepMs?: number | undefined;
};

/** The first list of an experiment that a user saw, in epoch milliseconds, and whether the user reached the goal and the guard since. */
export type Exposure = {
  readonly user: UserId;
  readonly arm: string;
  readonly revision: number;
  readonly at: number;
  readonly reached: boolean;
  readonly guarded: boolean;
  /** How active the user was before. Absent: to be counted by the shard that stores the exposure. */
  readonly activity?: number;
};

export type ShardRpc = {
  /** Stores all events, or none. */
  append(place: ShardPlace, batch: readonly EventsOfUser[]): Promise<Appended>;
  /** For each user, returns the ids of the given events that the shard already stores. */
  knownIds(batch: readonly EventsOfUser[]): Promise<string[][]>;
  /** The users' events with higher numbers, the first stored first, and all their merges. */
  liveEvents(users: readonly UserId[], afterSeq: number): Promise<LiveOfUsers>;
  /** The users' newest events, the newest first. */
  eventsOf(users: readonly UserId[], limit: number): Promise<StoredEvent[]>;
  /** Stores merges, in the shards of both their users. Repeating it changes nothing. */
  merge(place: ShardPlace, merges: readonly Merge[]): Promise<void>;
  /** The items with the most users among the newest events of these types, counted within the last second. */
  popularItems(types: readonly string[], limit: number): Promise<ItemCount[]>;
  /** The choices by events of these types with higher numbers, for the items with the most recent ones. */
  choices(types: readonly string[], afterSeq: number, limit: number): Promise<ShardChoices>;
  /** Removes the users' events, and drops those that arrive within the next hour. Then their merges are removed too. */
  erase(users: readonly UserId[]): Promise<void>;
  /** Stores a user's first list of an experiment. Repeating it changes nothing. */
  expose(place: ShardPlace, experiment: ShownExperiment, exposure: Exposure): Promise<void>;
  /** Removes and returns the user's exposure, for the shard that the user has now. */
  takeExposure(salt: string, user: UserId): Promise<Exposure | null>;
  /** Counts the users of an experiment by periods of `stepMs` milliseconds. */
  exposures(salt: string, stepMs: number): Promise<ExposureCount[]>;
  /** The shard's events from a minute on. */
  liveCounts(fromMinute: number): Promise<LiveCounts>;
  /** When the newest stored event arrived, in epoch milliseconds; 0 without one. */
  newestAt(): Promise<number>;
  /** Adds the calls that an isolate has counted. */
  addCalls(minutes: readonly CallMinute[]): Promise<void>;
  /** The calls of all isolates from a minute on. */
  callsFrom(minute: number): Promise<CallMinute[]>;
};

/** The binding EVENTS. */
export type ShardNamespace = ObjectNamespace<ShardRpc>;

/** A shard did not answer in time. */
export class ShardError extends Error {
  override readonly name = "ShardError";
}

/** Calls a shard. Throws ShardError. */
export const callShard = <T>(
  namespace: ShardNamespace,
  { customer, shard }: ShardPlace,
  call: ObjectCall<ShardRpc, T>,
): Promise<T> =>
  callObject(namespace, { name: `${customer}/${shard}`, what: `the shard ${shard}`, Failure: ShardError }, call);
