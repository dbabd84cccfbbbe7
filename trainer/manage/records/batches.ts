/**
 * Batches and their queue. As for runs (run-ledger.ts), a row is the job: a trainer owns it while it renews its lease, and after its death
 * another one begins the batch again. Rows stay a week after the end, files a day.
 */
import { randomUUID } from "node:crypto";
import { type BatchBody, type BatchRecord, FILES_HOURS } from "../../../shared/batch.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import type { Database } from "./database.ts";
import { json, parsed } from "./model-row.ts";
import type { Run } from "./run-ledger.ts";

export type BatchClaim = { readonly batchId: string; readonly attempt: number; readonly body: BatchBody };
export type StoredFile = { readonly name: string; readonly bytes: number };
export type BatchResult = Pick<BatchRecord, "version" | "rows" | "users" | "failure"> & {
  readonly state: "done" | "failed" | "stopped";
  readonly files: readonly StoredFile[];
};
/** A batch with the names of its files instead of their links. */
export type StoredBatch = Omit<BatchRecord, "files"> & { readonly files: readonly StoredFile[] };

export type Batches = ReturnType<typeof batches>;

/** How many batches of a customer may wait or run. */
export const CUSTOMER_BATCHES_MAX = 10;

export function batches(database: Database, trainerId: string, heartbeatSeconds: number) {
  const free = `(trainer_id is null or seen_at < now() - ${heartbeatSeconds} * interval '1 second')`;
  const waits = `state = 'running' and not_before <= now() and ${free}`;
  const owned = "batch_id = $1 and attempt = $2 and trainer_id = $3";
  return {
    /** Undefined when the customer has too many that are not over. */
    async create({ customer, modelName }: ModelRef, body: BatchBody): Promise<string | undefined> {
      const batchId = randomUUID();
      const [row] = await database.query(
        `insert into shortlist.batches (batch_id, customer, model_name, body, state, attempt, not_before, created_at)
         select $1, $2, $3, $4, 'running', 0, now(), now()
         where (select count(*) from shortlist.batches where customer = $2 and state = 'running') < $5::int4 returning batch_id`,
        [batchId, customer, modelName, json(body), CUSTOMER_BATCHES_MAX],
      );
      return row && batchId;
    },
    async find({ customer, modelName }: ModelRef, batchId: string): Promise<StoredBatch | undefined> {
      const [row] = await database.query(
        "select * from shortlist.batches where batch_id = $1 and customer = $2 and model_name = $3",
        [batchId, customer, modelName],
      );
      return row && recordOf(row);
    },
    /** Batches that may begin. Customers take turns: the one with the fewest at work comes first. */
    async waiting(limit: number, perCustomer: number): Promise<readonly Run[]> {
      const rows = await database.query(
        `select batch_id, customer, model_name from (
           select batch_id, customer, model_name, created_at,
             row_number() over (partition by customer order by created_at, batch_id) + (select count(*) from shortlist.batches at_work
               where at_work.customer = batches.customer and at_work.state = 'running' and not ${free}) as place
           from shortlist.batches where ${waits}) as places
         where place <= $2 order by place, created_at limit $1`,
        [limit, perCustomer],
      );
      return rows.map((row) => ({
        runId: String(row.batch_id),
        customer: String(row.customer),
        modelName: String(row.model_name),
      }));
    },
    async claim(batchId: string): Promise<BatchClaim | undefined> {
      const [row] = await database.query(
        `update shortlist.batches set attempt = attempt + 1, trainer_id = $2, seen_at = now(), progress = null
         where batch_id = $1 and ${waits} returning attempt, body`,
        [batchId, trainerId],
      );
      return row && { batchId, attempt: Number(row.attempt), body: parsed<BatchBody>(row.body)! };
    },
    /** Renews the lease, with what is known of the progress. False when the batch was stopped, or is another trainer's. */
    async renew({ batchId, attempt }: BatchClaim, progress: BatchRecord["progress"]): Promise<boolean> {
      const rows = await database.query(
        `update shortlist.batches set seen_at = now(), progress = $4 where ${owned} and state = 'running' returning batch_id`,
        [batchId, attempt, trainerId, json(progress)],
      );
      return rows.length > 0;
    },
    /** Ends the batch, unless it was stopped meanwhile. */
    async finish({ batchId, attempt }: BatchClaim, { state, version, rows, users, failure, files }: BatchResult) {
      const result = json({ version, rows, users, failure, files });
      const ended = await database.query(
        `update shortlist.batches set state = $4, result = $5, ended_at = now(), trainer_id = null
         where ${owned} and state = 'running' returning batch_id`,
        [batchId, attempt, trainerId, state, result],
      );
      return ended.length > 0;
    },
    /** Lets the batch wait for another attempt. */
    async release({ batchId, attempt }: BatchClaim, delaySeconds: number): Promise<void> {
      await database.query(
        `update shortlist.batches set trainer_id = null, progress = null, not_before = now() + $4::float8 * interval '1 second'
         where ${owned}`,
        [batchId, attempt, trainerId, delaySeconds],
      );
    },
    /** Ends the batch if it is not over. */
    async stop(batchId: string): Promise<void> {
      await database.query(
        "update shortlist.batches set state = 'stopped', ended_at = now() where batch_id = $1 and state = 'running'",
        [batchId],
      );
    },
    ...upkeepOf(database),
  };
}

function upkeepOf(database: Database) {
  return {
    /** Stops what a deleted model has. */
    async stopAll({ customer, modelName }: ModelRef): Promise<void> {
      const ofModel = "customer = $1 and model_name = $2 and state = 'running'";
      await database.query(`update shortlist.batches set state = 'stopped', ended_at = now() where ${ofModel}`, [
        customer,
        modelName,
      ]);
    },
    async releaseAll(): Promise<void> {
      await database.query("update shortlist.batches set trainer_id = null where state = 'running'");
    },
    /** The batches whose files have ended, or may be those of a stopped attempt. */
    async withOldFiles(limit: number): Promise<readonly Run[]> {
      const rows = await database.query(
        `select batch_id, customer, model_name from shortlist.batches where files_deleted is null and
           (ended_at < now() - ${FILES_HOURS} * interval '1 hour'
             or (state <> 'done' and ended_at < now() - interval '1 minute')) limit $1`,
        [limit],
      );
      return rows.map((row) => ({
        runId: String(row.batch_id),
        customer: String(row.customer),
        modelName: String(row.model_name),
      }));
    },
    async noteDeleted(batchId: string): Promise<void> {
      await database.query("update shortlist.batches set files_deleted = now() where batch_id = $1", [batchId]);
    },
    async forgetOld(): Promise<void> {
      await database.query("delete from shortlist.batches where files_deleted < now() - interval '7 days'");
    },
  };
}

function recordOf(row: Readonly<Record<string, unknown>>): StoredBatch {
  const result = parsed<Omit<BatchResult, "state">>(row.result);
  const time = (value: unknown) => (value === null ? null : new Date(value as string | Date).toISOString());
  return {
    batch_id: String(row.batch_id),
    state: row.state as BatchRecord["state"],
    progress: parsed<NonNullable<BatchRecord["progress"]>>(row.progress) ?? null,
    version: result?.version ?? null,
    rows: result?.rows ?? null,
    users: result?.users ?? null,
    files: result?.files ?? [],
    failure: result?.failure ?? null,
    created_at: time(row.created_at)!,
    ended_at: time(row.ended_at),
  };
}
