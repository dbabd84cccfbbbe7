/** Which version a rank call uses. */

import type { RankParameters } from "../../shared/api.ts";
import { FormatError } from "../../shared/assert.ts";
import type { ExtensionOfVersion } from "../../shared/items/extension-file.ts";
import { Problem } from "../../shared/problem.ts";
import { popularVersion } from "../events/popular-version.ts";
import type { Isolate } from "../isolate.ts";
import { writeLog } from "../request-log.ts";
import type { LiveVersion, WaitingModel } from "../versions/live-pointers.ts";
import type { LoadedVersion, UserPlaces } from "../versions/load-version.ts";
import { type PageAhead, readPageAhead } from "../versions/user-records.ts";
import type { VersionLease } from "../versions/version-memory.ts";
import { type Choice, choiceOf, targetOf } from "./arm-of-call.ts";
import type { RankAccess, RankCall } from "./rank-call.ts";

type Sources = Pick<Isolate, "pointers" | "changes" | "erased" | "versions" | "reader" | "popular" | "eventShards">;

export type VersionOfCall = VersionLease & {
  readonly choice: Choice;
  /** The scenario of calls that name none. */
  readonly defaultScenario: string | undefined;
  /** How a version scores new items. It need not be the leased one. */
  readonly extension: ExtensionOfVersion | undefined;
  /** The user's page, if this call has loaded the version. */
  readonly pageAhead?: Promise<PageAhead | undefined> | undefined;
};

const NO_CHOICE: Choice = { parts: [] };

/**
 * Leases the version of the call's arm, else the live version or, before the first one, its stand-in of popular items,
 * which knows no similar items.
 * Throws Problem model_not_found, model_not_active, artifact_unavailable, events_unavailable.
 */
export async function leaseVersion(
  call: RankCall,
  isolate: Sources,
  sent: RankParameters,
  access: RankAccess,
): Promise<VersionOfCall> {
  const { userId, similarTo } = sent;
  // Both are read together with the pointer, but applied after the version is there, since it may take seconds to load.
  isolate.changes.prefetch(call, access);
  if (userId !== undefined) isolate.erased.prefetch(call.customer, access);
  const target = await liveVersion(call, isolate, access);
  if (target.live !== null) {
    const { versions, reader } = isolate; // a load has a deadline of its own, since other calls wait for it too
    const choice = choiceOf(target, sent, access.startedMs);
    const wanted = targetOf(target, choice);
    let pageAhead: VersionOfCall["pageAhead"];
    const onUsers = (users: UserPlaces) => {
      if (userId !== undefined) pageAhead = readPageAhead(users, userId, access);
    };
    const lease = await versions.lease(wanted, { ...access, reader, log: writeLog, onUsers }, access.untilMs);
    const isWanted = lease.loaded.target.live.version === wanted.live.version; // or another one, while this one is loaded
    return { ...lease, choice: isWanted ? choice : NO_CHOICE, pageAhead, ...defaultsOf(target) };
  }
  if (similarTo !== undefined) throw target.notActive;
  const loaded = await popularVersion(target, { ...isolate, shards: call.shards }, access);
  return { loaded, release: () => {}, choice: NO_CHOICE, defaultScenario: undefined, extension: undefined };
}

const defaultsOf = ({ defaultScenario, extension }: LiveVersion) => ({ defaultScenario, extension });

function liveVersion(
  { ahead, customer, modelName }: RankCall,
  { pointers }: Pick<Isolate, "pointers">,
  access: RankAccess,
): Promise<LiveVersion | WaitingModel> {
  if (ahead?.customer === customer && ahead.modelName === modelName) return ahead.target;
  return pointers.liveVersion(customer, modelName, access);
}

/** The problem of a call for a version whose files are wrong, although they were checked; other errors stay as they are. */
export function unlessDamaged(error: unknown, { target }: LoadedVersion): unknown {
  if (!(error instanceof FormatError)) return error;
  const detail = `The version ${JSON.stringify(target.live.version)} cannot rank. Try again.`;
  return new Problem("artifact_unavailable", detail, { cause: error, retryAfterSeconds: 2 });
}
