/** A shard for many users compared with an object for each user, and what an event costs. */
import type { EventsOfUser } from "../../edge/events/shard-rpc.ts";
import { eventFilesPrefix } from "../../shared/events/event-store.ts";
import type { ItemId, UserId } from "../../shared/ids.ts";
import { type BenchContext, compared, type Figure, quantile, timesMs } from "./bench.ts";
import type { TimedEdge } from "./edge-scale-serving.ts";
import { PRICES } from "./prices.ts";

const USERS = 300;
/** Each user sends a few batches. */
const BATCHES = 3;

type Rows = { readonly written: number; readonly read: number };
type Design = { readonly name: string; readonly objectOf: (user: number) => string };

/** Users send one event or ten at a time, to a shard or to objects of their own. */
export async function compareObjects(edge: TimedEdge, { say }: BenchContext): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const size of [1, 10]) {
    const shard = await measure(edge, { name: `shard-${size}`, objectOf: () => "0-0" }, size);
    const own = await measure(edge, { name: `own-${size}`, objectOf: (user) => `0-${user}` }, size);
    const name = `events.batches_of_${size}`;
    const { perMillionRequests, perMillionObjectCalls, perMillionRowsWritten, perMillionRowsRead } = PRICES.platform;
    const dollars = ({ written, read }: Rows) =>
      (perMillionRequests + perMillionObjectCalls) / size + written * perMillionRowsWritten + read * perMillionRowsRead;
    say(
      `  ${name}: ${shard.written.toFixed(2)} rows an event in a shard, ${own.written.toFixed(2)} in an object for each user`,
    );
    figures.push(
      compared(`${name}.rows_written_per_event`, "rows", shard.written, own.written),
      compared(`${name}.dollars_per_million_events`, "$", dollars(shard), dollars(own)),
      compared(`${name}.stored_bytes_per_user`, "bytes", shard.bytes, own.bytes),
      compared(`${name}.files_per_export`, "files", shard.files, own.files),
      compared(`${name}.append_p50`, "ms", shard.appendMs, own.appendMs),
    );
  }
  return figures;
}

/** Rows by event, bytes by user, and the files of one export. */
async function measure(edge: TimedEdge, { name: customer, objectOf }: Design, size: number) {
  const rowsNow = async () => (await (await fetch(`${edge.workerUrl}/test/rows`)).json()) as Rows;
  const before = await rowsNow();
  const append = async (i: number) => {
    const user = i % USERS;
    const events = Array.from({ length: size }, (_, n) => ({
      event_id: `${i}-${n}-0123456789abcdef0123456789`,
      item_id: `item-${n}` as ItemId,
      type: "view",
      created_at: 1_790_000_000,
      value: null,
      rank_id: null,
    }));
    const batch: EventsOfUser[] = [{ user: `user-${user}` as UserId, events }];
    const body = { place: { customer, shard: objectOf(user) }, batch };
    const answer = await edge.http.call(`/test/append/${customer}/${objectOf(user)}`, { body });
    if (answer.status !== 200) throw new Error(answer.text);
  };
  const times = await timesMs(USERS * BATCHES, append);
  let bytes = 0;
  for (const object of new Set(Array.from({ length: USERS }, (_, user) => objectOf(user))))
    bytes += await edge.alarm(`${customer}/${object}`);
  const after = await rowsNow();
  let files = 0;
  for await (const _ of edge.store.list(eventFilesPrefix(customer))) files++;
  const events = USERS * BATCHES * size;
  return {
    written: (after.written - before.written) / events,
    read: (after.read - before.read) / events,
    bytes: bytes / USERS,
    files,
    appendMs: quantile(times, 0.5),
  };
}
