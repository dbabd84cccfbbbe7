/**
 * A dry run: reads the beginning of each query and applies the checks of a training to it, without creating anything.
 * Where a training stops at the first fault, a dry run collects them, each with a pointer into the creation body.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { connectorOf, type ModelSpec, type Source, schemaToRead } from "../../../shared/model-spec.ts";
import { connect } from "../../read/connectors/connect.ts";
import type { Connector, ConnectorContext, ConnectorFactory } from "../../read/connectors/connector.ts";
import {
  checkInteractions,
  interactionColumns,
  type StagedInteractions,
} from "../../read/dataset/check-interactions.ts";
import { areTooManyRejected, checkInteractionsUsable, interactionWarnings } from "../../read/dataset/checks.ts";
import { idWarnings } from "../../read/dataset/id-warnings.ts";
import { numberIds } from "../../read/dataset/number-ids.ts";
import {
  attributeColumns,
  checkAttributes,
  idsOf,
  readAttributes,
  unknownIdsWarning,
} from "../../read/dataset/read-attributes.ts";
import { readInteractions } from "../../read/dataset/read-interactions.ts";
import { sessionCountOf } from "../../read/dataset/sessions.ts";
import { missingColumns, unreadableOf, withIdColumns } from "../../read/dataset/stage-query.ts";
import { openStaging, runStaged, type StagedTable, type Staging, stageRows } from "../../read/dataset/staging.ts";
import { idReading } from "../../read/rules/dialect.ts";
import { countRejected, describeRejected, type Rejected } from "../../read/rules/reject-reasons.ts";
import { NOT_ENOUGH_EVENTS, orNotEnough } from "../../run/not-enough-events.ts";
import { StageError } from "../../stage/stage-error.ts";
import type { DryRunProblem, DryRunReport, QueryReport } from "./dry-run-report.ts";
import { exampleUsers, meanRowBytes, sampleRows } from "./dry-run-sample.ts";
import { predictedSeconds } from "./predict-training.ts";

export type DryRunOptions = {
  /** The present, which the check for times in the future compares with. */
  readonly nowMs?: number;
  /** Fraction of rejected rows above which a training would stop. */
  readonly rejectedFractionMax?: number;
  /** Time that a training has for choosing a model. */
  readonly fitSecondsMax?: number;
  /** How connectors are opened, for tests. */
  readonly connect?: ConnectorFactory;
};

const SAMPLE_ROWS = 5000;
const STAGING_MB_MAX = 256;

