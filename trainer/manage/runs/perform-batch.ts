/** One attempt of a batch in a process of its own, from its claim to its end. */
import { fileURLToPath } from "node:url";
import { batchesPrefix } from "../../../shared/batch.ts";
import { erasedUsersKey } from "../../../shared/erased-users.ts";
import { eventFilesPrefix } from "../../../shared/events/event-store.ts";
import { prefixOf } from "../../../shared/manifest.ts";
import { errorForLog, type Log } from "../../log/log.ts";
import { redacted, secretsIn } from "../../log/redaction.ts";
import { accessTokenAnswer } from "../../read/connectors/bigquery/access-token.ts";
import { customerSettings } from "../../read/customer-settings.ts";
import { type BatchJob, BatchMessage } from "../../run/batch-job.ts";
import { type Settings, storeEnvironment } from "../../settings.ts";
import type { BucketGrants } from "../../store/bucket-grants.ts";
import { deleteObjects } from "../../store/delete-objects.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { diskLimit } from "../processes/disk-space.ts";
import { superviseProcess } from "../processes/supervised-process.ts";
import type { BatchClaim, Batches, BatchResult } from "../records/batches.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import type { Model } from "../records/model-transitions.ts";
import type { Run } from "../records/run-ledger.ts";
import type { ModelFolders } from "./model-folders.ts";

export type BatchContext = {
  readonly batches: Batches;
  readonly registry: Pick<ModelRegistry, "find">;
  readonly store: ObjectStore;
  readonly grants: BucketGrants;
  readonly folders: ModelFolders;
  readonly settings: Settings;
  readonly log: Log;
};

const PROGRAM = fileURLToPath(new URL("../../run/batch-child.ts", import.meta.url).href);
const ATTEMPTS_MAX = 4;
const GRACE_SECONDS = 2;
const GRANT_GRACE_SECONDS = 60;

/** Works on a batch until it is over, or waits for another attempt. `stop` ends the attempt because this trainer stops. */
export async function performBatch(run: Run, context: BatchContext, stop: AbortController): Promise<void> {
  const { batches, registry, settings, folders, log } = context;
  const claim = await batches.claim(run.runId);
  if (claim === undefined) return;
  const about = { batch_id: claim.batchId, attempt: claim.attempt, customer: run.customer, model_name: run.modelName };
  const model = await registry.find(run.customer, run.modelName);
  if (model === undefined || model.status === "DESTROYING") return batches.stop(claim.batchId);
  log({ event: "batch_started", level: "info", ...about });
  const isOver = new AbortController();
  let progress: Parameters<Batches["renew"]>[1] = null;
  const beat = async () => {
    if (!(await batches.renew(claim, progress).catch(() => true))) isOver.abort();
  };
  const timer = setInterval(beat, (settings.runs.heartbeatSeconds * 1000) / 6);
  try {
    const signal = AbortSignal.any([stop.signal, isOver.signal]);
    const result = await attempt(model, claim, { ...context, signal, onProgress: (made) => (progress = made) });
    const isRetried = stop.signal.aborted || (result.isRetryable && claim.attempt < ATTEMPTS_MAX);
    if (isRetried && !isOver.signal.aborted) {
      await batches.release(claim, stop.signal.aborted ? 0 : settings.runs.retrySeconds);
    } else if (!(await batches.finish(claim, result))) await deleteBatchFiles(run, context.store);
    const { state, rows, users, failure } = result;
    log({ event: "batch_ended", level: "info", ...about, state, rows, users, code: failure?.code, retried: isRetried });
  } catch (error) {
    log({ event: "batch_error", level: "error", ...about, error: errorForLog(error) });
    await batches.release(claim, settings.runs.retrySeconds);
  } finally {
    clearInterval(timer);
    await folders.removeRun(claim.batchId);
  }
}

/** Deletes the files of a batch, which nobody can fetch any more. */
export async function deleteBatchFiles({ customer, modelName, runId }: Run, store: ObjectStore): Promise<void> {
  const objects = await Array.fromAsync(store.list(`${batchesPrefix(customer, modelName)}${runId}/`));
  await deleteObjects(
    store,
    objects.map(({ key }) => key),
    { signal: new AbortController().signal },
  );
}

type AttemptContext = BatchContext & {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: { readonly fraction: number; readonly detail: string }) => void;
};

async function attempt(
  { customer, modelName, spec }: Model,
  { batchId, body }: BatchClaim,
  { settings, store, grants, folders, signal, onProgress, log }: AttemptContext,
): Promise<BatchResult & { readonly isRetryable: boolean }> {
  const { runs } = settings;
  const { work, temp } = await folders.makeRun(batchId);
  const modelDirectory = await folders.makeModel(customer, modelName);
  const disk = await diskLimit([work, modelDirectory], runs);
  const connectorSettings = await customerSettings({
    customer,
    spec,
    settings: settings.connectorsOf(customer, temp),
    store,
  });
  const granted = grants.options({
    prefixes: [prefixOf(customer, modelName), ...(spec.schema.interaction.events ? [eventFilesPrefix(customer)] : [])],
    objects: [erasedUsersKey(customer)],
    seconds: runs.secondsMax + GRANT_GRACE_SECONDS,
  });
  const { memoryMbMax } = runs;
  const input: BatchJob = {
    ...{ batchId, customer, spec, body, connectorSettings, workDirectory: work, modelDirectory, memoryMbMax },
    diskBytesMax: disk.bytesMax,
  };
  let last: BatchMessage | undefined;
  const end = await superviseProcess({
    program: PROGRAM,
    input,
    environment: { ...settings.childEnvironment(customer), ...storeEnvironment(granted) },
    memoryMbMax,
    disk,
    secondsMax: runs.secondsMax,
    graceSeconds: GRACE_SECONDS,
    signal,
    onMessage(value, answer) {
      const { data } = BatchMessage.safeParse(value);
      if (data === undefined) return "wrong";
      if (data.kind === "access_token") void accessTokenAnswer(connectorSettings).then(answer);
      if (data.kind === "progress") onProgress({ fraction: data.fraction, detail: data.detail });
      if (data.kind === "access_token" || data.kind === "progress") return "more";
      last = data;
      return "last";
    },
  });
  const nothing = { version: null, rows: null, users: null, failure: null, files: [] };
  if (last?.kind === "done") return { ...nothing, ...last, state: "done", isRetryable: false };
  if (end.ended === "stopped") return { ...nothing, state: "stopped", isRetryable: false };
  const secrets = secretsIn(spec.connector_configs);
  const failed = (code: string, message: string, isRetryable: boolean) => ({
    ...{ ...nothing, state: "failed" as const, isRetryable },
    failure: { code, message: redacted(message, secrets) },
  });
  if (last?.kind === "failed") return failed(last.code, last.message, last.retryable);
  log({
    event: "batch_crashed",
    level: "warning",
    customer,
    ended: end.ended,
    output: redacted(end.outputTail, secrets),
  });
  if (end.ended === "memory" || end.heapExhausted)
    return failed("out_of_memory", `The batch needed more than ${memoryMbMax} MB of memory.`, false);
  if (end.ended === "disk")
    return failed("disk_budget_exceeded", `The batch needed more than ${disk.bytesMax} bytes of disk.`, false);
  if (end.ended === "deadline")
    return failed("run_timeout", `The batch took longer than ${runs.secondsMax} seconds.`, false);
  return failed("batch_lost", "The process of the batch ended without a result.", true);
}
