/**
 * Who works on which run. A trainer holds a run by having been seen lately; when it falls silent, another may claim it,
 * and the attempt's number then tells the two apart. Times are the database's, so that machines' clocks do not matter.
 */
import type { Database, Queries } from "./database.ts";
import type { Attempt } from "./model-transitions.ts";

export type Run = { readonly runId: string; readonly customer: string; readonly modelName: string };

export type Claim = Attempt & {
  /** Attempts that ended in a failure or with their trainer, this one not counted. */
  readonly crashes: number;
  readonly cancelled: boolean;
};

export type RunLedger = {
  create(queries: Queries, run: Run): Promise<void>;
  /** A new attempt by this trainer; undefined when the run is over or another trainer holds it. */
  claim(runId: string): Promise<Claim | undefined>;
  /** Tells that this trainer is alive and whether it may go on. */
  renew(attempt: Attempt): Promise<"held" | "cancelled" | "lost">;
  /** Gives the run back for another attempt, at the earliest after so many seconds. */
  release(
    attempt: Attempt,
    options: { readonly delaySeconds: number; readonly forgiven: boolean },
    queries?: Queries,
  ): Promise<void>;
  finish(attempt: Attempt, outcome: string, queries?: Queries): Promise<void>;
  /** Asks for the run's end. False: nobody works on it, and it is over now. */
  cancel(runId: string, queries?: Queries): Promise<boolean>;
  /** Whether a living trainer works on a run of the model. */
  isHeld(customer: string, modelName: string): Promise<boolean>;
  /** Lets a run that waits for its next attempt begin now. False: it does not wait. */
  hasten(runId: string, queries: Queries): Promise<boolean>;
  /** Runs that nobody works on and that may be worked on now. */
  waiting(limit: number): Promise<readonly Run[]>;
  /** At the start of the only trainer: whoever held a run is dead. */
  releaseAll(): Promise<void>;
  /** Forgets the runs that were over a month ago. */
  purge(): Promise<void>;
};

const UNFINISHED = "select 1 from shortlist.runs where run_id = $1 and finished_at is null";
const PURGE = "delete from shortlist.runs where finished_at < now() - interval '30 days'";

export function runLedger(database: Database, trainerId: string, heartbeatSeconds: number): RunLedger {
  const free = `(trainer_id is null or seen_at < now() - ${heartbeatSeconds} * interval '1 second')`;
  const mine = "run_id = $1 and attempt = $2 and trainer_id = $3 and finished_at is null";

  return {
    async create(queries, { runId, customer, modelName }) {
      await queries.query(
        `insert into shortlist.runs (run_id, customer, model_name, attempt, crashes, cancelled, not_before, created_at)
         values ($1, $2, $3, 0, 0, false, now(), now())`,
        [runId, customer, modelName],
      );
    },
    async claim(runId) {
      const [row] = await database.query(
        `update shortlist.runs set attempt = attempt + 1, crashes = crashes + 1, trainer_id = $2, seen_at = now()
         where run_id = $1 and finished_at is null and ${free} returning attempt, crashes, cancelled`,
        [runId, trainerId],
      );
      return (
        row && {
          runId,
          attempt: Number(row.attempt),
          // Counted beforehand, so that a trainer which dies in the attempt has counted it too.
          crashes: Number(row.crashes) - 1,
          cancelled: row.cancelled === true,
        }
      );
    },
    async renew({ runId, attempt }) {
      const [row] = await database.query(
        `update shortlist.runs set seen_at = now() where ${mine} returning cancelled`,
        [runId, attempt, trainerId],
      );
      if (row === undefined) return "lost";
      return row.cancelled === true ? "cancelled" : "held";
    },
    async release({ runId, attempt }, { delaySeconds, forgiven }, queries = database) {
      await queries.query(
        `update shortlist.runs set trainer_id = null, crashes = crashes - $4::int4,
           not_before = now() + $5::float8 * interval '1 second' where ${mine}`,
        [runId, attempt, trainerId, forgiven ? 1 : 0, delaySeconds],
      );
    },
    async finish({ runId, attempt }, outcome, queries = database) {
      await queries.query(
        `update shortlist.runs set finished_at = now(), trainer_id = null, outcome = $4 where ${mine}`,
        [runId, attempt, trainerId, outcome],
      );
    },
    async cancel(runId, queries = database) {
      await queries.query("update shortlist.runs set cancelled = true where run_id = $1 and finished_at is null", [
        runId,
      ]);
      await queries.query(
        `update shortlist.runs set finished_at = now(), trainer_id = null, outcome = 'cancelled'
         where run_id = $1 and finished_at is null and ${free}`,
        [runId],
      );
      const left = await queries.query(UNFINISHED, [runId]);
      return left.length > 0;
    },
    async hasten(runId, queries) {
      const hastened = await queries.query(
        `update shortlist.runs set not_before = now()
         where run_id = $1 and finished_at is null and not cancelled and not_before > now() and ${free} returning run_id`,
        [runId],
      );
      return hastened.length > 0;
    },
    async isHeld(customer, modelName) {
      const rows = await database.query(
        `select run_id from shortlist.runs
         where customer = $1 and model_name = $2 and finished_at is null and not ${free} limit 1`,
        [customer, modelName],
      );
      return rows.length > 0;
    },
    async waiting(limit) {
      const rows = await database.query(
        `select run_id, customer, model_name from shortlist.runs
         where finished_at is null and not_before <= now() and ${free} order by created_at limit $1`,
        [limit],
      );
      return rows.map(runOfRow);
    },
    async releaseAll() {
      await database.query("update shortlist.runs set trainer_id = null where finished_at is null");
    },
    async purge() {
      await database.query(PURGE);
    },
  };
}

const runOfRow = (row: Readonly<Record<string, unknown>>): Run => ({
  runId: String(row.run_id),
  customer: String(row.customer),
  modelName: String(row.model_name),
});
