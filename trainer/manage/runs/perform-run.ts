/**
 * One attempt of a run, from its claim to its end. What the run's process reports is written to the model's record; the end
 * is written to record and ledger in one transaction.
 */
import { erasedUsersKey } from "../../../shared/erased-users.ts";
import { eventFilesPrefix } from "../../../shared/events/event-store.ts";
import { prefixOf } from "../../../shared/manifest.ts";
import type { Failure } from "../../../shared/model-record.ts";
import type { RunRecord } from "../../../shared/run-record.ts";
import { errorForLog, type Log } from "../../log/log.ts";
import { redacted, secretsIn } from "../../log/redaction.ts";
import { customerSettings } from "../../read/customer-settings.ts";
import { NOT_ENOUGH_EVENTS } from "../../run/not-enough-events.ts";
import type { RunMessage, TrainingJob, TrainingSettings } from "../../run/training-run.ts";
import { type RunSettings, type Settings, storeEnvironment } from "../../settings.ts";
import type { BucketGrants } from "../../store/bucket-grants.ts";
import { writeLearntMarks } from "../../store/learnt-marks.ts";
import { type ObjectStore, StoreError } from "../../store/object-store.ts";
import { type DiskLimit, diskLimit } from "../processes/disk-space.ts";
import type { Database } from "../records/database.ts";
import { storeEndedRun } from "../records/ended-runs.ts";
import type { ErasureDeadlines } from "../records/erasure-deadlines.ts";
import type { Erasures } from "../records/erasures.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import type { Attempt, Model, RunEvent } from "../records/model-transitions.ts";
import type { Claim, Run, RunLedger } from "../records/run-ledger.ts";
import type { ModelFolders } from "./model-folders.ts";
import { progressWriter } from "./progress-writer.ts";
import { type PointerKeeper, reconcileRecords } from "./reconcile-records.ts";
import { type ChildResult, runChild } from "./run-child.ts";
import { keepLease, type Lease, type StopReason } from "./run-lease.ts";
import { type RunNotes, runNotes } from "./run-notes.ts";

export type RunContext = {
  readonly database: Database;
  readonly registry: ModelRegistry;
  readonly ledger: RunLedger;
  readonly store: ObjectStore;
  readonly grants: BucketGrants;
  readonly pointers: PointerKeeper;
  readonly folders: ModelFolders;
  readonly erasures: Pick<Erasures, "prepareList">;
  readonly deadlines: Pick<ErasureDeadlines, "dueFor" | "noteRemoved">;
  readonly settings: Settings;
  /** The program of a run's process. */
  readonly program: string;
  readonly nowMs: () => number;
  readonly log: Log;
};

const RETRY_SECONDS_MAX = 3600;
/** How many methods a run may leave out, one after another, because it exceeded its memory with them. */
const TOO_LARGE_MAX = 3;
/** Extra seconds of access to the bucket after the time limit of a run. */
const GRANT_GRACE_SECONDS = 60;

/**
 * Works on the run until it has ended or waits for a retry. Returns at once when the run cannot be claimed.
 *
 * @param stop Aborted with a StopReason to end the attempt early.
 */
export async function performRun(run: Run, context: RunContext, stop: AbortController): Promise<void> {
  const { registry, ledger, pointers, folders, settings, log } = context;
  const claim = await ledger.claim(run.runId);
  if (claim === undefined) return;
  const { runId, attempt } = claim;
  const model = await registry.apply(run.customer, run.modelName, { kind: "started", runId, attempt });
  const notes = runNotes(() => performance.now() / 1000);
  const startedAt = model?.training.startedAt ?? null;
  if (model === undefined || claim.cancelled) {
    await conclude(run, claim, { kind: "stopped" }, { ...context, notes, startedAt, reason: "cancelled" });
    pointers.reconcile(run);
    return;
  }
  log({ event: "run_started", level: "info", ...aboutOf(model, claim) });
  const lease = keepLease(claim, { ledger, heartbeatSeconds: settings.runs.heartbeatSeconds, log }, stop);
  try {
    const outcome = await attemptRun(model, claim, { ...context, lease, notes });
    const reason = stop.signal.aborted ? (stop.signal.reason as StopReason) : undefined;
    await conclude(run, claim, outcome, { ...context, notes, startedAt, reason });
    if (outcome.kind === "published" && model.spec.schema.interaction.events) await noteLearnt(model, context);
  } finally {
    lease.end();
    pointers.reconcile(run); // the process may have published even if this trainer did not receive its message
    await folders.removeRun(runId);
  }
}

