/**
 * One attempt of a run, from its claim to its conclusion: the record follows what the run's process tells, and in the
 * end says how it went. Nothing that a run does reaches beyond its model.
 */
import { setTimeout as delay } from "node:timers/promises";
import { errorForLog, type Log } from "../../log/log.ts";
import { redacted } from "../../log/redaction.ts";
import type { RunMessage } from "../../run/training-run.ts";
import type { RunSettings, Settings } from "../../settings.ts";
import { type ObjectStore, StoreError } from "../../store/object-store.ts";
import type { Database } from "../records/database.ts";
import type { Erasures } from "../records/erasures.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import type { Attempt, Model, RunEvent } from "../records/model-transitions.ts";
import type { Claim, Run, RunLedger } from "../records/run-ledger.ts";
import { agree } from "./agree.ts";
import type { ModelFolders } from "./model-folders.ts";
import type { PointerKeeper } from "./pointer-keeper.ts";
import { prepareRun } from "./prepare-run.ts";
import { progressWriter } from "./progress-writer.ts";
import { type ChildResult, runChild } from "./run-child.ts";

export type RunContext = {
  readonly database: Database;
  readonly registry: ModelRegistry;
  readonly ledger: RunLedger;
  readonly store: ObjectStore;
  readonly pointers: PointerKeeper;
  readonly folders: ModelFolders;
  readonly erasures: Pick<Erasures, "restoreOf">;
  readonly settings: Settings;
  /** The program of a run's process. */
  readonly program: string;
  readonly nowMs: () => number;
  readonly log: Log;
};

/** Why a run is stopped from here. `lost`: another trainer has taken it. */
export type StopReason = "cancelled" | "lost" | "stopping";

const RETRY_SECONDS_MAX = 3600;

/**
 * Works on the run until it is over or to be tried again.
 *
 * @param stop Aborted with a StopReason to end the attempt early.
 */
export async function performRun(run: Run, context: RunContext, stop: AbortController): Promise<void> {
  const { registry, ledger, pointers, folders, log } = context;
  const claim = await ledger.claim(run.runId);
  if (claim === undefined) return;
  const { runId, attempt } = claim;
  const about = { run_id: runId, attempt, customer: run.customer, model_name: run.modelName };
  const model = await registry.apply(run.customer, run.modelName, { kind: "started", runId, attempt });
  if (model === undefined || claim.cancelled) {
    await conclude(run, claim, { kind: "stopped" }, { ...context, reason: "cancelled" });
    pointers.settle(run);
    return;
  }
  log({ event: "run_started", level: "info", ...about });
  const lease = keepLease(claim, context, stop);
  try {
    const outcome = await attemptRun(model, claim, { ...context, lease });
    const reason = stop.signal.aborted ? (stop.signal.reason as StopReason) : undefined;
    await conclude(run, claim, outcome, { ...context, reason });
  } finally {
    lease.end();
    pointers.settle(run); // whatever the process has published, even if nobody listened to it any more
    await folders.removeRun(runId);
  }
}

type Outcome = ChildResult["outcome"];

/** The outcome of one attempt; what fails around the process is a failure of the run too. */
async function attemptRun(
  model: Model,
  claim: Claim,
  context: RunContext & { readonly lease: Lease },
): Promise<Outcome> {
  const { settings, log, lease } = context;
  if (claim.crashes >= settings.runs.attemptsMax)
    return failed(
      "run_lost",
      `The last of ${claim.crashes} attempts at this run ended with its trainer, so it is not tried again.`,
      false,
    );
  try {
    // A process publishes only over a pointer, so it is there before the process is; and a trainer that died between publishing
    // and noting it left the record behind what is served.
    await agree(model, context);
    await context.erasures.restoreOf(model.customer); // the process leaves out whom the list names
    const prepared = await prepareRun(model, claim.runId, context);
    const clean = <Value>(value: Value) => redacted(value, prepared.secrets);
    const progress = progressWriter(claim, model, context);
    const result = await runChild({
      ...prepared,
      program: context.program,
      memoryMbMax: settings.runs.memoryMbMax,
      secondsMax: settings.runs.secondsMax,
      signal: lease.signal,
      onMessage: (message) => progress.write(cleaned(message, clean)),
      ownsLease: lease.ownsLease,
    });
    await progress.end();
    const { kind } = result.outcome;
    const output = result.outputTail !== "" ? { output: clean(result.outputTail) } : {};
    const level = kind === "failed" ? "warning" : "info";
    const figures = { seconds: Math.round(result.seconds * 10) / 10, peak_mb: result.peakMb };
    log({ event: "run_ended", level, ...aboutOf(model, claim), outcome: kind, ...figures, ...output });
    return cleaned(result.outcome, clean);
  } catch (error) {
    log({ event: "run_error", level: "error", ...aboutOf(model, claim), error: errorForLog(error) });
    if (error instanceof StoreError) return failed("store_unavailable", "The store of models does not answer.", true);
    return failed("internal", "Something failed on the trainer; the operator's log tells what.", true);
  }
}

