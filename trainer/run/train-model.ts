import { join } from "node:path";
import type { ErasedUsers } from "../../shared/erased-users.ts";
import { EvaluationReport } from "../../shared/evaluation-report.ts";
import { reportKey } from "../../shared/manifest.ts";
import type { DataSummary } from "../../shared/model-record.ts";
import type { Choice } from "../choose/choosing/choice.ts";
import { gate } from "../choose/choosing/gate.ts";
import { type Refit, refit } from "../choose/choosing/refit.ts";
import { fitSeconds } from "../choose/fit-seconds.ts";
import { refitUserValues } from "../choose/newcomers/refit-user-values.ts";
import { encodeDetail } from "../choose/reporting/evaluation-detail.ts";
import { type Selection, selectModel } from "../choose/select.ts";
import { METHODS } from "../learn/methods.ts";
import { buildVersion, timeOfVersion, userSalt } from "../publish/build-version.ts";
import { checkServable } from "../publish/check-servable.ts";
import { withUserValues } from "../publish/with-user-values.ts";
import type { ConnectorContext } from "../read/connectors/connector.ts";
import type { Dataset } from "../read/dataset/dataset.ts";
import { type ReadWithinBudget, readWithinBudget } from "../read/pushdown/read-within-budget.ts";
import { spooledHistories } from "../read/spool/spool-users.ts";
import { historiesOf } from "../read/spool/user-histories.ts";
import { StageError } from "../stage/stage-error.ts";
import type { StageReporter } from "../stage/stage-reporter.ts";
import { readErasedUsers } from "../store/erased-list.ts";
import { type ModelRef, readLivePointer } from "../store/live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "../store/object-store.ts";
import { publish } from "../store/publish.ts";
import { storedJson } from "../store/stored-json.ts";
import { sweep } from "../store/sweep.ts";
import { type KeptFits, openKeptFits } from "./kept-fits.ts";
import { runMetrics } from "./run-metrics.ts";
import type { PublishedVersion, RunMetrics, TrainingJob } from "./training-run.ts";

export type TrainDeps = {
  readonly connect: ConnectorContext;
  readonly store: ObjectStore;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  /** Seconds on a clock that never goes back. */
  readonly clock: () => number;
  readonly report: StageReporter;
  readonly onData: (data: DataSummary) => void;
  /** Whether this run is still to be heard, asked right before its version goes live; absent: nobody else can have taken it. */
  readonly isHeld?: () => Promise<boolean>;
  /** Told of what failed after the version was live, so that the run has not failed; absent: nobody wants to know. */
  readonly onLeftUndone?: (error: unknown) => void;
};

export type TrainOutcome =
  | ({ readonly kind: "published" } & PublishedVersion)
  /** The gate kept what is served; nothing was published. */
  | { readonly kind: "refused"; readonly reasons: readonly string[]; readonly metrics: RunMetrics };

/** One run: rows → dataset → split, fit, evaluate, choose → gate → refit on all data → export → publish. Throws StageError. */
export async function trainModel(job: TrainingJob, deps: TrainDeps): Promise<TrainOutcome> {
  const { store, signal, report: stage, nowMs } = deps;
  const { settings, spec, customer } = job;
  const model = { customer, modelName: spec.model_name };

  stage.enter("FETCHING");
  const salt = userSalt({ ...model, createdAtMs: nowMs() });
  const read = await readWithinBudget(spec, {
    context: deps.connect,
    workDirectory: settings.workDirectory,
    rejectedShareMax: settings.rejectedShareMax,
    memoryMbMax: settings.memoryMbMax,
    erased: await erasedUsers(store, customer),
    kept: { directory: settings.modelDirectory, ...settings.incremental },
    signal,
    nowMs: nowMs(),
    progress: stage.progress,
    salt,
    userValues: { path: join(settings.workDirectory, "user-values.spool"), salt },
  });
  const { dataset, summary } = read;
  deps.onData(summary);

  stage.enter("TRAINING");
  const fits = await openKeptFits(settings.modelDirectory, nowMs());
  const live = await liveReport(store, model);
  const selection = await select(read, job, { ...deps, fits, live: live && choiceOf(live) });

  stage.enter("EVALUATING");
  const verdict = gate(selection.report, live);
  if (!verdict.pass && !settings.ignoreGate) {
    await fits.remove();
    return { kind: "refused", reasons: verdict.reasons, metrics: runMetrics(selection.report) };
  }

  stage.enter("TRAINING");
  const refitted = await refitChosen(dataset, selection, job, { ...deps, fits });
  const finalReport = EvaluationReport.parse({ ...selection.report, gate: verdict, refit: refitted.report });

  stage.enter("DEPLOYING");
  const built = await buildVersion({
    ...model,
    itemIdColumn: spec.schema.item.id,
    createdAtMs: await creationMs(store, model, nowMs()),
    dataset: refitted.dataset,
    exported: refitted.exported,
    method: refitted.fitted.method,
    historyMax: refitted.fitted.historyMax,
    ...usersOf(read, refitted, selection, salt),
    workDirectory: settings.workDirectory,
    signal,
    progress: (share) => stage.progress({ share: share / 2, detail: "writing user records" }),
  });
  checkServable(built.manifest, settings.edgeMemoryBytes);
  const bytes = new TextEncoder().encode(JSON.stringify(finalReport));
  const progress = (share: number, detail: string) => stage.progress({ share: 0.5 + share / 2, detail });
  const outcome = await publish(built, bytes, {
    store,
    nowMs,
    signal,
    progress,
    lists: encodeDetail(selection.detail),
    ...(deps.isHeld && { isHeld: deps.isHeld }),
  });
  await fits.remove();
  // The version is live: what could not be swept is swept after the next run.
  await sweep(store, model, { nowMs: nowMs(), signal }).catch((error: unknown) => deps.onLeftUndone?.(error));
  // A newer version of another trainer is what is served then; this one can be activated.
  const version = outcome.kind === "live" ? outcome.version : outcome.liveVersion;
  return { kind: "published", version, itemIdType: dataset.itemIdType, metrics: runMetrics(finalReport) };
}

