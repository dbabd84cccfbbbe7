import { ATTRIBUTED_MAX, type VersionAttribution } from "../../shared/evaluation-report.ts";
import { wilsonInterval } from "../choose/evaluate/wilson.ts";
import { countLists } from "../read/connectors/events/count-lists.ts";
import type { FetchedEvents } from "../read/connectors/events/fetch-events.ts";
import { storedVersions } from "../store/versions.ts";
import type { Run } from "./run-steps.ts";

/** What the lists of the model's stored versions led to; undefined when no list is known to have been shown. */
export async function attribution(
  { deps, model }: Run,
  events: FetchedEvents | undefined,
): Promise<VersionAttribution[] | undefined> {
  if (events === undefined) return undefined;
  const versions = (await storedVersions(deps.store, model)).map(({ version }) => version).slice(-ATTRIBUTED_MAX);
  const options = { settings: deps.connect.settings, signal: deps.signal };
  const counts = await countLists(events, versions, options).catch((error: unknown) => {
    deps.signal.throwIfAborted();
    deps.onCleanupError?.(error); // a report without attribution is no reason to keep an older version live
    return [];
  });
  if (counts.length === 0) return undefined;
  return counts.map(({ version, lists, led }) => {
    const shares = [...led].map(([type, count]) => [type, { lists: count, ...wilsonInterval(count, lists) }]);
    return { version, lists, events: Object.fromEntries(shares) };
  });
}