/** A failure is only logged, because upkeep writes the marks every hour. */
async function noteLearnt({ customer, modelName }: Model, { registry, store, log }: RunContext): Promise<void> {
  try {
    await writeLearntMarks(store, customer, await registry.names(customer));
  } catch (error) {
    const about = { customer, model_name: modelName };
    log({ event: "learnt_marks_failed", level: "warning", ...about, error: errorForLog(error) });
  }
}

type Outcome =
  | ChildResult["outcome"]
  /** The run was not started, through no fault of its own: it waits, and this attempt does not count. */
  | { readonly kind: "postponed"; readonly failure: Omit<Failure, "at"> };
type AttemptContext = RunContext & { readonly lease: Lease; readonly notes: RunNotes };

/** The outcome of one attempt. An error outside the process is a failure of the run too. */
async function attemptRun(model: Model, claim: Claim, context: AttemptContext): Promise<Outcome> {
  const { settings, log, lease } = context;
  const about = aboutOf(model, claim);
  if (claim.crashes >= settings.runs.attemptsMax)
    return failed(
      "run_lost",
      `The last of ${claim.crashes} attempts at this run ended with its trainer, so it is not tried again.`,
      false,
    );
  try {
    // A process can only replace a pointer, so the pointer must exist. An earlier attempt that published and then died with its
    // trainer is noted in the record here.
    await reconcileRecords(model, context);
    const salt = await context.erasures.prepareList(model.customer); // the process leaves out the users on the list
    const isColliding = model.failure?.code === "user_hash_collision"; // the attempt before
    const erasure = { salt: isColliding ? null : salt, dueMs: await context.deadlines.dueFor(model.customer) };
    const tooLarge: string[] = [];
    for (let secondsLeft = settings.runs.secondsMax; ; ) {
      const facts = { runId: claim.runId, erasure, ignored: claim.ignored, tooLarge };
      const prepared = await prepareRun(model, facts, context);
      if (prepared.disk.bytesMax === 0) {
        log({ event: "run_postponed", level: "error", ...about, reason: "disk_reserve_reached" });
        return diskReserved(settings.runs.diskReserveBytes);
      }
      const clean = <Value>(value: Value) => redacted(value, prepared.secrets);
      const progress = progressWriter(claim, model, context);
      const stagesBefore = context.notes.read().stages.length;
      const result = await runChild({
        ...prepared,
        program: context.program,
        memoryMbMax: settings.runs.memoryMbMax,
        secondsMax: secondsLeft,
        signal: lease.signal,
        onMessage: (message) => {
          context.notes.add(message);
          progress.write(cleaned(message, clean));
        },
        onErasedRemoved: () => void context.deadlines.noteRemoved(model, erasure.dueMs!),
        ownsLease: lease.ownsLease,
      });
      await progress.end();
      const { kind } = result.outcome;
      const output = result.outputTail !== "" ? { output: clean(result.outputTail) } : {};
      const level = kind === "failed" ? "warning" : "info";
      const figures = {
        seconds: Math.round(result.seconds * 10) / 10,
        peak_mb: result.peakMb,
        rows: context.notes.read().read?.interactions,
        stages: context.notes.read().stages.slice(stagesBefore),
      };
      const where = result.outcome.kind === "failed" && {
        stage: result.outcome.failure.stage,
        code: result.outcome.failure.code,
      };
      log({ event: "run_ended", level, ...about, outcome: kind, ...where, ...figures, ...output });
      secondsLeft -= result.seconds;
      const method = result.tooLarge;
      if (method === undefined || tooLarge.includes(method) || tooLarge.length >= TOO_LARGE_MAX || secondsLeft < 1)
        return cleaned(result.outcome, clean);
      // Only a run whose data alone do not fit fails for its memory.
      tooLarge.push(method);
      log({ event: "run_repeated", level: "warning", ...about, without: tooLarge });
    }
  } catch (error) {
    log({ event: "run_error", level: "error", ...about, error: errorForLog(error) });
    if (error instanceof StoreError) return failed("store_unavailable", "The store of models does not answer.", true);
    return failed("internal", "Something failed on the trainer; the operator's log tells what.", true);
  }
}

