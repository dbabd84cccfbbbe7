/**
 * The tables of a shard. A row of `batches` holds the events of one user that arrived together, since each row written costs money.
 * Rows are numbered upwards by `seq`, together with those of `merges`. Events of a compacted row have numbers of their own, and the row has
 * the highest of them.
 */
import type { StoredEvent } from "../../shared/events/event.ts";
import type { UserId } from "../../shared/ids.ts";
import { SqlTables } from "../reading/sql-tables.ts";
import type { NewEvent } from "./shard-rpc.ts";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS batches (
    seq INTEGER PRIMARY KEY, user TEXT NOT NULL, at INTEGER NOT NULL, count INTEGER NOT NULL, ids TEXT NOT NULL, events TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS batches_of_user ON batches (user);
  CREATE TABLE IF NOT EXISTS merges (
    source TEXT, target TEXT, seq INTEGER NOT NULL UNIQUE, at INTEGER NOT NULL, PRIMARY KEY (source, target)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS merges_of_target ON merges (target);
  CREATE TABLE IF NOT EXISTS erased (user TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS calls (minute INTEGER PRIMARY KEY, counts TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS experiments (salt TEXT PRIMARY KEY, definition TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS exposures (
    salt TEXT, user TEXT, arm TEXT NOT NULL, revision INTEGER NOT NULL, at INTEGER NOT NULL,
    reached INTEGER NOT NULL, guarded INTEGER NOT NULL, activity INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (salt, user)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS exposures_of_user ON exposures (user);
  CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
`;

/** For shards of the first release with experiments. */
const ADD_ACTIVITY = "ALTER TABLE exposures ADD COLUMN activity INTEGER NOT NULL DEFAULT 0";

/**
 * `exported` is the last number in a file, and `exporting` that of a file which may have been written. Merges up to the number `moved` have
 * been copied to the generation of shards `moved_to`. `counts/{salt}`: the counts of an experiment as they were written last, or "final".
 */
type StateName =
  | "customer"
  | "shard"
  | "exported"
  | "exporting"
  | "upkeep_at"
  | "moved"
  | "moved_to"
  | "counts_at"
  | `counts/${string}`;

export type Row = { readonly seq: number; readonly user: UserId; readonly at: number; readonly events: string };
/** An event of a row. Only those of compacted rows have a number. */
export type RowEvent = NewEvent & { readonly seq?: number };
export type NewRow = Pick<Row, "seq" | "user" | "at"> & {
  readonly events: readonly RowEvent[];
  /** The ids by which a repeated event is recognised, as a list in JSON. */
  readonly ids: string;
};

export class ShardTables extends SqlTables {
  constructor(sql: SqlStorage) {
    super(sql, SCHEMA);
    const [table] = this.query<{ sql: string }>("SELECT sql FROM sqlite_master WHERE name = 'exposures'");
    if (!table!.sql.includes("activity")) this.query(ADD_ACTIVITY);
  }
  state(name: StateName): string | number | undefined {
    return this.query<{ value: string | number }>("SELECT value FROM state WHERE name = ?", name)[0]?.value;
  }
  setState(name: StateName, value: string | number): void {
    this.query("INSERT OR REPLACE INTO state VALUES (?, ?)", name, value);
  }
  get exported(): number {
    return Number(this.state("exported") ?? 0);
  }
  /** The highest number that anything outside the shard can know. */
  get lastSeq(): number {
    const stored = ["batches", "merges"].map((table) => this.numberIn(`SELECT MAX(seq) AS value FROM ${table}`));
    return Math.max(...stored, this.exported, Number(this.state("exporting") ?? 0));
  }
  insert({ seq, user, at, events, ids }: NewRow): void {
    const text = JSON.stringify(events);
    this.query("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?)", seq, user, at, events.length, ids, text);
  }
  delete(rows: readonly Pick<Row, "seq">[]): void {
    const list = JSON.stringify(rows.map(({ seq }) => seq));
    this.query("DELETE FROM batches WHERE seq IN (SELECT value FROM json_each(?))", list);
  }
}

export const eventsOfRow = ({ seq, user, events }: Pick<Row, "seq" | "user" | "events">): StoredEvent[] =>
  (JSON.parse(events) as RowEvent[]).map((event) => ({ seq, ...event, user_id: user }));