/** Throws the signal's reason and internal errors only: every fault of the body or the data is a problem of the report. */
export async function dryRun(
  spec: ModelSpec,
  context: ConnectorContext,
  signal: AbortSignal,
  options: DryRunOptions = {},
): Promise<DryRunReport> {
  const settings = { nowMs: Date.now(), rejectedFractionMax: 0.5, fitSecondsMax: 7200, connect, ...options };
  await mkdir(context.settings.tempDirectory, { recursive: true });
  const folder = await mkdtemp(join(context.settings.tempDirectory, "dry-run-"));
  const memoryMb = Math.min(STAGING_MB_MAX, context.settings.memoryMb);
  const staging = await openStaging({ workDirectory: folder, memoryMb, signal });
  const report: DryRunReport = {
    model_name: spec.model_name,
    ok: true,
    item_id_type: null,
    queries: [],
    example_users: [],
    item_attributes: [],
    user_attributes: [],
    predicted_training: null,
    problems: [],
  };
  const read = { ...spec, schema: schemaToRead(spec) };
  const trial: Trial = { ...settings, spec: read, context, signal, staging, report, notes: [] };
  try {
    const known = await tryInteractions(trial);
    await tryAttributes(trial, "item", known);
    await tryAttributes(trial, "user", known);
    const problems = onceEach([...report.problems, ...trial.notes]);
    return { ...report, problems, ok: problems.every(({ severity }) => severity !== "error") };
  } finally {
    await staging.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Problems without those that say the same of another place, such as one file that two sources read. */
function onceEach(problems: readonly DryRunProblem[]): DryRunProblem[] {
  const first = new Map<string, DryRunProblem>();
  for (const problem of problems) {
    const key = `${problem.code} ${problem.message}`;
    if (!first.has(key)) first.set(key, problem);
  }
  return [...first.values()];
}

type Trial = Required<DryRunOptions> & {
  readonly spec: ModelSpec;
  readonly context: ConnectorContext;
  readonly signal: AbortSignal;
  readonly staging: Staging;
  readonly report: DryRunReport;
  /** What the connectors say of their sources, which follows the other problems. */
  readonly notes: DryRunProblem[];
};

/** The checked interactions of the sample, and whether it has all rows of the query. */
type CheckedSample = { readonly checked: StagedInteractions; readonly isWhole: boolean };

async function tryInteractions(trial: Trial): Promise<CheckedSample | undefined> {
  const { spec, staging, report } = trial;
  const { user, item, interaction } = spec.schema;
  const { source } = interaction;
  const pointer = "/schema/interaction/source";
  const fields = {
    "/schema/user/id": user.id,
    "/schema/item/id": item.id,
    "/schema/interaction/created_at": interaction.created_at,
    "/schema/interaction/label/name": interaction.label.name,
    ...(interaction.session_id !== undefined && { "/schema/interaction/session_id": interaction.session_id }),
  };
  const choose = () => [...interactionColumns(spec.schema)];
  const sample = await sampleQuery(trial, { what: "interaction", source, pointer, fields, choose });
  if (sample === undefined) return undefined;
  await predict(trial, sample, connectorOf(spec, source).type);
  return await orProblem(trial, "/schema/interaction", async () => {
    const nowSeconds = Math.floor(trial.nowMs / 1000);
    const checked = await checkInteractions(staging, sample.table, spec.schema, nowSeconds);
    report.item_id_type = checked.itemIdType;
    for (const note of checked.notes) addProblem(trial, "warning", "guessed_time", note);
    addRejected(trial, checked.rejected, sample);
    if (sample.table.rows === 0)
      addFault(trial, "error", new StageError("checking", "no_rows", "The query gives no rows"));
    else if (checked.accepted > 0) await checkAccepted(trial, checked, sample);
    return { checked, isWhole: sample.isWhole };
  });
}

/** Predicts rows and seconds of a training. Too many rows for the disk are a warning, since their number is an estimate. */
async function predict(trial: Trial, { table, isWhole }: Sample, connectorType: string): Promise<void> {
  const { report, fitSecondsMax, context } = trial;
  const { estimated_rows: estimate, estimated_bytes: bytes } = report.queries.at(-1)!;
  const rowBytes = await meanRowBytes(trial.staging, table);
  // BigQuery estimates no rows, but the bytes of the columns that the query reads. Bytes of files include other columns.
  const byBytes = connectorType === "BigQuery" && bytes !== null && rowBytes > 0 ? Math.round(bytes / rowBytes) : null;
  const rows = isWhole ? table.rows : (estimate ?? byBytes);
  if (rows === null) return;
  report.predicted_training = { rows, seconds: predictedSeconds({ rows, connectorType, fitSecondsMax }) };
  const needed = Math.round(rows * rowBytes);
  const { diskBytesMax } = context.settings;
  const message = `About ${rows} rows may need ${needed} bytes of disk, and a run has ${diskBytesMax} (SHORTLIST_RUN_DISK_BYTES)`;
  if (needed > diskBytesMax) addProblem(trial, "warning", "disk_budget_exceeded", message);
}

/** The field that a fault of the interactions is about, by a word of the fault's code. */
const POINTERS: readonly (readonly [word: RegExp, pointer: string])[] = [
  [/session/, "/schema/interaction/session_id"],
  [/user/, "/schema/user/id"],
  [/item/, "/schema/item/id"],
  [/time/, "/schema/interaction/created_at"],
  [/label|positive/, "/schema/interaction/label"],
  [/^id_/, "/schema"], // of a user or an item
];

function addProblem({ report }: Trial, severity: DryRunProblem["severity"], code: string, message: string): void {
  const [, pointer = "/schema/interaction/source/query"] = POINTERS.find(([word]) => word.test(code)) ?? [];
  report.problems.push({ pointer, severity, code, message });
}

/** Adds the error as a problem. Too few events are only a warning for a model that learns from events alone. */
function addFault(trial: Trial, severity: DryRunProblem["severity"], error: StageError): void {
  const { code, message } = orNotEnough(error, trial.spec) as StageError;
  addProblem(trial, code === NOT_ENOUGH_EVENTS ? "warning" : severity, code, message);
}

/** A fault of the beginning of a query is a warning, since later rows may not have it. */
async function checkAccepted(trial: Trial, checked: StagedInteractions, { table, isWhole }: Sample): Promise<void> {
  const { spec, staging, report } = trial;
  const { label } = spec.schema.interaction;
  await numberIds(staging, checked, null);
  report.example_users = await exampleUsers(staging, checked);
  const { interactions, sessions, duplicates } = await readInteractions(staging, checked, { tieOrder: "hash" });
  const among = isWhole ? "" : `Among the first ${table.rows} rows: `;
  try {
    checkInteractionsUsable(interactions, label);
  } catch (error) {
    if (!(error instanceof StageError)) throw error;
    const fault = new StageError("checking", error.code, `${among}${error.message}`);
    addFault(trial, isWhole ? "error" : "warning", fault);
  }
  const nowSeconds = trial.nowMs / 1000;
  const counts = { duplicates, sessions: sessionCountOf(spec.schema, sessions, interactions), nowSeconds };
  const warnings = [...interactionWarnings(interactions, label, counts), ...(await idWarnings(staging, checked))];
  for (const { code, message } of warnings)
    if (isWhole || code !== "few_interactions") addProblem(trial, "warning", code, `${among}${message}`);
}

/** Adds rejected rows as problems: errors when a training would stop because of their fraction of all rows. */
function addRejected(trial: Trial, rejected: Rejected, { table, unreadable, unreadableFraction }: Sample): void {
  const rejectedFraction = countRejected(rejected) / Math.max(1, table.rows);
  const fraction = unreadableFraction + (1 - unreadableFraction) * rejectedFraction;
  const severity = areTooManyRejected(fraction, trial.rejectedFractionMax) ? "error" : "warning";
  for (const [reason, message] of describedByReason(unreadable)) addProblem(trial, severity, reason, message);
  for (const [reason, message] of describedByReason(rejected))
    addProblem(trial, severity, reason, `Rows that would be left out, of ${table.rows} read: ${message}`);
}

const describedByReason = (rejected: Rejected) =>
  Object.entries(rejected).map(([reason, found]) => [reason, describeRejected({ [reason]: found })[0]!] as const);

async function tryAttributes(trial: Trial, what: "item" | "user", known: CheckedSample | undefined): Promise<void> {
  const { spec, staging, report } = trial;
  const entity = spec.schema[what];
  const { source } = entity;
  if (source === undefined) return;
  const pointer = `/schema/${what}/source`;
  const fields: Record<string, string> = { [`/schema/${what}/id`]: entity.id };
  for (const [i, { name }] of (entity.features ?? []).entries()) fields[`/schema/${what}/features/${i}/name`] = name;
  const choose = (available: readonly string[]) => attributeColumns(entity, available, what);
  const sample = await sampleQuery(trial, { what, source, pointer, fields, choose });
  if (sample === undefined) return;
  await orProblem(trial, pointer, async () => {
    const idType = what === "item" ? known?.checked.itemIdType : undefined;
    const staged = await checkAttributes(staging, sample.table, {
      entity,
      what,
      idType,
      reading: idReading(what, spec.schema),
    });
    for (const [code, message] of describedByReason(sample.unreadable))
      report.problems.push({ pointer: `${pointer}/query`, severity: "warning", code, message });
    // Every id of the sample gets an index: which of them have interactions is known of whole queries only.
    const index = `${what}_index`;
    await runStaged(staging, `CREATE TABLE ${index} AS SELECT text FROM ${idsOf(staged)}`);
    const read = await readAttributes(staging, staged, { index, count: sample.table.rows });
    const unknownIds =
      sample.isWhole && known?.isWhole && known.checked.accepted > 0
        ? await unknownIdsWarning(staging, staged, { known: what === "item" ? "item_texts" : "users", what })
        : undefined;
    for (const message of [...staged.warnings, ...read.warnings, unknownIds])
      if (message !== undefined)
        report.problems.push({ pointer, severity: "warning", code: "attribute_rows", message });
    report[`${what}_attributes`] = read.descriptions;
  });
}

type Sample = {
  readonly table: StagedTable;
  /** Whether the query gave no more rows. */
  readonly isWhole: boolean;
  /** Unreadable rows by reason: of the whole source if the connector counts them, otherwise of the sample. */
  readonly unreadable: Rejected;
  /** The unreadable rows as a fraction of the source's rows, 0…1; 0 when the number of rows is unknown. */
  readonly unreadableFraction: number;
};

type QueryToTry = {
  readonly what: "interaction" | "item" | "user";
  readonly source: Source;
  readonly pointer: string;
  /** Pointers to the fields of the schema that name columns, with these names. */
  readonly fields: Readonly<Record<string, string>>;
  /** The columns that a training would read, of those that the query gives. */
  readonly choose: (available: readonly string[]) => string[];
};

/**
 * The beginning of a query in a table. Undefined when a problem of the query was reported. Each query has a connection of
 * its own, since one that failed can end the transaction of a connection.
 */
async function sampleQuery(trial: Trial, query: QueryToTry): Promise<Sample | undefined> {
  const { spec, context, connect: open } = trial;
  const config = connectorOf(spec, query.source);
  const connectorPointer = `/connector_configs/${spec.connector_configs.indexOf(config)}`;
  const connector = await orProblem(trial, connectorPointer, () => open(config, withIdColumns(context, spec)));
  if (connector === undefined) return undefined;
  try {
    return await orProblem(trial, `${query.pointer}/query`, () => stageSample(trial, query, connector));
  } finally {
    for (const message of connector.notes?.() ?? [])
      trial.notes.push({ pointer: `${query.pointer}/query`, severity: "warning", code: "source_note", message });
    await connector.close();
  }
}

async function stageSample(
  { signal, staging, report }: Trial,
  { what, source, pointer, fields, choose }: QueryToTry,
  connector: Connector,
): Promise<Sample | undefined> {
  const found = await connector.inspect(source.query, signal);
  const query: QueryReport = {
    pointer,
    columns: found.columns.map((column) => ({ name: column.name, type: String(column.type) })),
    sample_size: 0,
    sample: [],
    estimated_rows: found.estimatedRows,
    estimated_bytes: found.estimatedBytes,
    estimated_cost_usd: found.estimatedCostUsd === null ? null : Number(found.estimatedCostUsd.toFixed(6)),
  };
  report.queries.push(query);
  const available = found.columns.map((column) => column.name);
  const missing = Object.entries(fields).filter(([, column]) => !available.includes(column));
  for (const [at, column] of missing) {
    const { code, message } = missingColumns(what, [column], available);
    report.problems.push({ pointer: at, severity: "error", code, message });
  }
  if (missing.length > 0) return undefined;
  const rows = await connector.read(source.query, { signal, columns: choose(available), limit: SAMPLE_ROWS });
  const table = await stageRows(staging, { name: `${what}_rows`, source: rows });
  query.sample_size = table.rows;
  query.sample = await sampleRows(staging, table);
  const unreadable = unreadableOf(rows);
  const isWhole = table.rows < SAMPLE_ROWS;
  const unreadableCount = countRejected(unreadable);
  const readCount = table.rows + unreadableCount;
  const allCount = isWhole ? readCount : Math.max(readCount, found.estimatedRows ?? Number.POSITIVE_INFINITY);
  return { table, isWhole, unreadable, unreadableFraction: unreadableCount / Math.max(1, allCount) };
}

/** The value of a step, or undefined once the step's StageError is in the report. */
async function orProblem<Value>(
  { report, signal }: Trial,
  pointer: string,
  step: () => Promise<Value>,
): Promise<Value | undefined> {
  try {
    return await step();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof StageError)) throw error;
    report.problems.push({ pointer, severity: "error", code: error.code, message: error.message });
    return undefined;
  }
}
