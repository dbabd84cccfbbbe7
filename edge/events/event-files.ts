/** The files to which a shard exports its events. */
import { eventFileKey, eventFileOf, eventFilesPrefix } from "../../shared/events/event-store.ts";
import { MERGE_CHARACTERS, mergeLines } from "./shard-merges.ts";
import type { ShardPlace } from "./shard-rpc.ts";
import { eventsOfRow, type Row, type ShardTables } from "./shard-tables.ts";

/** A file has at most this many rows, and about this much text before compression. */
const FILE_ROWS_MAX = 10_000;
const FILE_CHARACTERS_MAX = 8 * 1024 * 1024;

/** The last number of the next file. */
export function nextFileEnd(tables: ShardTables): number {
  const { exported } = tables;
  let [end, characters] = [exported, 0];
  const text = `SELECT seq, length(events) AS size FROM batches WHERE seq > ?
    UNION ALL SELECT seq, ${MERGE_CHARACTERS} AS size FROM merges WHERE seq > ? ORDER BY seq LIMIT ?`;
  for (const { seq, size } of tables.query<{ seq: number; size: number }>(text, exported, exported, FILE_ROWS_MAX)) {
    characters += size;
    if (characters > FILE_CHARACTERS_MAX && end > exported) break;
    end = seq;
  }
  return end;
}

/** The bytes of a file: compressed lines of JSON, first the merges, then the events. */
export async function fileBytes(tables: ShardTables, first: number, last: number): Promise<ArrayBuffer> {
  const text = "SELECT seq, user, events FROM batches WHERE seq BETWEEN ? AND ? ORDER BY seq";
  const events = tables.query<Row>(text, first, last).flatMap(eventsOfRow);
  const lines = [...mergeLines(tables, first, last), ...events].map((line) => `${JSON.stringify(line)}\n`);
  return new Response(new Blob(lines).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer();
}

/**
 * The highest number in a shard's files: 0 without files. There may be half a million, too many to list in a call, so the last one is
 * searched for in steps of changing size. Names of files are in the order of their numbers.
 */
export async function lastInFiles(bucket: R2Bucket, { customer, shard }: ShardPlace): Promise<number> {
  const prefix = `${eventFilesPrefix(customer)}${shard}/`;
  const lastAfter = async (seq: number) => {
    const startAfter = eventFileKey(customer, { shard, first: seq, last: seq });
    const { objects } = await bucket.list({ prefix, startAfter, limit: 1 });
    return objects[0] && eventFileOf(customer, objects[0].key)?.last;
  };
  let last = (await lastAfter(0)) ?? 0;
  for (let step = last; step >= 1; ) {
    const found = await lastAfter(last + step);
    step = found === undefined ? Math.floor(step / 2) : step * 2;
    last = found ?? last;
  }
  return (await lastAfter(last)) ?? last; // a last file of one number
}
