import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bench, Figure } from "./bench.ts";
import { measuredInProcess } from "./measured-process.ts";

/** Result of the measured process. */
export type RecordsMeasured = {
  readonly users: number;
  readonly pairs: number;
  readonly sortSeconds: number;
  readonly packSeconds: number;
  readonly peakMb: number;
  readonly bytes: number;
  readonly pageBytesMax: number;
  /** Seen pairs that a record does not contain. */
  readonly missed: number;
  /** Unseen items checked, and those that a record wrongly contains. */
  readonly asked: number;
  readonly hidden: number;
};

const USERS = 1e7;
const MEMORY_MB = 1024; // the default of SHORTLIST_QUERY_MEMORY_MB

/**
 * Records of `--users` users with two interactions each, and of twenty with 50,000, built out of core: rows are sorted
 * by hash on disk, spooled and packed into page files. Then every record is checked for all seen items and one unseen
 * item. `--memory` is the staging database's, in MB.
 */
export const records: Bench = async ({ say, flags }) => {
  const users = Math.round(Number(flags.get("users") ?? USERS));
  if (!(users >= 1e3 && users <= 1e8))
    throw new Error(`--users must be between 1e3 and 1e8, not ${flags.get("users")}.`);
  const folder = await mkdtemp(join(tmpdir(), "bench-records-"));
  try {
    const args = [folder, String(users), String(flags.get("memory") ?? MEMORY_MB)];
    return figuresOf(await measuredInProcess<RecordsMeasured>("records-process.ts", args, (line) => say(`  ${line}`)));
  } finally {
    await rm(folder, { recursive: true });
  }
};

const figuresOf = (measured: RecordsMeasured): Figure[] => [
  { name: "records.users", value: measured.users, unit: "users" },
  { name: "records.pairs", value: measured.pairs, unit: "pairs" },
  { name: "records.seconds", value: measured.sortSeconds + measured.packSeconds, unit: "s" },
  { name: "records.sort.seconds", value: measured.sortSeconds, unit: "s" },
  { name: "records.pack.seconds", value: measured.packSeconds, unit: "s" },
  { name: "records.peak_mb", value: measured.peakMb, unit: "MB" },
  { name: "records.bytes_per_user", value: measured.bytes / measured.users, unit: "B" },
  { name: "records.page_bytes_max", value: measured.pageBytesMax, unit: "B" },
  { name: "records.missed_pairs", value: measured.missed, unit: "pairs" },
  { name: "records.hidden_per_1000", value: (1000 * measured.hidden) / measured.asked, unit: "items" },
];
