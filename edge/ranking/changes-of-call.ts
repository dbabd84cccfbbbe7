import type { Isolate } from "../isolate.ts";
import { isUnreadable, type ReadAccess, unreadableAs } from "../reading/artifact-reader.ts";
import { writeLog } from "../request-log.ts";
import type { LoadedVersion } from "../versions/load-version.ts";
import type { RankCall } from "./rank-call.ts";
import type { VersionOfCall } from "./version-of-call.ts";

const UNREADABLE_CHANGES = unreadableAs(
  "artifact_unavailable",
  "Which items are hidden cannot be read right now, so nothing is ranked",
);

type Changed = { readonly loaded: LoadedVersion; readonly changeHeaders: Readonly<Record<string, string>> };

/** The version with the changes of its catalog. Throws Problem artifact_unavailable, unless the operator prefers older changes. */
export async function withChanges(
  { requestId: request_id }: Pick<RankCall, "requestId">,
  { changes, settings }: Pick<Isolate, "changes" | "settings">,
  { loaded, extension }: Pick<VersionOfCall, "loaded" | "extension">,
  access: ReadAccess,
): Promise<Changed> {
  try {
    return { loaded: await changes.applied(loaded, { ...access, log: writeLog }, extension), changeHeaders: {} };
  } catch (error) {
    if (!settings.SERVE_UNFILTERED || !isUnreadable(error)) return UNREADABLE_CHANGES(error);
    writeLog({ event: "served_without_changes", level: "warning", request_id, error: String(error) });
    return { loaded: changes.lastKnown(loaded), changeHeaders: { "x-catalog-changes": "unavailable" } };
  }
}
