/** What the user of a rank call has done since the version was trained. */
import { type LiveEvent, withLiveEvents } from "../../shared/events/live-events.ts";
import type { UserId } from "../../shared/ids.ts";
import { Problem } from "../../shared/problem.ts";
import type { UserRecord } from "../../shared/snapshot.ts";
import type { Isolate } from "../isolate.ts";
import type { ReadAccess } from "../reading/artifact-reader.ts";
import { writeLog } from "../request-log.ts";
import type { LoadedVersion } from "../versions/load-version.ts";
import { type CustomerShards, callShardsOfUser, eventsOrProblem } from "./call-shards.ts";

type Sources = Pick<Isolate, "eventShards" | "erased" | "settings"> & {
  readonly shards: CustomerShards;
  readonly requestId: string;
};

/** Undefined if the version listens to no events; `unavailable` if the operator prefers a list without them. */
export type EventsOfUser = readonly LiveEvent[] | "unavailable" | undefined;

/**
 * The events of the user that the version has not learnt. Throws Problem events_unavailable, unless the operator prefers a list without
 * events.
 */
export async function liveEventsOf(
  userId: UserId,
  { manifest }: LoadedVersion,
  { shards, eventShards, erased, settings, requestId: request_id }: Sources,
  access: ReadAccess,
): Promise<EventsOfUser> {
  if (!manifest.events) return undefined;
  const { learnt } = manifest.events;
  const read = async () => {
    const found = await callShardsOfUser(userId, { shards, eventShards }, access, (rpc, shard) =>
      rpc.liveEvents(userId, learnt[shard] ?? 0),
    );
    return (await erased.isErased(shards.customer, userId, access)) ? [] : found.reverse().flat();
  };
  try {
    return await eventsOrProblem("What this user has done lately cannot be read right now, so nothing is ranked", read);
  } catch (error) {
    if (!settings.SERVE_WITHOUT_EVENTS || !(error instanceof Problem)) throw error;
    writeLog({ event: "served_without_events", level: "warning", request_id, error: String(error.cause) });
    return "unavailable";
  }
}

/** The user's record with live events, and the header that says how many of them it has. */
export function withEvents(
  { manifest, catalog }: LoadedVersion,
  record: UserRecord | undefined,
  live: EventsOfUser,
): { readonly record: UserRecord | undefined; readonly eventHeaders: Readonly<Record<string, string>> } {
  if (live === undefined) return { record, eventHeaders: {} };
  if (live === "unavailable") return { record, eventHeaders: { "x-events": live } };
  const merged = withLiveEvents(record, live, { meanings: manifest.events!.meanings, indexOf: catalog.indexOf });
  return { record: merged.record, eventHeaders: { "x-events": String(merged.used) } };
}
