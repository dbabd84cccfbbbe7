/** The steps of a training run, in their order (train-model.ts). */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { ErasedUsers } from "../../shared/erased-users.ts";
import type { EvaluationReport } from "../../shared/evaluation-report.ts";
import { eventCount } from "../../shared/events/event-store.ts";
import type { CanaryState } from "../../shared/experiment/canary.ts";
import type { ItemColumns } from "../../shared/known-names.ts";
import type { SessionRules } from "../../shared/manifest.ts";
import type { DataSummary } from "../../shared/model-record.ts";
import { connectorOf, ITEMS_LAG_HOURS_DEFAULT, type ModelSpec, type Source } from "../../shared/model-spec.ts";
import { fitSeconds, secondsForFinalFit } from "../choose/budget.ts";
import { type Refit, refit } from "../choose/decide/refit.ts";
import type { MetricAtK } from "../choose/evaluate/evaluate.ts";
import { encodeDetail } from "../choose/report/evaluation-detail.ts";
import { type Selection, selectModel } from "../choose/select.ts";
import { interactionBytes } from "../choose/splits/sample-users.ts";
import { refitUserValues, servedCodes } from "../choose/users-without-history/serve-user-values.ts";
import { METHODS } from "../learn/methods.ts";
import { buildVersion, userSalt } from "../publish/build-version.ts";
import { checkServable } from "../publish/check-servable.ts";
import { withUserValues } from "../publish/with-user-values.ts";
import type { ConnectorContext } from "../read/connectors/connector.ts";
import { withEventTypes } from "../read/connectors/events/events.ts";
import { EVENTS_FOLDER, type FetchedEvents, fetchEvents } from "../read/connectors/events/fetch-events.ts";
import { hoursAhead } from "../read/dataset/checks.ts";
import type { Dataset } from "../read/dataset/dataset.ts";
import { reorderItems } from "../read/dataset/reorder-items.ts";
import { bySession } from "../read/dataset/sessions.ts";
import { type ReadWithinBudget, readWithinBudget } from "../read/pushdown/read-within-budget.ts";
import { spooledHistories } from "../read/spool/spool-users.ts";
import { historiesOf } from "../read/spool/user-histories.ts";
import { StageError } from "../stage/stage-error.ts";
import type { StageReporter } from "../stage/stage-reporter.ts";
import type { ModelRef } from "../store/live-pointer-swap.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { publish } from "../store/publish.ts";
import { hasChangedItems } from "../store/serving-memory.ts";
import { sweep } from "../store/sweep.ts";
import type { BuiltVersion } from "../store/version-files.ts";
import { orNotEnough } from "./not-enough-events.ts";
import { scenarioWarnings } from "./scenario-warnings.ts";
import { creationMs } from "./stored-state.ts";
import type { TrainingJob } from "./training-run.ts";

export type TrainDeps = {
  readonly connect: ConnectorContext;
  readonly store: ObjectStore;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  /** Seconds on a clock that never goes back. */
  readonly clock: () => number;
  readonly report: StageReporter;
  readonly onData: (data: DataSummary) => void;
  /** MB that the process has left beyond what it really holds. Absent: as the settings' `memoryMbMax` says. */
  readonly memoryMbFree?: (() => number) | undefined;
  /** Told which method the run tries next; undefined when it tries none any more. */
  readonly onTry?: ((method: string | undefined) => void) | undefined;
  /** True while this run still owns the model's lease. Checked before the version goes live and before each deletion of a sweep. */
  readonly ownsLease?: (() => Promise<boolean>) | undefined;
  /** Called with errors of a removal or clean-up, which do not fail the run. */
  readonly onCleanupError?: (error: unknown) => void;
  readonly onErasedRemoved?: () => void;
  readonly edgesRefreshMs?: number;
};

/** What every step of a run gets. */
export type Run = {
  readonly job: TrainingJob;
  readonly deps: TrainDeps;
  readonly model: ModelRef;
  /** Salt of the user hashes in this run's version. */
  readonly salt: Uint8Array;
};

export function beginRun(job: TrainingJob, deps: TrainDeps): Run {
  const model = { customer: job.customer, modelName: job.spec.model_name };
  const { salt } = job.erasure;
  const bytes = salt === null ? userSalt({ ...model, createdAtMs: deps.nowMs() }) : new TextEncoder().encode(salt);
  return { job, deps, model, salt: bytes };
}

type RunData = ReadWithinBudget & {
  /** When the run began to read its sources. */
  readonly readAtMs: number;
  readonly events: FetchedEvents | undefined;
  /** What models are chosen and fitted on: the dataset, or its sessions in the place of users. */
  readonly learnt: Dataset;
  /** Memory that remains beside a dataset that only the user records need. */
  readonly memoryMbMax: number;
};

