/**
 * A dry run: reads the beginning of each query and applies the checks of a training to it, without creating anything.
 * Where a training stops at the first fault, a dry run collects them, each with a pointer into the creation body.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { AttributeDescription } from "../../../shared/model-record.ts";
import { type ConnectorConfig, connectorOf, type ModelSpec, type Source } from "../../../shared/model-spec.ts";
import { didYouMean } from "../../../shared/nearest-name.ts";
import { connect } from "../../read/connectors/connect.ts";
import type { Connector, ConnectorContext, ConnectorFactory } from "../../read/connectors/connector.ts";
import {
  checkInteractions,
  interactionColumns,
  type StagedInteractions,
} from "../../read/dataset/check-interactions.ts";
import { areTooManyRejected, checkInteractionsUsable, interactionWarnings } from "../../read/dataset/checks.ts";
import { numberIds } from "../../read/dataset/number-ids.ts";
import {
  attributeColumns,
  checkAttributes,
  idsOf,
  readAttributes,
  unknownIdsWarning,
} from "../../read/dataset/read-attributes.ts";
import { readInteractions } from "../../read/dataset/read-interactions.ts";
import { unreadableOf } from "../../read/dataset/stage-query.ts";
import { openStaging, runStaged, type StagedTable, type Staging, stageRows } from "../../read/dataset/staging.ts";
import { countRejected, describeRejected, meaningOf, type Rejected } from "../../read/rules/reject-reasons.ts";
import { StageError } from "../../stage/stage-error.ts";
import { sampleRows } from "./dry-run-sample.ts";
import { predictTraining } from "./predict-training.ts";

/** A problem that a creation body would lead to. */
export const DryRunProblem = z.strictObject({
  pointer: z.string(), // JSON pointer (RFC 6901) into the creation body
  severity: z.enum(["error", "warning"]),
  code: z.string(),
  message: z.string(),
});
export type DryRunProblem = z.infer<typeof DryRunProblem>;

const QueryReport = z.strictObject({
  pointer: z.string(),
  columns: z.array(z.strictObject({ name: z.string(), type: z.string() })),
  /** Rows that were read for this report. */
  sample_size: z.number(),
  /** The first of those rows, at most five, with the columns that a training would read. */
  sample: z.array(z.record(z.string(), z.unknown())),
  estimated_rows: z.number().nullable(),
  estimated_bytes: z.number().nullable(),
  estimated_cost_usd: z.number().nullable(),
});

export const DryRunReport = z.strictObject({
  model_name: z.string(),
  /** True when no problem is an error. */
  ok: z.boolean(),
  item_id_type: z.enum(["string", "integer"]).nullable(),
  queries: z.array(QueryReport),
  item_attributes: z.array(AttributeDescription),
  user_attributes: z.array(AttributeDescription),
  /** Null when the number of rows is unknown. */
  predicted_training: z.strictObject({ rows: z.number(), seconds: z.number() }).nullable(),
  problems: z.array(DryRunProblem),
});
export type DryRunReport = z.infer<typeof DryRunReport>;

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
  const { nowMs = Date.now(), rejectedFractionMax = 0.5, fitSecondsMax = 7200, connect: open = connect } = options;
  await mkdir(context.settings.tempDirectory, { recursive: true });
  const folder = await mkdtemp(join(context.settings.tempDirectory, "dry-run-"));
  const memoryMb = Math.min(STAGING_MB_MAX, context.settings.memoryMb);
  const staging = await openStaging({ workDirectory: folder, memoryMb });
  const report: DryRunReport = {
    model_name: spec.model_name,
    ok: true,
    item_id_type: null,
    queries: [],
    item_attributes: [],
    user_attributes: [],
    predicted_training: null,
    problems: [],
  };
  const openStore = (config: ConnectorConfig) => open(config, context);
  const trial: Trial = { spec, signal, nowMs, rejectedFractionMax, fitSecondsMax, openStore, staging, report };
  try {
    const known = await tryInteractions(trial);
    await tryAttributes(trial, "item", known);
    await tryAttributes(trial, "user", known);
    report.ok = report.problems.every(({ severity }) => severity !== "error");
    return DryRunReport.parse(report);
  } finally {
    await staging.close();
    await rm(folder, { recursive: true, force: true });
  }
}

type Trial = Required<Omit<DryRunOptions, "connect">> & {
  readonly spec: ModelSpec;
  readonly signal: AbortSignal;
  readonly openStore: (config: ConnectorConfig) => Promise<Connector>;
  readonly staging: Staging;
  readonly report: DryRunReport;
};

