/** Which ids are one person's, and what the person has done lately. */
import type { Context } from "hono";
import type { LiveEvent } from "../../shared/events/live-events.ts";
import { type Merge, PERSON_IDS_MAX } from "../../shared/events/merges.ts";
import type { UserId } from "../../shared/ids.ts";
import type { EdgeEnv, Isolate } from "../isolate.ts";
import type { ReadAccess } from "../reading/artifact-reader.ts";
import { type CustomerShards, callShards, customerShards, idsByShard } from "./call-shards.ts";
import { LIVE_EVENTS_MAX, ShardError } from "./shard-rpc.ts";

/** A merge as one of its two shards has stored it. */
export type FoundMerge = Merge & { readonly shard: string; readonly seq: number };

export type Person = {
  /** The given id first. */
  readonly ids: readonly UserId[];
  readonly merges: readonly FoundMerge[];
  /** The events of all ids; of each id, the first stored first. */
  readonly live: readonly LiveEvent[];
};

export type PersonSources = { readonly shards: CustomerShards } & Pick<Isolate, "eventShards">;

export const personSources = (c: Context<EdgeEnv>): PersonSources => ({
  shards: customerShards(c),
  eventShards: c.get("isolate").eventShards,
});

/** For `afterSeq`: reads no events. */
export const NO_EVENTS = () => Number.MAX_SAFE_INTEGER;

/** Two calls at the same time may leave a longer chain than one that a merge makes. */
const ROUNDS_MAX = 8;
const generationOf = (shard: string) => Number.parseInt(shard, 10);

/**
 * Asks the shards of the user and then, while merges lead to further ids, those of these ids: one round for a user without merges, two for
 * the end of a chain, three for any other id. Throws ReadError, FormatError, ShardError.
 *
 * @param afterSeq The number in a shard after which events are read.
 */
export async function personOf(
  user: UserId,
  sources: PersonSources,
  access: ReadAccess,
  afterSeq: (shard: string) => number,
): Promise<Person> {
  const ids = new Set([user]);
  const merges: FoundMerge[] = [];
  const live: LiveEvent[] = [];
  let asked: readonly UserId[] = [user];
  for (let round = 0; asked.length > 0; round++) {
    // A circle of merges at the same time may exceed the limit a little.
    if (round === ROUNDS_MAX || ids.size > 2 * PERSON_IDS_MAX) throw new ShardError(`${user} has too many other ids`);
    const ofShards = await idsByShard(asked, sources, access);
    const names = [...ofShards.keys()].sort((a, b) => generationOf(a) - generationOf(b)); // older events first
    const answers = await callShards(sources.shards, names, access, (rpc, shard) =>
      rpc.liveEvents(ofShards.get(shard)!, afterSeq(shard)),
    );
    const found = new Set<UserId>();
    for (const [i, { events, merges: own }] of answers.entries()) {
      if (events === "too_many" || live.length + events.length > LIVE_EVENTS_MAX)
        throw new ShardError(`${user} and the ids merged with it have more than ${LIVE_EVENTS_MAX} recent events`);
      live.push(...events);
      for (const merge of own) {
        merges.push({ ...merge, shard: names[i]! });
        for (const id of [merge.from, merge.to]) if (!ids.has(id)) found.add(id);
      }
    }
    for (const id of found) ids.add(id);
    asked = [...found];
  }
  return { ids: [...ids], merges, live };
}
