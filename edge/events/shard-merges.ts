/** Merges of users in the tables of a shard. Each is in the shards of both its users, and stays for good. */
import { type Merge, mergeLine } from "../../shared/events/merges.ts";
import type { UserId } from "../../shared/ids.ts";
import type { StoredMerge } from "./shard-rpc.ts";
import type { ShardTables } from "./shard-tables.ts";
import { isErased } from "./user-events.ts";

type MergeRow = { readonly source: UserId; readonly target: UserId; readonly seq: number; readonly at: number };

/** The size of a merge in a file, roughly. */
export const MERGE_CHARACTERS = 200;
const COLUMNS = "SELECT source, target, seq, at FROM merges";

/** Stores the merges that are not stored yet. Drops those of erased users. */
export function addMerges(tables: ShardTables, merges: readonly Merge[], nowMs: number): void {
  let seq = tables.lastSeq;
  for (const { from, to } of merges) {
    if (isErased(tables, from, nowMs) || isErased(tables, to, nowMs)) continue;
    const stored = "SELECT COUNT(*) AS value FROM merges WHERE source = ? AND target = ?";
    if (tables.numberIn(stored, from, to) === 0)
      tables.query("INSERT INTO merges VALUES (?, ?, ?, ?)", from, to, ++seq, nowMs);
  }
}

/** All merges from and into these users. */
export function mergesOf(tables: ShardTables, users: readonly UserId[]): StoredMerge[] {
  const list = JSON.stringify(users);
  const among = "IN (SELECT value FROM json_each(?))";
  const rows = tables.query<MergeRow>(
    `${COLUMNS} WHERE source ${among} UNION ${COLUMNS} WHERE target ${among}`,
    list,
    list,
  );
  return rows.map(({ source, target, seq }) => ({ from: source, to: target, seq }));
}

/** Some merges with higher numbers, in the order of their numbers. */
export const mergesAfter = (tables: ShardTables, seq: number, limit: number): StoredMerge[] =>
  tables
    .query<MergeRow>(`${COLUMNS} WHERE seq > ? ORDER BY seq LIMIT ?`, seq, limit)
    .map(({ source, target, seq }) => ({ from: source, to: target, seq }));

/** The lines of a file. Merges of users who are being erased are left out. */
export function mergeLines(tables: ShardTables, first: number, last: number): object[] {
  const isKept = "source NOT IN (SELECT user FROM erased) AND target NOT IN (SELECT user FROM erased)";
  return tables
    .query<MergeRow>(`${COLUMNS} WHERE seq BETWEEN ? AND ? AND ${isKept} ORDER BY seq`, first, last)
    .map(({ source, target, seq, at }) => mergeLine({ from: source, to: target }, { seq, at }));
}

/** Forgets the merges of users whose erasure has ended. Until then, a repeated erasure finds all ids of the person by them. */
export function forgetErasedMerges(tables: ShardTables, nowMs: number): void {
  const ended = "(SELECT user FROM erased WHERE until <= ?)";
  tables.query(`DELETE FROM merges WHERE source IN ${ended} OR target IN ${ended}`, nowMs, nowMs);
}