/** The interactions of the sample, or undefined when they could not be checked. */
type Known = { readonly checked: StagedInteractions; readonly isWhole: boolean };

async function tryInteractions(trial: Trial): Promise<Known | undefined> {
  const { spec, signal, staging, report, fitSecondsMax } = trial;
  const { user, item, interaction } = spec.schema;
  const pointer = "/schema/interaction/source";
  const fields = {
    "/schema/user/id": user.id,
    "/schema/item/id": item.id,
    "/schema/interaction/created_at": interaction.created_at,
    "/schema/interaction/label/name": interaction.label.name,
  };
  const choose = () => interactionColumns(spec.schema);
  const sample = await sampleQuery(trial, {
    name: "interaction_rows",
    source: interaction.source,
    pointer,
    fields,
    choose,
  });
  if (sample === undefined) return undefined;
  const connectorType = connectorOf(spec, interaction.source).type;
  const { estimated_rows: rows, estimated_bytes: bytes } = report.queries.at(-1)!;
  const size = { rows, bytes, connectorType, fitSecondsMax, isWhole: sample.isWhole };
  report.predicted_training = await predictTraining(staging, sample.table, size);
  return await orProblem(trial, "/schema/interaction", async () => {
    const nowSeconds = Math.floor(trial.nowMs / 1000);
    const checked = await checkInteractions(staging, sample.table, spec.schema, { nowSeconds, signal });
    report.item_id_type = checked.itemIdType;
    report.problems.push(...rejectProblems(checked.rejected, sample, trial.rejectedFractionMax));
    if (sample.table.rows === 0) {
      const message = "The query gives no rows";
      report.problems.push({ pointer: `${pointer}/query`, severity: "error", code: "no_rows", message });
    } else if (checked.accepted > 0) await checkAccepted(trial, checked, sample);
    return { checked, isWhole: sample.isWhole };
  });
}

/** The field that a fault of the interactions is about, by the fault's code; absent: ids, or the query as a whole. */
const POINTER_OF_CODE: Readonly<Record<string, string>> = {
  malformed_line: "/schema/interaction/source/query",
  missing_user: "/schema/user/id",
  one_user: "/schema/user/id",
  missing_item: "/schema/item/id",
  too_few_items: "/schema/item/id",
  missing_time: "/schema/interaction/created_at",
  unparsable_time: "/schema/interaction/created_at",
  time_out_of_range: "/schema/interaction/created_at",
  future_time: "/schema/interaction/created_at",
  one_time: "/schema/interaction/created_at",
  old_times: "/schema/interaction/created_at",
  missing_label: "/schema/interaction/label/name",
  unparsable_label: "/schema/interaction/label",
  all_labels_negative: "/schema/interaction/label",
  no_positives: "/schema/interaction/label",
  all_positive: "/schema/interaction/label",
};

/** A fault of the beginning of a query is a warning, since later rows may not have it. */
async function checkAccepted(trial: Trial, checked: StagedInteractions, { table, isWhole }: Sample): Promise<void> {
  const { spec, staging, signal, report } = trial;
  const { label } = spec.schema.interaction;
  await numberIds(staging, checked, { moreItems: null, signal });
  const options = { tieOrder: "hash", signal, progress: () => undefined } as const;
  const { interactions, duplicates } = await readInteractions(staging, checked, options);
  const among = isWhole ? "" : `Among the first ${table.rows} rows: `;
  const add = (severity: DryRunProblem["severity"], code: string, message: string) => {
    const pointer = POINTER_OF_CODE[code] ?? "/schema/interaction/source/query";
    report.problems.push({ pointer, severity, code, message: `${among}${message}` });
  };
  try {
    checkInteractionsUsable(interactions, label);
  } catch (error) {
    if (!(error instanceof StageError)) throw error;
    add(isWhole ? "error" : "warning", error.code, error.message);
  }
  for (const { code, message } of interactionWarnings(interactions, label, duplicates))
    if (isWhole || code !== "few_interactions") add("warning", code, message);
}

/** Problems of rejected rows: errors when a training would stop because of their fraction of all rows. */
function rejectProblems(rejected: Rejected, sample: Sample, rejectedFractionMax: number): DryRunProblem[] {
  const { table, unreadable, unreadableFraction } = sample;
  const rejectedFraction = countRejected(rejected) / Math.max(1, table.rows);
  const fraction = unreadableFraction + (1 - unreadableFraction) * rejectedFraction;
  const severity = areTooManyRejected(fraction, rejectedFractionMax) ? "error" : "warning";
  const problem = (code: string, message: string): DryRunProblem => {
    return { pointer: POINTER_OF_CODE[code] ?? "/schema", severity, code, message };
  };
  return [
    ...unreadableMessages(unreadable).map(([reason, message]) => problem(reason, message)),
    ...Object.entries(rejected).map(([reason, found]) => {
      const description = describeRejected({ [reason]: found })[0];
      return problem(reason, `Rows that would be left out, of ${table.rows} read: ${description}`);
    }),
  ];
}

