import type { CanaryState } from "../../../shared/experiment/canary.ts";
import { RUNS_KEPT, type RunRecord } from "../../../shared/run-record.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import type { Queries } from "./database.ts";
import { json, parsed } from "./model-row.ts";

const OF_MODEL = "from shortlist.ended_runs where customer = $1 and model_name = $2";
const NEWEST = `order by ended_at desc, run_id limit ${RUNS_KEPT}`;

/** Stores a run that has ended, and removes those of its model that are too old: refused ones are kept for longer. */
export async function storeEndedRun(queries: Queries, model: ModelRef, run: RunRecord): Promise<void> {
  const { customer, modelName } = model;
  await queries.query(
    `insert into shortlist.ended_runs (run_id, customer, model_name, ended_at, is_refused, record)
     values ($1, $2, $3, $4, $5, $6)`,
    [run.run_id, customer, modelName, run.ended_at, run.outcome === "refused", json(run)],
  );
  await queries.query(
    `delete ${OF_MODEL} and run_id not in (select run_id ${OF_MODEL} ${NEWEST})
       and run_id not in (select run_id ${OF_MODEL} and is_refused ${NEWEST})`,
    [customer, modelName],
  );
}

/** The stored runs of a model, the newest first. */
export async function endedRuns(queries: Queries, { customer, modelName }: ModelRef): Promise<RunRecord[]> {
  const query = `select record ${OF_MODEL} order by ended_at desc, run_id`;
  return (await queries.query(query, [customer, modelName])).map(({ record }) => parsed<RunRecord>(record)!);
}

/** Writes what is known of a canary to the run that has published its version, if that run is still stored. */
export async function noteCanaryOfRun(queries: Queries, model: ModelRef, canary: CanaryState): Promise<void> {
  const run = (await endedRuns(queries, model)).find(({ version }) => version === canary.version);
  if (run) await rewrite(queries, { ...run, canary });
}

/** Ends the wait of all versions but these: a newer one took their place, or another version was activated. */
export async function endWaiting(
  queries: Queries,
  model: ModelRef,
  known: readonly (string | undefined)[],
  ended_at: string,
): Promise<void> {
  const reason = "A newer version, or one that was activated, took its place before it served anybody.";
  for (const run of await endedRuns(queries, model))
    if (run.canary?.state === "waiting" && !known.includes(run.version!))
      await rewrite(queries, { ...run, canary: { ...run.canary, state: "kept", reason, ended_at } });
}

const rewrite = (queries: Queries, run: RunRecord) =>
  queries.query("update shortlist.ended_runs set record = $2 where run_id = $1", [run.run_id, json(run)]);
