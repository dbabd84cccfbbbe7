/**
 * Where events are stored. An edge writes them to *shards*, which are Durable Objects. Each shard exports its events to files in the
 * bucket.
 *
 *     customers/{customer}/events/shards.json                     how many shards there are: EventShards
 *     customers/{customer}/events/learnt.json                     what all models have learnt: EventMarks
 *     customers/{customer}/events/erased.json                     up to which list of erased users the files were rewritten
 *     customers/{customer}/events/files/{shard}/{first}-{last}.ndjson.gz   StoredEvent lines with these sequence numbers, 15 digits each
 *     customers/{customer}/events/files/merges.ndjson.gz          merges of deleted files (events/merges.ts), in the form of their lines
 *
 * A shard numbers its events upwards. A *mark* is the last number, by shard, that is in some place: in the exported files, or in a version
 * of a model. What a model knows of a user is the record of its version, and all events of the user's shard above the version's mark.
 */
import * as z from "zod";
import { userHash } from "../hash.ts";
import type { UserId } from "../ids.ts";

export const SHARDS_DEFAULT = 4;
export const SHARDS_MAX = 256;

/** The name of a shard: `{generation}-{number}`. The generation counts the changes of the number of shards. */
const ShardName = z.string().regex(/^[0-9]{1,4}-[0-9]{1,3}$/);

/**
 * The last generation takes new events, from the time `since` on (RFC 3339). Events of the others are still read, until all models have
 * learnt them.
 */
export const EventShards = z.object({
  format: z.literal(1),
  generations: z
    .array(
      z.object({
        id: z.int().min(0).max(9999),
        shards: z.int().min(1).max(SHARDS_MAX),
        since: z.string().max(40).optional(),
      }),
    )
    .min(1)
    .max(4),
});
export type EventShards = z.infer<typeof EventShards>;

/** Sequence numbers by shard. A shard that is not named has 0. */
export const EventMarks = z.record(ShardName, z.int().nonnegative());
export type EventMarks = z.infer<typeof EventMarks>;

/** How many events these marks stand for. Events of a user in one call share a number and count once. */
export const eventCount = (marks: EventMarks): number => Object.values(marks).reduce((sum, mark) => sum + mark, 0);

const eventsPrefix = (customer: string) => `customers/${customer}/events/`;
export const eventShardsKey = (customer: string) => `${eventsPrefix(customer)}shards.json`;
export const learntMarksKey = (customer: string) => `${eventsPrefix(customer)}learnt.json`;
export const erasedFromEventsKey = (customer: string) => `${eventsPrefix(customer)}erased.json`;
export const eventFilesPrefix = (customer: string) => `${eventsPrefix(customer)}files/`;

export const oldMergesKey = (customer: string) => `${eventFilesPrefix(customer)}merges.ndjson.gz`;

const DIGITS = 15;
const padded = (seq: number) => String(seq).padStart(DIGITS, "0");

export type EventFile = { readonly shard: string; readonly first: number; readonly last: number };

export const eventFileKey = (customer: string, { shard, first, last }: EventFile) =>
  `${eventFilesPrefix(customer)}${shard}/${padded(first)}-${padded(last)}.ndjson.gz`;

/** The customer whose event file this is; undefined for the key of any other object. */
export const customerOfEventFile = (key: string): string | undefined =>
  /^customers\/([a-z0-9-]+)\/events\/files\//.exec(key)?.[1];

/** Undefined for the key of any other object. */
export function eventFileOf(customer: string, key: string): EventFile | undefined {
  const prefix = eventFilesPrefix(customer);
  const match =
    key.startsWith(prefix) &&
    /^([0-9]{1,4}-[0-9]{1,3})\/([0-9]{15})-([0-9]{15})\.ndjson\.gz$/.exec(key.slice(prefix.length));
  return match ? { shard: match[1]!, first: Number(match[2]), last: Number(match[3]) } : undefined;
}

/** All shards of a customer. */
export const allShards = ({ generations }: EventShards): string[] =>
  generations.flatMap(({ id, shards }) => Array.from({ length: shards }, (_, number) => `${id}-${number}`));

const NO_SALT = new Uint8Array(0);

/** The user's shard in each generation, the newest first. */
export async function shardsOf({ generations }: EventShards, user: UserId): Promise<string[]> {
  const { low } = await userHash(NO_SALT, user);
  return generations.map(({ id, shards }) => `${id}-${low % shards}`).reverse();
}