/** The input of a run's process, and the secrets to remove from its messages. */
export type PreparedRun = {
  readonly job: TrainingJob;
  readonly environment: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  /** `bytesMax` is 0 when the disk has no free space beyond the reserve. */
  readonly disk: DiskLimit;
};

type RunFacts = Pick<TrainingJob, "runId" | "erasure"> &
  Partial<Pick<Claim, "ignored">> &
  Pick<TrainingSettings, "tooLarge">;

export async function prepareRun(
  model: Model,
  { runId, erasure, ignored, tooLarge }: RunFacts,
  { settings, folders, store, grants }: Pick<RunContext, "settings" | "folders" | "store" | "grants">,
): Promise<PreparedRun> {
  const { customer, modelName, spec } = model;
  const { runs } = settings;
  const { work, temp } = await folders.makeRun(runId);
  const modelDirectory = await folders.makeModel(customer, modelName);
  const disk = await diskLimit([work, modelDirectory], runs);
  const connectors = settings.connectorsOf(customer, temp);
  const connectorSettings = await customerSettings({ customer, spec, settings: connectors, store });
  const granted = grants.options({
    prefixes: [prefixOf(customer, modelName), ...(spec.schema.interaction.events ? [eventFilesPrefix(customer)] : [])],
    objects: [erasedUsersKey(customer)],
    seconds: runs.secondsMax + GRANT_GRACE_SECONDS,
  });
  const environment = { ...settings.childEnvironment(customer), ...storeEnvironment(granted) };
  const secretsOfEnvironment = Object.entries(environment)
    .filter(([name]) => /SECRET|ACCESS_KEY|TOKEN/.test(name))
    .map(([, value]) => value);
  return {
    job: {
      runId,
      customer,
      spec,
      connectorSettings,
      erasure,
      settings: {
        workDirectory: work,
        modelDirectory,
        diskBytesMax: disk.bytesMax,
        incremental: { overlapSeconds: runs.overlapSeconds, fullReadSeconds: runs.fullReadSeconds },
        seed: runs.seed,
        fitSecondsMax: runs.fitSecondsMax,
        memoryMbMax: runs.memoryMbMax,
        rejectedFractionMax: runs.rejectedFractionMax,
        weightBytesMax: runs.weightBytesMax,
        edgeMemoryBytes: runs.edgeMemoryBytes,
        ignoreGate: runs.ignoreGate,
        ...(ignored && { ignored }),
        ...(tooLarge && { tooLarge }),
      },
    },
    environment,
    secrets: [...secretsIn(spec.connector_configs), ...secretsOfEnvironment],
    disk,
  };
}

type Cleaning = <Value>(value: Value) => Value;

/** Removes secrets from texts for people. Names of versions, codes and states stay as they are. */
function cleaned<Sent extends RunMessage | Outcome>(sent: Sent, clean: Cleaning): Sent;
function cleaned(sent: RunMessage | Outcome, clean: Cleaning): RunMessage | Outcome {
  switch (sent.kind) {
    case "failed":
      return { ...sent, failure: { ...sent.failure, message: clean(sent.failure.message) } };
    case "refused":
      return { ...sent, reasons: clean(sent.reasons) };
    case "progress":
      return { ...sent, progress: { ...sent.progress, detail: clean(sent.progress.detail) } };
    case "data":
      return { ...sent, data: clean(sent.data) };
    default:
      return sent;
  }
}

/** The fields that every log event of an attempt has. */
const aboutOf = (model: Model, { runId, attempt }: Attempt) => ({
  run_id: runId,
  attempt,
  customer: model.customer,
  model_name: model.modelName,
});

const failed = (code: string, message: string, retryable: boolean): Outcome => ({
  kind: "failed",
  failure: { stage: "fetching", code, message, retryable },
});

const diskReserved = (reserveBytes: number): Outcome => ({
  kind: "postponed",
  failure: {
    stage: "fetching",
    code: "disk_reserve_reached",
    message: `The run waits until the trainer's disk has more than ${reserveBytes} free bytes (SHORTLIST_DISK_RESERVE_BYTES).`,
    retryable: true,
  },
});

