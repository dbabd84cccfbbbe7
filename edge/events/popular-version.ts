import type { Isolate } from "../isolate.ts";
import type { ReadAccess } from "../reading/artifact-reader.ts";
import type { WaitingModel } from "../versions/live-pointers.ts";
import type { LoadedVersion } from "../versions/load-version.ts";
import { type CustomerShards, callShards, eventsOrProblem } from "./call-shards.ts";
import { POPULAR_MAX } from "./popular-items.ts";

/** Limit on the counts that are read from all shards together. */
const COUNTS_MAX = 16_000;

type Sources = Pick<Isolate, "popular" | "eventShards"> & { readonly shards: CustomerShards };

/**
 * The stand-in for a model's first version: popular items by live counts. Throws Problem model_not_active before the first
 * positive event, events_unavailable.
 */
export async function popularVersion(
  model: WaitingModel,
  { popular, eventShards, shards }: Sources,
  access: ReadAccess,
): Promise<LoadedVersion> {
  const count = async (types: readonly string[]) => {
    const names = await eventShards.all(model.customer, access);
    const limit = Math.min(POPULAR_MAX, Math.ceil(COUNTS_MAX / names.length));
    return (await callShards(shards, names, access, (rpc) => rpc.popularItems(types, limit))).flat();
  };
  const detail = "Events cannot be counted right now, so nothing is ranked";
  const version = await eventsOrProblem(detail, () => popular.versionOf(model, count, access));
  if (version === undefined) throw model.notActive;
  return version;
}
