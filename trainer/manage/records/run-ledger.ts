/**
 * The queue of runs, and the leases on them. A trainer owns the lease of a run while it renews the lease often enough;
 * after `heartbeatSeconds` without a renewal another trainer may claim the run, and the attempt number tells the two
 * apart. All times are the database's, so that the clocks of machines do not matter. The statements are plain SQL, without
 * `skip locked` or advisory locks, which not every supported database has.
 */
import type { GateVerdict } from "../../../shared/evaluation-report.ts";
import type { Progress } from "../../../shared/model-record.ts";
import type { Database, Queries } from "./database.ts";
import type { Attempt } from "./model-transitions.ts";

/** A model has at most one unfinished run: its record refuses to schedule a second one. */
export type Run = { readonly runId: string; readonly customer: string; readonly modelName: string };
/** Refusals of the gate that a run ignores. */
export type Ignored = NonNullable<GateVerdict["codes"]>;

export type Claim = Attempt & {
  /** Earlier attempts that ended in a failure or with their trainer. */
  readonly crashes: number;
  readonly cancelled: boolean;
  readonly ignored: Ignored;
};

export type RunLedger = {
  /** Adds a run that waits. */
  create(queries: Queries, run: Run & { readonly ignored?: Ignored }): Promise<void>;
  /** Runs of the customer that wait or work. */
  countOf(customer: string, queries: Queries): Promise<number>;
  /**
   * Runs that may begin: nobody owns their lease, and the wait before their next attempt is over. Customers take turns: the
   * one with the fewest runs at work comes first, then the one whose last run began longest ago.
   *
   * @param perCustomer Runs of one customer that may work at the same time, over all trainers.
   */
  waiting(limit: number, perCustomer: number): Promise<readonly Run[]>;
  /** Begins a new attempt by this trainer. Undefined when the run does not wait any more. */
  claim(runId: string): Promise<Claim | undefined>;
  /** Renews the lease. `lost`: it is another trainer's, or the run is over. */
  renew(attempt: Attempt): Promise<"owned" | "cancelled" | "lost">;
  /** Stores how far the attempt is, for the model's record. */
  note(attempt: Attempt, progress: Progress): Promise<void>;
  /** Lets the run wait for another attempt. `forgiven`: the ended attempt does not count as a crash. */
  release(
    attempt: Attempt,
    options: { readonly delaySeconds: number; readonly forgiven: boolean },
    queries?: Queries,
  ): Promise<void>;
  /** Removes the run, which is over. */
  finish(attempt: Attempt, queries?: Queries): Promise<void>;
  /** Asks the trainer that works on the run to end it, and returns true. Without such a trainer the run is over now: false. */
  cancel(runId: string, queries?: Queries): Promise<boolean>;
  /** Ends the wait before the next attempt. False when the run does not wait for one. */
  hasten(runId: string, queries: Queries): Promise<boolean>;
  /** Whether a living trainer works on a run of the model. */
  isLeased(customer: string, modelName: string): Promise<boolean>;
  /** Ends every lease. For the start of the only trainer of a database: the owners are dead. */
  releaseAll(): Promise<void>;
};

export function runLedger(database: Database, trainerId: string, heartbeatSeconds: number): RunLedger {
  const free = `(trainer_id is null or seen_at < now() - ${heartbeatSeconds} * interval '1 second')`;
  const waits = `not_before <= now() and ${free}`;
  const owned = "run_id = $1 and attempt = $2 and trainer_id = $3";
  return {
    ...queue(database, free, waits),
    async claim(runId) {
      const [row] = await database.query(
        `update shortlist.runs set attempt = attempt + 1, crashes = crashes + 1, trainer_id = $2, seen_at = now(),
           progress = null
         where run_id = $1 and ${waits} returning attempt, crashes, cancelled, ignored`,
        [runId, trainerId],
      );
      return (
        row && {
          runId,
          attempt: Number(row.attempt),
          // The row counts this attempt as a crash from its start, so that the count is right if the trainer dies.
          crashes: Number(row.crashes) - 1,
          cancelled: row.cancelled === true,
          ignored: (row.ignored ? String(row.ignored).split(",") : []) as Ignored,
        }
      );
    },
    async renew({ runId, attempt }) {
      const [row] = await database.query(
        `update shortlist.runs set seen_at = now() where ${owned} returning cancelled`,
        [runId, attempt, trainerId],
      );
      if (row === undefined) return "lost";
      return row.cancelled === true ? "cancelled" : "owned";
    },
    async note({ runId, attempt }, progress) {
      const values = [runId, attempt, trainerId, JSON.stringify(progress)];
      await database.query(`update shortlist.runs set progress = $4 where ${owned}`, values);
    },
    async release({ runId, attempt }, { delaySeconds, forgiven }, queries = database) {
      await queries.query(
        `update shortlist.runs set trainer_id = null, progress = null, crashes = crashes - $4::int4,
           not_before = now() + $5::float8 * interval '1 second' where ${owned}`,
        [runId, attempt, trainerId, forgiven ? 1 : 0, delaySeconds],
      );
    },
    async finish({ runId, attempt }, queries = database) {
      await queries.query(`delete from shortlist.runs where ${owned}`, [runId, attempt, trainerId]);
    },
    async isLeased(customer, modelName) {
      const rows = await database.query(
        `select run_id from shortlist.runs where customer = $1 and model_name = $2 and not ${free}`,
        [customer, modelName],
      );
      return rows.length > 0;
    },
    async releaseAll() {
      await database.query("update shortlist.runs set trainer_id = null");
    },
  };
}

function queue(
  database: Database,
  free: string,
  waits: string,
): Pick<RunLedger, "create" | "countOf" | "waiting" | "cancel" | "hasten"> {
  return {
    async create(queries, { runId, customer, modelName, ignored = [] }) {
      await queries.query(
        `insert into shortlist.runs (run_id, customer, model_name, attempt, crashes, cancelled, not_before, created_at, ignored)
         values ($1, $2, $3, 0, 0, false, now(), now(), $4)`,
        [runId, customer, modelName, ignored.join(",")],
      );
    },
    async countOf(customer, queries) {
      const rows = await queries.query("select count(*) as n from shortlist.runs where customer = $1", [customer]);
      return Number(rows[0]!.n);
    },
    async waiting(limit, perCustomer) {
      const rows = await database.query(
        `select run_id, customer, model_name from (
           select run_id, customer, model_name, created_at,
             row_number() over (partition by customer order by created_at, run_id) +
               (select count(*) from shortlist.runs at_work where at_work.customer = runs.customer and not ${free}) as place,
             (select max(started_at) from shortlist.models where models.customer = runs.customer) as last_start
           from shortlist.runs where ${waits}) as places
         where place <= $2 order by place, last_start nulls first, created_at limit $1`,
        [limit, perCustomer],
      );
      return rows.map(runOfRow);
    },
    async cancel(runId, queries = database) {
      await queries.query("update shortlist.runs set cancelled = true where run_id = $1", [runId]);
      await queries.query(`delete from shortlist.runs where run_id = $1 and ${free}`, [runId]);
      const left = await queries.query("select 1 from shortlist.runs where run_id = $1", [runId]);
      return left.length > 0;
    },
    async hasten(runId, queries) {
      const hastened = await queries.query(
        `update shortlist.runs set not_before = now()
         where run_id = $1 and not cancelled and not_before > now() and ${free} returning run_id`,
        [runId],
      );
      return hastened.length > 0;
    },
  };
}

const runOfRow = (row: Readonly<Record<string, unknown>>): Run => ({
  runId: String(row.run_id),
  customer: String(row.customer),
  modelName: String(row.model_name),
});