type Cleaning = <Value>(value: Value) => Value;

/** Clean in what is written for people; a version's name, a code or a state is never changed. */
function cleaned<Told extends RunMessage | Outcome>(told: Told, clean: Cleaning): Told;
function cleaned(told: RunMessage | Outcome, clean: Cleaning): RunMessage | Outcome {
  switch (told.kind) {
    case "failed":
      return { ...told, failure: { ...told.failure, message: clean(told.failure.message) } };
    case "refused":
      return { ...told, reasons: clean(told.reasons) };
    case "progress":
      return { ...told, progress: { ...told.progress, detail: clean(told.progress.detail) } };
    case "data":
      return { ...told, data: clean(told.data) };
    default:
      return told;
  }
}

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

type Lease = {
  readonly signal: AbortSignal;
  /** By the ledger as it is now: a machine that slept wakes up with a run that may be another's. Never rejects. */
  ownsLease(): Promise<boolean>;
  end(): void;
};

/** Renews the lease of the run; stops the run when it was cancelled, taken by another, or cannot be renewed in time. */
function keepLease(attempt: Attempt, { ledger, settings, log }: RunContext, stop: AbortController): Lease {
  const heartbeatMs = settings.runs.heartbeatSeconds * 1000;
  const { signal } = stop;
  let renewedMs = performance.now();
  let pending: Promise<boolean> | undefined;
  /** Another trainer may take the run after heartbeatSeconds; by then this one must have let go. */
  const letGoIfLate = () => {
    if (performance.now() - renewedMs > heartbeatMs / 2) stop.abort("lost" satisfies StopReason);
  };
  const ask = async (): Promise<boolean> => {
    const askedMs = performance.now();
    try {
      const state = await ledger.renew(attempt);
      if (state === "owned") renewedMs = askedMs;
      else stop.abort(state satisfies StopReason);
      return state === "owned";
    } catch (error) {
      log({ event: "renewal_failed", level: "warning", run_id: attempt.runId, error: errorForLog(error) });
      letGoIfLate();
      return false;
    }
  };
  const renew = async (): Promise<boolean> => {
    pending = ask();
    const ownsLease = await pending;
    pending = undefined;
    return ownsLease;
  };
  const renewal = setInterval(() => {
    if (pending === undefined) void renew();
    else letGoIfLate(); // a database that has fallen silent neither answers nor fails
  }, heartbeatMs / 6);
  return {
    signal,
    async ownsLease() {
      while (!signal.aborted) {
        await pending; // what was asked before may be answered by what was true before
        if (await renew()) return true;
        // A database that does not answer right now is asked again until the lease ends.
        await delay(heartbeatMs / 12, undefined, { signal }).catch(() => undefined);
      }
      return false;
    },
    end: () => clearInterval(renewal),
  };
}

type Conclusion = RunContext & { readonly reason: StopReason | undefined };

/** The end of an attempt, in the record and in the ledger at once: nobody sees the one without the other. */
async function conclude(run: Run, claim: Claim, outcome: Outcome, context: Conclusion): Promise<void> {
  const { database, registry, ledger, settings, reason, nowMs } = context;
  if (reason === "lost") return;
  const end = endingOf(outcome, claim, { runs: settings.runs, reason, at: new Date(nowMs()).toISOString() });
  const { runId, attempt } = claim;
  await database.transaction(async (queries) => {
    const event = { ...end.event, runId, attempt };
    const changed = await registry.apply(run.customer, run.modelName, event, queries);
    if (end.retry !== undefined && changed !== undefined) await ledger.release(claim, end.retry, queries);
    else await ledger.finish(claim, end.event.kind, queries);
  });
}

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
    const failure = { stage: "evaluating", code: "version_refused", message, at, retryable: false };
    return { event: { kind: "failed", failure, idle: true } };
  }
  const delaySeconds = Math.min(RETRY_SECONDS_MAX, runs.retrySeconds * 2 ** claim.crashes);
  if (outcome.kind === "stopped") {
    const forgiven = reason === "stopping"; // anything else that stops runs again and again ends by attemptsMax
    return {
      event: { kind: "waiting", failure: null },
      retry: { delaySeconds: forgiven ? 0 : delaySeconds, forgiven },
    };
  }
  const failure = { ...outcome.failure, at };
  if (!failure.retryable || claim.crashes + 1 >= runs.attemptsMax) return { event: { kind: "failed", failure } };
  return { event: { kind: "waiting", failure }, retry: { delaySeconds, forgiven: false } };
}