const unreadableMessages = (unreadable: Rejected) =>
  Object.entries(unreadable).map(([reason, { count }]) => [reason, `${count} × ${meaningOf(reason)}`] as const);

async function tryAttributes(trial: Trial, what: "item" | "user", known: Known | undefined): Promise<void> {
  const { spec, signal, staging, report } = trial;
  const entity = spec.schema[what];
  const { source } = entity;
  if (source === undefined) return;
  const pointer = `/schema/${what}/source`;
  const fields: Record<string, string> = { [`/schema/${what}/id`]: entity.id };
  for (const [i, { name }] of (entity.features ?? []).entries()) fields[`/schema/${what}/features/${i}/name`] = name;
  const choose = (available: readonly string[]) => attributeColumns(entity, available, what);
  const sample = await sampleQuery(trial, { name: `${what}_rows`, source, pointer, fields, choose });
  if (sample === undefined) return;
  await orProblem(trial, pointer, async () => {
    const idType = what === "item" ? known?.checked.itemIdType : undefined;
    const staged = await checkAttributes(staging, sample.table, { entity, what, idType, signal });
    for (const [code, message] of unreadableMessages(sample.unreadable))
      report.problems.push({ pointer: `${pointer}/query`, severity: "warning", code, message });
    // Every id of the sample gets an index: which of them have interactions is known of whole queries only.
    const index = `${what}_index`;
    await runStaged(staging, `CREATE TABLE ${index} AS SELECT text FROM ${idsOf(staged)}`, signal);
    const read = await readAttributes(staging, staged, { index, count: sample.table.rows, signal });
    const unknownIds =
      sample.isWhole && known?.isWhole && known.checked.accepted > 0
        ? await unknownIdsWarning(staging, staged, { known: what === "item" ? "item_texts" : "users", what, signal })
        : undefined;
    for (const message of [...staged.warnings, ...read.warnings, unknownIds])
      if (message !== undefined)
        report.problems.push({ pointer, severity: "warning", code: "attribute_rows", message });
    report[`${what}_attributes`] = [...read.descriptions];
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
  readonly name: string; // of the table
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
  const { spec, openStore } = trial;
  const config = connectorOf(spec, query.source);
  const connectorPointer = `/connector_configs/${spec.connector_configs.indexOf(config)}`;
  const connector = await orProblem(trial, connectorPointer, () => openStore(config));
  if (connector === undefined) return undefined;
  try {
    return await orProblem(trial, `${query.pointer}/query`, () => stageSample(trial, query, connector));
  } finally {
    await connector.close();
  }
}

async function stageSample(
  { signal, staging, report }: Trial,
  { name, source, pointer, fields, choose }: QueryToTry,
  connector: Connector,
): Promise<Sample | undefined> {
  const found = await connector.inspect(source.query, signal);
  const query: DryRunReport["queries"][number] = {
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
  report.problems.push(...missing.map(([at, column]) => missingColumn(at, column, available)));
  if (missing.length > 0) return undefined;
  const rows = await connector.read(source.query, { signal, columns: choose(available), limit: SAMPLE_ROWS });
  const table = await stageRows(staging, { name, source: rows }, { signal, progress: () => undefined });
  query.sample_size = table.rows;
  query.sample = await sampleRows(staging, table);
  const unreadable = unreadableOf(rows);
  const isWhole = table.rows < SAMPLE_ROWS;
  const unreadableCount = countRejected(unreadable);
  const readCount = table.rows + unreadableCount;
  const allCount = isWhole ? readCount : Math.max(readCount, found.estimatedRows ?? Number.POSITIVE_INFINITY);
  return { table, isWhole, unreadable, unreadableFraction: unreadableCount / Math.max(1, allCount) };
}

function missingColumn(pointer: string, name: string, available: readonly string[]): DryRunProblem {
  const columns = available.slice(0, 50).map((column) => JSON.stringify(column));
  const message = `The query gives no column ${JSON.stringify(name)}; its columns are ${columns.join(", ")}${didYouMean(name, available)}`;
  return { pointer, severity: "error", code: "missing_column", message };
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