type Conclusion = RunContext & {
  readonly notes: RunNotes;
  readonly startedAt: string | null;
  readonly reason: StopReason | undefined;
};

/** Writes the end of an attempt to record and ledger in one transaction, so that nobody sees one without the other. */
async function conclude(run: Run, claim: Claim, outcome: Outcome, context: Conclusion): Promise<void> {
  const { database, registry, ledger, settings, reason, nowMs } = context;
  if (reason === "lost") return;
  const at = new Date(nowMs()).toISOString();
  const end = endingOf(outcome, claim, { runs: settings.runs, reason, at });
  const { runId, attempt } = claim;
  await database.transaction(async (queries) => {
    const event = { ...end.event, runId, attempt };
    const changed = await registry.apply(run.customer, run.modelName, event, queries);
    if (end.retry !== undefined && changed !== undefined) return await ledger.release(claim, end.retry, queries);
    await ledger.finish(claim, queries);
    if (changed !== undefined)
      await storeEndedRun(queries, run, endedRun(outcome, end.event, { ...context, claim, at }));
  });
}

/** The record of a run that has ended with this event. */
function endedRun(
  outcome: Outcome,
  event: RunEvent,
  { claim, notes, startedAt, at }: Pick<Conclusion, "notes" | "startedAt"> & { claim: Claim; at: string },
): RunRecord {
  const isRefused = outcome.kind === "refused" && event.kind === "failed";
  const isPublished = outcome.kind === "published";
  return {
    run_id: claim.runId,
    outcome: isRefused ? "refused" : (OUTCOME_OF[event.kind] ?? "failed"),
    attempt: claim.attempt,
    started_at: startedAt ?? at,
    ended_at: at,
    ...notes.read(),
    version: isPublished ? outcome.version : null,
    quality: isRefused || isPublished ? outcome.quality : null,
    failure: "failure" in event ? event.failure : null,
    report: isRefused || isPublished ? (outcome.report ?? null) : null,
    ...(isPublished && outcome.canary && { canary: outcome.canary }),
  };
}

const OUTCOME_OF: Readonly<Partial<Record<RunEvent["kind"], RunRecord["outcome"]>>> = {
  published: "published",
  starved: "too_few_events",
  cancelled: "cancelled",
};

type Ending = {
  readonly event: RunEvent;
  readonly retry?: { readonly delaySeconds: number; readonly forgiven: boolean };
};
type EndingFacts = { readonly runs: RunSettings; readonly reason: StopReason | undefined; readonly at: string };

function endingOf(outcome: Outcome, claim: Claim, { runs, reason, at }: EndingFacts): Ending {
  if (outcome.kind === "published") return { event: outcome };
  if (reason === "cancelled") return { event: { kind: "cancelled" } };
  if (outcome.kind === "refused") {
    const message = `The new version was not put live: ${outcome.reasons.join("; ")}.`;
    const code = outcome.code ?? "version_refused";
    const hint = code === "version_refused" ? "" : ` If it is meant, train with {"ignore": ["${code}"]}.`;
    const failure = { stage: "evaluating", code, message: message + hint, at, retryable: false };
    return { event: { kind: "failed", failure, idle: true } };
  }
  if (outcome.kind === "failed" && outcome.failure.code === NOT_ENOUGH_EVENTS)
    return { event: { kind: "starved", failure: { ...outcome.failure, at } } };
  const delaySeconds = Math.min(RETRY_SECONDS_MAX, runs.retrySeconds * 2 ** claim.crashes);
  if (outcome.kind === "stopped") {
    const forgiven = reason === "stopping"; // stops for any other reason count as attempts, up to attemptsMax
    return {
      event: { kind: "waiting", failure: null },
      retry: { delaySeconds: forgiven ? 0 : delaySeconds, forgiven },
    };
  }
  const failure = { ...outcome.failure, at };
  if (outcome.kind === "postponed")
    return { event: { kind: "waiting", failure }, retry: { delaySeconds: runs.retrySeconds, forgiven: true } };
  if (!failure.retryable || claim.crashes + 1 >= runs.attemptsMax) return { event: { kind: "failed", failure } };
  return { event: { kind: "waiting", failure }, retry: { delaySeconds, forgiven: false } };
}