export async function readData(run: Run, erased: ErasedUsers | undefined): Promise<RunData> {
  const { job, deps, model, salt } = run;
  const { spec, settings } = job;
  const { workDirectory, modelDirectory, incremental, rejectedFractionMax, memoryMbMax } = settings;
  const readAtMs = deps.nowMs();
  const events = await eventsOf(run);
  const { spec: read, eventTypes } = withEventTypes(spec);
  const data = await readWithinBudget(read, {
    context: { ...deps.connect, events },
    workDirectory,
    rejectedFractionMax,
    memoryMbMax,
    erased,
    kept: { directory: modelDirectory, ...incremental },
    signal: deps.signal,
    nowMs: deps.nowMs(),
    progress: deps.report.progress,
    salt,
    userValues: { path: join(workDirectory, "user-values.spool"), salt },
  }).catch((error: unknown) => {
    throw orNotEnough(error, spec);
  });
  checkItemTimes(spec, data.dataset);
  const of = { dataset: data.dataset, columns: itemColumns(spec) };
  const misfits = await scenarioWarnings(deps.store, model, of);
  const warnings = [...(events?.warnings ?? []), ...data.summary.warnings, ...misfits];
  deps.onData({ ...data.summary, ...(events && { events: eventCount(events.marks) }), warnings });
  const dataset = { ...data.dataset, ...(eventTypes && { eventTypes }) };
  if (data.sessions === null) return { ...data, dataset, events, readAtMs, learnt: dataset, memoryMbMax };
  const ownMb = interactionBytes(dataset) / 1e6;
  return {
    ...data,
    dataset,
    events,
    readAtMs,
    learnt: bySession(dataset, data.sessions),
    memoryMbMax: memoryMbMax - ownMb,
  };
}

const itemColumns = ({ schema: { item } }: ModelSpec): ItemColumns => ({
  itemIdColumn: item.id,
  itemCreatedAt: item.created_at,
});

/** Throws StageError unless the attribute that orders the newest items is a time. */
function checkItemTimes({ schema }: ModelSpec, { itemAttributes }: Dataset): void {
  const { created_at: name } = schema.item;
  const type = itemAttributes.find((column) => column.name === name)?.type;
  if (name === undefined || type === "Timestamp") return;
  const found = type === undefined ? "the items have no such attribute" : `it is ${type}`;
  const message = `schema.item.created_at names ${JSON.stringify(name)}, which must be an attribute of the type Timestamp: ${found}`;
  throw new StageError("checking", "item_created_at_unreadable", message);
}

/** What the sources had, for the gate of the next version. */
export function sourceFacts({ job: { spec } }: Run, { summary }: RunData): NonNullable<EvaluationReport["sources"]> {
  const { item, interaction } = spec.schema;
  const digestOf = (source: Source) =>
    createHash("sha256")
      .update(JSON.stringify([connectorOf(spec, source), source.query]))
      .digest("hex");
  const present = Object.fromEntries(summary.item_attributes.map(({ name, present }) => [name, present]));
  return {
    interactions: { digest: digestOf(interaction.source), rows: summary.interactions },
    ...(item.source && {
      items: {
        digest: digestOf(item.source),
        rows: summary.catalog_items ?? 0,
        attributes: present,
        chosen: summary.chosen_catalog_items,
      },
    }),
  };
}

const sessionRules = ({ schema: { interaction } }: ModelSpec): SessionRules | undefined =>
  interaction.session_id === undefined ? undefined : { repeats: interaction.repeats ?? false };

/** Every event that is exported now, for a model that listens to events. Later ones stay live until the next version. */
async function eventsOf({ job, deps }: Run): Promise<FetchedEvents | undefined> {
  const { events: meanings } = job.spec.schema.interaction;
  return (
    meanings &&
    (await fetchEvents(meanings, {
      store: deps.store,
      customer: job.customer,
      directory: join(job.settings.modelDirectory, EVENTS_FOLDER),
      signal: deps.signal,
      progress: (fraction) => deps.report.progress({ fraction, detail: "copying event files" }),
    }))
  );
}

/** The part of the stage TRAINING that choosing takes, by its seconds; the final fit takes the rest. */
const CHOICE_FRACTION = 0.7;

/** The selection with its replay as bytes, so that the training part is not kept in memory. */
export type ChosenModel = Omit<Selection, "replay"> & { readonly replay: Uint8Array };

export async function chooseModel(
  { job: { settings, spec }, deps }: Run,
  { learnt, userValues, memoryMbMax }: RunData,
  live: EvaluationReport | undefined,
): Promise<ChosenModel> {
  const sessions = sessionRules(spec);
  const { replay, ...selection } = await selectModel({
    dataset: learnt,
    methods: METHODS,
    ...(sessions
      ? { protocol: "sessions", includeSeen: sessions.repeats }
      : { protocol: spec.schema.interaction.events ? "live" : "service", userValues: userValues?.table }),
    ...(spec.objective && { metric: spec.objective.metric as MetricAtK, coverageMin: spec.objective.coverage_min }),
    secondsMax: fitSeconds(learnt.items.length, settings.fitSecondsMax),
    memoryMbMax,
    memoryMbFree: deps.memoryMbFree,
    tooLarge: settings.tooLarge,
    onTry: deps.onTry,
    budget: { weightBytesMax: settings.weightBytesMax },
    seed: settings.seed,
    signal: deps.signal,
    clock: deps.clock,
    live: live && { method: live.chosen.method, params: live.chosen.params },
    progress: (fraction, detail) => deps.report.progress({ fraction: CHOICE_FRACTION * fraction, detail }),
  });
  return { ...selection, replay: replay(itemColumns(spec)) };
}

