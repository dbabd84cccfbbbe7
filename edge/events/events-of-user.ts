/** What the user of a rank call has done since the version was trained, also under other ids. */
import { withLiveEvents } from "../../shared/events/live-events.ts";
import { idsWithRecords } from "../../shared/events/merges.ts";
import type { UserId } from "../../shared/ids.ts";
import { Problem } from "../../shared/problem.ts";
import type { UserRecord } from "../../shared/snapshot.ts";
import type { Isolate } from "../isolate.ts";
import type { ReadAccess } from "../reading/artifact-reader.ts";
import { writeLog } from "../request-log.ts";
import type { LoadedVersion } from "../versions/load-version.ts";
import { eventsOrProblem } from "./call-shards.ts";
import { type Person, type PersonSources, personOf } from "./person.ts";

type Sources = Pick<Isolate, "erased" | "settings"> & PersonSources & { readonly requestId: string };

/** Undefined if the version listens to no events; `unavailable` if the operator prefers a list without them. */
export type EventsOfUser = Person | "unavailable" | undefined;

/**
 * The events of the user that the version has not learnt, and the user's other ids. Throws Problem events_unavailable, unless the operator
 * prefers a list without events.
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
    const person = await personOf(userId, { shards, eventShards }, access, (shard) => learnt[shard] ?? 0);
    // An erasure is of all ids of a person.
    return (await erased.isErased(shards.customer, userId, access)) ? NOBODY : person;
  };
  try {
    return await eventsOrProblem("What this user has done lately cannot be read right now, so nothing is ranked", read);
  } catch (error) {
    if (!settings.SERVE_WITHOUT_EVENTS || !(error instanceof Problem)) throw error;
    writeLog({ event: "served_without_events", level: "warning", request_id, error: String(error.cause) });
    return "unavailable";
  }
}

const NOBODY: Person = { ids: [], merges: [], live: [] };

/** The other ids of the user that may have a record in the version. */
export function otherRecordIds({ manifest }: LoadedVersion, userId: UserId, live: EventsOfUser): UserId[] {
  if (live === undefined || live === "unavailable") return [];
  const learnt = live.merges.filter(({ shard, seq }) => seq <= (manifest.events!.learnt[shard] ?? 0));
  return idsWithRecords(live.ids, learnt).filter((id) => id !== userId);
}

/** The user's record with live events, and the header that says how many of them it has. */
export function withEvents(
  { manifest, catalog }: LoadedVersion,
  record: UserRecord | undefined,
  live: EventsOfUser,
): { readonly record: UserRecord | undefined; readonly eventHeaders: Readonly<Record<string, string>> } {
  if (live === undefined) return { record, eventHeaders: {} };
  if (live === "unavailable") return { record, eventHeaders: { "x-events": live } };
  const merged = withLiveEvents(record, live.live, { meanings: manifest.events!.meanings, indexOf: catalog.indexOf });
  return { record: merged.record, eventHeaders: { "x-events": String(merged.used) } };
}
