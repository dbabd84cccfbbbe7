/**
 * A file with the histories of more users than memory holds, until they are packed into records. Users are in ascending
 * order of their hashes. The file is read from beginning to end. It lives for one run and is never published.
 *
 *     user   | high u32 | low u32 | bytes u32 | n varint | n × item varint | n × delta varint | m varint | m × gap varint |
 *            | v varint | v × code varint |
 *       items, deltas  the newest positive interactions, oldest first, and their times; the first counts from 0
 *       gaps           differences of ascending seen items, less one; the first counts from −1
 *       codes          codes of the user's attribute values
 */
import { open } from "node:fs/promises";
import { assert } from "../../../shared/assert.ts";
import { type ByteSource, bytesOf, createSink, putVarint, takeVarint } from "../../../shared/byte-sink.ts";
import type { Hash64 } from "../../../shared/hash.ts";
import { compareHashes, type RecordContent } from "../../../shared/user-records.ts";
import { hashCollision } from "./hash-order.ts";
import type { HashedUser } from "./user-histories.ts";

export type SpoolWriter = {
  /** Users have to come in ascending order of their hashes. Throws StageError `user_hash_collision` for equal ones. */
  add(hash: Hash64, content: RecordContent): Promise<void>;
  /** Completes the file. Returns the number of users. */
  end(): Promise<number>;
  /** Closes the file, whether it is complete or not. */
  close(): Promise<void>;
};

const HEAD_BYTES = 12;
const BUFFER_BYTES = 1 << 20;
const BATCH_USERS = 1024;

export async function createSpool(path: string): Promise<SpoolWriter> {
  const file = await open(path, "w");
  let parts: Uint8Array[] = [];
  let bytes = 0;
  let users = 0;
  let last: Hash64 | undefined;
  const flush = async () => {
    const whole = Buffer.concat(parts);
    parts = [];
    bytes = 0;
    for (let at = 0; at < whole.length; ) at += (await file.write(whole.subarray(at))).bytesWritten;
  };
  return {
    async add(hash, content) {
      const order = last === undefined ? -1 : compareHashes(last, hash);
      if (order === 0) throw hashCollision("fetching");
      assert(order < 0, "users have ascending hashes");
      last = hash;
      const payload = encode(content);
      const head = Buffer.alloc(HEAD_BYTES);
      head.writeUInt32LE(hash.high, 0);
      head.writeUInt32LE(hash.low, 4);
      head.writeUInt32LE(payload.length, 8);
      parts.push(head, payload);
      bytes += HEAD_BYTES + payload.length;
      users++;
      if (bytes >= BUFFER_BYTES) await flush();
    },
    async end() {
      await flush();
      return users;
    },
    close: () => file.close(),
  };
}

/** The hash that begins with 16 hex digits. */
export const hashOfHex = (hex: string): Hash64 => ({
  high: Number.parseInt(hex.slice(0, 8), 16),
  low: Number.parseInt(hex.slice(8, 16), 16),
});

/** All users of a spool in batches, in their order. */
export async function* readSpool(path: string): AsyncGenerator<readonly HashedUser[]> {
  const file = await open(path, "r");
  try {
    let rest = Buffer.alloc(0);
    for await (const chunk of file.createReadStream({ highWaterMark: BUFFER_BYTES, autoClose: false })) {
      const bytes = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
      const { batch, end } = takeUsers(bytes);
      rest = bytes.subarray(end);
      for (let from = 0; from < batch.length; from += BATCH_USERS) yield batch.slice(from, from + BATCH_USERS);
    }
    assert(rest.length === 0, "a spool ends with a complete user");
  } finally {
    await file.close();
  }
}

/** The complete users at the beginning of some bytes, and the position where they end. */
function takeUsers(bytes: Buffer): { readonly batch: HashedUser[]; readonly end: number } {
  const batch: HashedUser[] = [];
  let at = 0;
  while (at + HEAD_BYTES <= bytes.length) {
    const end = at + HEAD_BYTES + bytes.readUInt32LE(at + 8);
    if (end > bytes.length) break;
    const hash = { high: bytes.readUInt32LE(at), low: bytes.readUInt32LE(at + 4) };
    batch.push({ hash, content: decode({ bytes: bytes.subarray(at + HEAD_BYTES, end), at: 0 }) });
    at = end;
  }
  return { batch, end: at };
}

function encode({ items, times, seen, values = [] }: RecordContent): Uint8Array {
  const sink = createSink();
  putVarint(sink, items.length);
  for (let i = 0; i < items.length; i++) putVarint(sink, items[i]!);
  for (let i = 0; i < items.length; i++) putVarint(sink, times[i]! - (i === 0 ? 0 : times[i - 1]!));
  putVarint(sink, seen.length);
  for (let i = 0; i < seen.length; i++) putVarint(sink, seen[i]! - (i === 0 ? -1 : seen[i - 1]!) - 1);
  putVarint(sink, values.length);
  for (let i = 0; i < values.length; i++) putVarint(sink, values[i]!);
  return bytesOf(sink);
}

function decode(source: ByteSource): RecordContent {
  const items = Array.from({ length: takeVarint(source) }, () => takeVarint(source));
  const times = summed(items.length, 0, () => takeVarint(source));
  const seen = summed(takeVarint(source), -1, () => takeVarint(source) + 1);
  const values = Array.from({ length: takeVarint(source) }, () => takeVarint(source));
  return { items, times, seen, ...(values.length > 0 && { values }) };
}

function summed(count: number, start: number, next: () => number): number[] {
  let sum = start;
  return Array.from({ length: count }, () => {
    sum += next();
    return sum;
  });
}