export function fitOnAllData({ job: { settings }, deps }: Run, data: RunData, selection: ChosenModel) {
  const { seed, weightBytesMax } = settings;
  const { learnt: dataset, memoryMbMax } = data;
  const progress = (fraction: number, detail: string) =>
    deps.report.progress({
      fraction: CHOICE_FRACTION + (1 - CHOICE_FRACTION) * fraction,
      detail: `final fit on all data: ${detail}`,
    });
  return refit({
    dataset,
    methods: METHODS,
    choice: selection.chosen,
    halfLifeDays: selection.halfLifeDays,
    secondsMax: secondsForFinalFit(selection.report.seconds),
    context: {
      budget: { weightBytesMax },
      memoryMbMax,
      memoryMbFree: deps.memoryMbFree,
      onTry: deps.onTry,
      seed,
      signal: deps.signal,
      clock: deps.clock,
      progress,
    },
  });
}

type FinalModel = { readonly data: RunData; readonly selection: ChosenModel; readonly final: Refit };

/** The files of the version, checked to fit into an edge's memory. */
export async function buildFinal({ job, deps, model, salt }: Run, { data, selection, final }: FinalModel) {
  const { workDirectory, edgeMemoryBytes } = job.settings;
  deps.memoryMbFree?.(); // collects what choosing and fitting left behind
  const haveChanges = await hasChangedItems(deps.store, model);
  const built = await buildVersion({
    ...model,
    ...itemColumns(job.spec),
    createdAtMs: await creationMs(deps.store, model, deps.nowMs()),
    dataset: final.dataset,
    exported: final.exported,
    method: final.fitted.method,
    historyMax: final.fitted.historyMax,
    ...usersOf({ data, selection, final }, salt),
    repeatOdds: selection.repeatOdds,
    // What is ahead of this clock is in another zone than the edge's, which would show breakfast at another hour.
    knowsHours: selection.knowsHours && hoursAhead(final.dataset, data.readAtMs / 1000) === undefined,
    changesFrom: changesFrom(job.spec, data.readAtMs),
    sessions: sessionRules(job.spec),
    events: data.events && { meanings: data.events.meanings, learnt: data.events.marks },
    workDirectory,
    edgeMemoryBytes,
    haveChanges,
    signal: deps.signal,
    memoryMbFree: deps.memoryMbFree,
    progress: (fraction) => deps.report.progress({ fraction: fraction / 2, detail: "writing user records" }),
  });
  checkServable(built.manifest, edgeMemoryBytes, haveChanges);
  return built;
}

/** Epoch seconds. Only a source of items can be newer than a change. */
const changesFrom = ({ schema, items_lag_hours = ITEMS_LAG_HOURS_DEFAULT }: ModelSpec, readAtMs: number) =>
  schema.item.source && Math.floor(readAtMs / 1000 - items_lag_hours * 3600);

/** User records: from the spool where the dataset is only a sample of the users; with attribute values where these help. */
function usersOf({ data, selection, final }: FinalModel, salt: Uint8Array) {
  const { dataset } = final;
  const { userValues: choice, halfLifeDays } = selection;
  const byUser = data.sessions && !data.spool ? reorderItems(data.dataset, final.order) : dataset;
  const histories = data.spool
    ? spooledHistories(data.spool, dataset.itemIds)
    : historiesOf(byUser, byUser.userIds, salt);
  if (data.userValues === null) return { users: histories };
  const { table } = data.userValues;
  const codes = servedCodes(table, choice);
  if (codes.length === 0) return { users: histories };
  return {
    users: withUserValues(histories, data.userValues, codes),
    userValues: refitUserValues(dataset, { table, choice, halfLifeDays }),
  };
}

export function upload(
  { deps, job: { spec, settings } }: Run,
  built: BuiltVersion,
  { report, selection }: { readonly report: EvaluationReport; readonly selection: ChosenModel },
): Promise<CanaryState | undefined> {
  return publish(built, new TextEncoder().encode(JSON.stringify(report)), {
    store: deps.store,
    nowMs: deps.nowMs,
    signal: deps.signal,
    progress: (fraction, detail) =>
      deps.report.progress({ fraction: 0.5 + fraction / 2, detail: `uploading ${detail}` }),
    lists: encodeDetail(selection.detail),
    replay: selection.replay,
    ownsLease: deps.ownsLease,
    edgeMemoryBytes: settings.edgeMemoryBytes,
    canary: spec.canary && { ...spec.canary, edgeMemoryBytes: settings.edgeMemoryBytes },
  });
}

/** The version is live by now, so a failed sweep does not fail the run: the next run's sweep does the work. */
export async function cleanUp({ deps, model }: Run): Promise<void> {
  const options = { nowMs: deps.nowMs(), signal: deps.signal, mayDelete: deps.ownsLease };
  await sweep(deps.store, model, options).catch((error: unknown) => deps.onCleanupError?.(error));
}