/** Of the progress that is shown, the choice's part; the refit has the rest. */
const CHOICE_SHARE = 0.7;

/** What the refit may take beside the choice: more than any candidate had, so that it can learn as long from more data. */
const REFIT_SHARE = 2 / 3;

type FitDeps = TrainDeps & { readonly fits: KeptFits };
type SelectDeps = FitDeps & { readonly live: Choice | undefined };

function select(
  { dataset, userValues }: ReadWithinBudget,
  { settings }: TrainingJob,
  deps: SelectDeps,
): Promise<Selection> {
  return selectModel({
    dataset,
    userValues: userValues?.table,
    methods: METHODS,
    protocol: "service",
    secondsMax: fitSeconds(dataset.items.length, settings.fitSecondsMax),
    memoryMbMax: settings.memoryMbMax,
    budget: { weightBytesMax: settings.weightBytesMax },
    seed: settings.seed,
    signal: deps.signal,
    clock: deps.clock,
    checkpointFolder: deps.fits.folder,
    live: deps.live,
    progress: (share, detail) => deps.report.progress({ share: CHOICE_SHARE * share, detail }),
  });
}

function refitChosen(dataset: Dataset, { chosen, halfLifeDays }: Selection, { settings }: TrainingJob, deps: FitDeps) {
  const progress = (share: number, detail: string) =>
    deps.report.progress({ share: CHOICE_SHARE + (1 - CHOICE_SHARE) * share, detail: `on all data, ${detail}` });
  const { seed, memoryMbMax, weightBytesMax } = settings;
  const { signal, clock } = deps;
  const checkpointFolder = deps.fits.folder;
  const context = { budget: { weightBytesMax }, memoryMbMax, seed, signal, clock, progress, checkpointFolder };
  const secondsMax = REFIT_SHARE * fitSeconds(dataset.items.length, settings.fitSecondsMax);
  return refit({ dataset, methods: METHODS, choice: chosen, halfLifeDays, secondsMax, context });
}

/** What is stored of users: of a dataset that has all of them that is seen at once, else spooled; and their values, where they help. */
function usersOf(
  { spool, userValues }: ReadWithinBudget,
  { dataset }: Refit,
  { userValues: choice, halfLifeDays }: Selection,
  salt: Uint8Array,
) {
  const histories = spool ? spooledHistories(spool, dataset.itemIds) : historiesOf(dataset, dataset.userIds, salt);
  if (userValues === null || choice === undefined) return { users: histories };
  return {
    users: withUserValues(histories, userValues, choice.values),
    userValues: refitUserValues(dataset, { table: userValues.table, choice, halfLifeDays }),
  };
}

/** Throws StageError `store_unavailable`: without the list nothing may be learnt. */
async function erasedUsers(store: ObjectStore, customer: string): Promise<ErasedUsers | undefined> {
  try {
    return await readErasedUsers(store, customer);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new StageError("fetching", "store_unavailable", error.message, { cause: error, retryable: error.retryable });
  }
}

/**
 * The present, or right after the live version where that was made on a clock ahead of this one: versions are told apart by their
 * names, which sort by age, so this one would else be taken for an older one and left aside.
 */
async function creationMs(store: ObjectStore, model: ModelRef, nowMs: number): Promise<number> {
  const live = (await readLivePointer(store, model))?.pointer.live;
  const liveMs = live ? timeOfVersion(live.version) : Number.NaN;
  return liveMs > nowMs ? liveMs + 1 : nowMs;
}

const choiceOf = ({ chosen }: EvaluationReport): Choice => ({ method: chosen.method, params: chosen.params });

/** The stored report of what is live; undefined when nothing is, or its report is damaged or of a form not known any more. */
async function liveReport(store: ObjectStore, model: ModelRef): Promise<EvaluationReport | undefined> {
  const live = (await readLivePointer(store, model))?.pointer.live;
  if (!live) return undefined;
  const found = await store.get(reportKey(model.customer, model.modelName, live.version));
  if (!found) return undefined;
  return EvaluationReport.safeParse(storedJson(found.bytes)).data;
}
