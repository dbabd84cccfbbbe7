/** Which user a rank call is for: the record that the version has, and what the user has done since. */
import type { RankParameters } from "../../shared/api.ts";
import { forEachConcurrently } from "../../shared/concurrently.ts";
import { joinedRecord } from "../../shared/events/merges.ts";
import type { UserId } from "../../shared/ids.ts";
import { compileRequest } from "../../shared/rank.ts";
import type { UserRecord } from "../../shared/snapshot.ts";
import { liveEventsOf, otherRecordIds, withEvents } from "../events/events-of-user.ts";
import type { Isolate } from "../isolate.ts";
import { isUnreadable, type ReadAccess, unreadableAs } from "../reading/artifact-reader.ts";
import { writeLog } from "../request-log.ts";
import type { LoadedVersion } from "../versions/load-version.ts";
import { snapshotOf } from "../versions/snapshot-of-version.ts";
import { userRecordOf } from "../versions/user-records.ts";
import type { RankCall } from "./rank-call.ts";
import type { VersionOfCall } from "./version-of-call.ts";

type Sources = Pick<Isolate, "versions" | "erased" | "eventShards" | "settings">;
type Asking = { readonly loaded: LoadedVersion; readonly parameters: RankParameters } & Pick<
  VersionOfCall,
  "pageAhead"
>;
type Headers = Readonly<Record<string, string>>;
type UserOfCall = { readonly record: UserRecord | undefined; readonly userHeaders: Headers };

const RECORDS_AT_ONCE = 8;

const UNREADABLE_RECORD = unreadableAs(
  "user_record_unavailable",
  "What this user has seen cannot be read right now, so nothing is ranked",
);

/** The user's record with live events, and headers about both. Throws Problem user_record_unavailable, events_unavailable. */
export async function userOfCall(
  call: RankCall,
  isolate: Sources,
  { loaded, parameters, pageAhead }: Asking,
  access: ReadAccess,
): Promise<UserOfCall> {
  const { userId } = parameters;
  if (userId === undefined) return { record: undefined, userHeaders: {} };
  const [stored, live] = await Promise.all([
    storedRecord(userId, call, isolate, { loaded, parameters, pageAhead, access }),
    liveEventsOf(userId, loaded, { ...isolate, ...call }, access),
  ]);
  const found = [stored];
  const others = otherRecordIds(loaded, userId, live);
  await forEachConcurrently(others.entries(), RECORDS_AT_ONCE, async ([i, id]) => {
    found[i + 1] = await storedRecord(id, call, isolate, { loaded, parameters, access });
  });
  const { record, eventHeaders } = withEvents(loaded, joinedRecord(found.map((one) => one.record)), live);
  const headers = found.map(({ userHeaders }) => userHeaders);
  return { record, userHeaders: Object.assign({}, ...headers, eventHeaders) };
}

/** Throws Problem user_record_unavailable, unless the operator prefers a list without the record. */
async function storedRecord(
  userId: UserId,
  { customer, requestId: request_id }: RankCall,
  { versions, erased, settings }: Sources,
  { loaded, parameters, pageAhead, access }: Asking & { readonly access: ReadAccess },
): Promise<UserOfCall> {
  const isErased = (user: UserId) => erased.isErased(customer, user, access);
  const checkRequest = () => {
    const { snapshot, release } = snapshotOf(loaded);
    try {
      compileRequest({ ...parameters, nowSeconds: 0 }, snapshot);
    } finally {
      release();
    }
  };
  try {
    const recordAccess = { ...access, pages: versions.pages, isErased, beforeRead: checkRequest, ahead: pageAhead };
    return { record: await userRecordOf(loaded, userId, recordAccess), userHeaders: {} };
  } catch (error) {
    if (!settings.SERVE_UNFILTERED || !isUnreadable(error)) return UNREADABLE_RECORD(error);
    writeLog({ event: "served_unfiltered", level: "warning", request_id, error: String(error) });
    return { record: undefined, userHeaders: { "x-seen-filter": "unavailable" } };
  }
}
