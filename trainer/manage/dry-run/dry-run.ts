import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { AttributeDescription } from "../../../shared/model-record.ts";
import { connectorOf, type ModelSpec, type Source } from "../../../shared/model-spec.ts";
import { didYouMean } from "../../../shared/nearest-name.ts";
import { connect } from "../../read/connectors/connect.ts";
import type { Connector, ConnectorContext, ConnectorFactory } from "../../read/connectors/connector.ts";
import {
  checkInteractions,
  interactionColumns,
  type Rejected,
  type StagedInteractions,
} from "../../read/dataset/check-interactions.ts";
import {
  countRejected,
  describeRejected,
  isRejectReason,
  meaningOf,
  type RejectReason,
} from "../../read/dataset/checks.ts";
import type { TypedAttribute } from "../../read/dataset/infer-attributes.ts";
import { attributeColumns, checkAttributes, strangersWarning } from "../../read/dataset/read-attributes.ts";
import { unreadableOf } from "../../read/dataset/stage-query.ts";
import { openStaging, readStaged, type StagedTable, type Staging, stageRows } from "../../read/dataset/staging.ts";
import { StageError } from "../../stage/stage-error.ts";
import { meanRowBytes, sampleRows } from "./dry-run-sample.ts";
import { predictedSeconds } from "./predict-training.ts";

/** A problem or a warning that a creation body would lead to. */
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
  /** The first of them: at most five, of the columns that would be read. */
  sample: z.array(z.record(z.string(), z.unknown())),
  estimated_rows: z.number().nullable(),
  estimated_bytes: z.number().nullable(),
  estimated_cost_usd: z.number().nullable(),
});

export const DryRunReport = z.strictObject({
  model_name: z.string(),
  /** Whether nothing was found that would stop a training. */
  ok: z.boolean(),
  item_id_type: z.enum(["string", "integer"]).nullable(),
  queries: z.array(QueryReport),
  item_attributes: z.array(AttributeDescription),
  user_attributes: z.array(AttributeDescription),
  /** Null where nobody knows how many rows there are. */
  predicted_training: z.strictObject({ rows: z.number(), seconds: z.number() }).nullable(),
  problems: z.array(DryRunProblem),
});
export type DryRunReport = z.infer<typeof DryRunReport>;

export type DryRunOptions = {
  /** The present; else the machine's clock. */
  readonly nowMs?: number;
  /** Share of refused rows above which a training would stop. */
  readonly rejectedShareMax?: number;
  /** Time that a training has for choosing a model. */
  readonly fitSecondsMax?: number;
  /** How connectors are opened, for tests. */
  readonly connect?: ConnectorFactory;
};

const SAMPLE_ROWS = 5000;

/**
 * Connects, reads the beginning of each query, and tells what a training would find. Nothing is kept or created. What is
 * wrong with the body or the data is a problem of the report; throws only the signal's reason and our own mistakes.
 */
export async function dryRun(
  spec: ModelSpec,
  context: ConnectorContext,
  signal: AbortSignal,
  options: DryRunOptions = {},
): Promise<DryRunReport> {
  await mkdir(context.settings.tempDirectory, { recursive: true });
  const folder = await mkdtemp(join(context.settings.tempDirectory, "dry-run-"));
  const staging = await openStaging({ workDirectory: folder, memoryMb: Math.min(256, context.settings.memoryMb) });
  const report: Mutable = {
    model_name: spec.model_name,
    ok: true,
    item_id_type: null,
    queries: [],
    item_attributes: [],
    user_attributes: [],
    predicted_training: null,
    problems: [],
  };
  const { nowMs = Date.now(), rejectedShareMax = 0.5, fitSecondsMax = 7200, connect: open = connect } = options;
  const state: DryRunState = { spec, context, signal, nowMs, rejectedShareMax, fitSecondsMax, open, staging, report };
  try {
    const known = await tryInteractions(state);
    await tryAttributes(state, "item", known);
    await tryAttributes(state, "user", known);
    report.ok = report.problems.every(({ severity }) => severity !== "error");
    return DryRunReport.parse(report);
  } finally {
    await staging.close();
    await rm(folder, { recursive: true, force: true });
  }
}

type Mutable = { -readonly [Field in keyof DryRunReport]: DryRunReport[Field] };
type DryRunState = {
  readonly spec: ModelSpec;
  readonly context: ConnectorContext;
  readonly signal: AbortSignal;
  readonly nowMs: number;
  readonly rejectedShareMax: number;
  readonly fitSecondsMax: number;
  readonly open: ConnectorFactory;
  readonly staging: Staging;
  readonly report: Mutable;
};

/** What the interactions told: undefined when they cannot be judged. */
type Known = { readonly checked: StagedInteractions; readonly isWhole: boolean };

async function tryInteractions(state: DryRunState): Promise<Known | undefined> {
  const { spec, signal, staging, report } = state;
  const { source } = spec.schema.interaction;
  const pointer = "/schema/interaction/source";
  const sample = await sampleQuery(state, { name: "interaction_rows", source, pointer }, (available) => {
    const problems = missingColumns(spec, available);
    report.problems.push(...problems);
    return problems.length === 0 ? interactionColumns(spec.schema) : undefined;
  });
  if (sample === undefined) return undefined;
  report.predicted_training = await predicted(state, sample, report.queries.at(-1)!);
  return await orProblem(state, "/schema/interaction", async () => {
    const nowSeconds = Math.floor(state.nowMs / 1000);
    const checked = await checkInteractions(staging, sample.table, spec.schema, { nowSeconds, signal });
    report.item_id_type = checked.itemIdType;
    report.problems.push(...rejectProblems(checked.rejected, sample, state.rejectedShareMax));
    report.problems.push(...(await contentProblems(state, checked.acceptedSql, sample)));
    return { checked, isWhole: sample.isWhole };
  });
}

/** BigQuery does not tell its rows, but the bytes of the query's columns; those of files are of whatever is in them. */
async function predicted(state: DryRunState, { table, isWhole }: Sample, query: z.infer<typeof QueryReport>) {
  const { spec, fitSecondsMax, staging } = state;
  const connectorType = connectorOf(spec, spec.schema.interaction.source).type;
  const bytes = connectorType === "BigQuery" ? query.estimated_bytes : null;
  const rowBytes = await meanRowBytes(staging, table);
  const byBytes = bytes === null || rowBytes === 0 ? null : Math.round(bytes / rowBytes);
  const rows = isWhole ? table.rows : (query.estimated_rows ?? byBytes);
  return rows === null ? null : { rows, seconds: predictedSeconds({ rows, connectorType, fitSecondsMax }) };
}

/** What the accepted rows of the sample lack. Of a whole query, that would stop a training; of a part, it may. */
async function contentProblems(state: DryRunState, acceptedSql: string, sample: Sample): Promise<DryRunProblem[]> {
  const [row] = await readStaged(
    state.staging,
    `SELECT count(*) AS accepted, count(DISTINCT user_key) AS users, count(DISTINCT item_key) AS items,
     coalesce(sum(positive), 0) AS positives FROM ${acceptedSql}`,
    state.signal,
  );
  const count = (name: string) => Number(row![name]);
  const severity = sample.isWhole ? ("error" as const) : ("warning" as const);
  const among = sample.isWhole ? "" : ` among the first ${sample.table.rows} rows`;
  const problems: DryRunProblem[] = [];
  const add = (condition: boolean, pointer: string, [code, message]: readonly [string, string]) => {
    if (condition) problems.push({ pointer, severity, code, message });
  };
  if (sample.table.rows === 0) {
    add(true, "/schema/interaction/source/query", ["no_rows", "The query gives no rows"]);
    return problems;
  }
  if (count("accepted") === 0) return problems; // the rejects say why
  if (count("users") < 2)
    problems.push({
      pointer: "/schema/user/id",
      severity: "warning",
      code: "one_user",
      message: `There is only one user${among}`,
    });
  add(count("items") < 2, "/schema/item/id", ["too_few_items", `There is only one item${among}`]);
  const { label } = state.spec.schema.interaction;
  const none = label.type === "Binary" ? "all_labels_negative" : "no_positives";
  add(count("positives") === 0, "/schema/interaction/label", [none, `No label is positive${among}`]);
  if (sample.isWhole && count("accepted") < FEW_INTERACTIONS)
    problems.push({
      pointer: "/schema/interaction/source/query",
      severity: "warning",
      code: "few_interactions",
      message: `There are only ${count("accepted")} interactions; below ${FEW_INTERACTIONS}, lists will be close to plain popularity`,
    });
  return problems;
}

const FEW_INTERACTIONS = 1000;

/** Which field of the schema a reason for refusing rows is about. */
const POINTER_OF_REASON: Readonly<Record<RejectReason, string>> = {
  malformed_line: "/schema/interaction/source/query",
  missing_user: "/schema/user/id",
  missing_item: "/schema/item/id",
  id_too_long: "/schema", // of a user or of an item
  id_has_nul: "/schema",
  id_not_finite: "/schema",
  id_not_exact: "/schema",
  missing_time: "/schema/interaction/created_at",
  unparsable_time: "/schema/interaction/created_at",
  time_out_of_range: "/schema/interaction/created_at",
  future_time: "/schema/interaction/created_at",
  missing_label: "/schema/interaction/label/name",
  unparsable_label: "/schema/interaction/label",
};

/** A training refuses by the share of all rows, the lines that no reading gives among them. */
function rejectProblems(rejected: Rejected, sample: Sample, shareMax: number): DryRunProblem[] {
  const { table, unreadable, unreadableShare } = sample;
  const refusedShare = countRejected(rejected) / Math.max(1, table.rows);
  const share = unreadableShare + (1 - unreadableShare) * refusedShare;
  const severity = share > shareMax || share >= 1 ? "error" : "warning";
  const problem = (reason: string, message: string): DryRunProblem => ({
    pointer: isRejectReason(reason) ? POINTER_OF_REASON[reason] : "/schema",
    severity,
    code: reason,
    message,
  });
  return [
    ...Object.keys(unreadable).map((reason) => problem(reason, unreadableMessage(unreadable, reason))),
    ...Object.entries(rejected).map(([reason, found]) => {
      const told = describeRejected({ [reason]: found })[0];
      return problem(reason, `Rows that would be left out, of ${table.rows} read: ${told}`);
    }),
  ];
}

const unreadableMessage = (unreadable: Rejected, reason: string) =>
  `${unreadable[reason]!.count} × ${meaningOf(reason)}`;

function missingColumns({ schema }: ModelSpec, available: readonly string[]): DryRunProblem[] {
  const { user, item, interaction } = schema;
  const wanted = {
    "/schema/user/id": user.id,
    "/schema/item/id": item.id,
    "/schema/interaction/created_at": interaction.created_at,
    "/schema/interaction/label/name": interaction.label.name,
  };
  return Object.entries(wanted)
    .filter(([, name]) => !available.includes(name))
    .map(([pointer, name]) => missingColumn(pointer, name, available));
}

function missingColumn(pointer: string, name: string, available: readonly string[]): DryRunProblem {
  const columns = available.slice(0, 50).map((one) => JSON.stringify(one));
  const message = `The query gives no column ${JSON.stringify(name)}; its columns are ${columns.join(", ")}${didYouMean(name, available)}`;
  return { pointer, severity: "error", code: "missing_column", message };
}

async function tryAttributes(state: DryRunState, what: "item" | "user", known: Known | undefined): Promise<void> {
  const { spec, signal, staging, report } = state;
  const entity = spec.schema[what];
  const { source } = entity;
  if (source === undefined) return;
  const pointer = `/schema/${what}/source`;
  const sample = await sampleQuery(state, { name: `${what}_rows`, source, pointer }, (available) => {
    const wanted = [
      [`/schema/${what}/id`, entity.id] as const,
      ...(entity.features ?? []).map(({ name }, i) => [`/schema/${what}/features/${i}/name`, name] as const),
    ];
    const missing = wanted.filter(([, name]) => !available.includes(name));
    report.problems.push(...missing.map(([at, name]) => missingColumn(at, name, available)));
    return missing.length === 0 ? attributeColumns(entity, available, what) : undefined;
  });
  if (sample === undefined) return;
  await orProblem(state, pointer, async () => {
    const idType = what === "item" ? known?.checked.itemIdType : undefined;
    const staged = await checkAttributes(staging, sample.table, { entity, what, idType, signal });
    for (const reason of Object.keys(sample.unreadable)) {
      const message = unreadableMessage(sample.unreadable, reason);
      report.problems.push({ pointer: `${pointer}/query`, severity: "warning", code: reason, message });
    }
    const isWhole = sample.isWhole && known?.isWhole;
    const strangers =
      isWhole && (await strangersWarning(staging, staged, { known: idsSql(known.checked, what), what, signal }));
    for (const message of strangers ? [...staged.warnings, strangers] : staged.warnings)
      report.problems.push({ pointer, severity: "warning", code: "attribute_rows", message });
    const describe = (attribute: TypedAttribute) => describeAttribute(state, staged.table, attribute);
    const described = await Promise.all(staged.attributes.map(describe));
    if (what === "item") report.item_attributes = described;
    else report.user_attributes = described;
  });
}

/** As the training counts: a list without elements is no value, and what differs are a list's elements. */
async function describeAttribute({ staging, signal }: DryRunState, table: string, attribute: TypedAttribute) {
  const { name, type, inferred, value } = attribute;
  const isList = type === "CategoryList";
  const [row] = await readStaged(
    staging,
    `WITH typed AS (SELECT ${value} AS v FROM ${table})
     SELECT count(*) FILTER (${isList ? "len(v) > 0" : "v IS NOT NULL"}) AS present,
     (SELECT count(DISTINCT x) FROM (SELECT ${isList ? "unnest(v)" : "v"} AS x FROM typed)) AS different FROM typed`,
    signal,
  );
  const hasDictionary = isList || type === "Category" || type === "Text";
  return {
    name,
    type,
    inferred,
    present: Number(row!.present),
    distinct: hasDictionary ? Number(row!.different) : null,
  };
}

/** SQL of the accepted interactions' ids, column `text`. */
function idsSql({ acceptedSql, userKey, itemKey }: StagedInteractions, what: "item" | "user"): string {
  const { text } = what === "item" ? itemKey : userKey;
  return `(SELECT ${text} AS text FROM (SELECT DISTINCT ${what}_key AS key FROM ${acceptedSql}))`;
}

type Sample = {
  readonly table: StagedTable;
  /** Whether the query gave no more rows. */
  readonly isWhole: boolean;
  /** Of the source, not only of its beginning, where it can tell. */
  readonly unreadable: Rejected;
  /** Their share of the source's rows: 0…1, and 0 where nobody knows how many those are. */
  readonly unreadableShare: number;
};
type QueryToTry = { readonly name: string; readonly source: Source; readonly pointer: string };

/** The beginning of a query in a table; undefined when a problem of it was reported. */
async function sampleQuery(
  state: DryRunState,
  { name, source, pointer }: QueryToTry,
  choose: (available: readonly string[]) => string[] | undefined,
): Promise<Sample | undefined> {
  const { spec, context, signal, staging, report } = state;
  const config = connectorOf(spec, source);
  const connector: Connector | undefined = await orProblem(
    state,
    `/connector_configs/${spec.connector_configs.indexOf(config)}`,
    () => state.open(config, context),
  );
  if (connector === undefined) return undefined;
  try {
    return await orProblem(state, `${pointer}/query`, async () => {
      const found = await connector.inspect(source.query, { sampleRows: 0, signal });
      const query: z.infer<typeof QueryReport> = {
        pointer,
        columns: found.columns.map((column) => ({ name: column.name, type: String(column.type) })),
        sample_size: 0,
        sample: [],
        estimated_rows: found.estimatedRows,
        estimated_bytes: found.estimatedBytes,
        estimated_cost_usd: found.estimatedCostUsd === null ? null : Number(found.estimatedCostUsd.toFixed(6)),
      };
      report.queries.push(query);
      const columns = choose(found.columns.map((column) => column.name));
      if (columns === undefined) return undefined;
      const rows = await connector.read(source.query, { signal, columns, limit: SAMPLE_ROWS });
      const table = await stageRows(staging, { name, source: rows }, { signal, progress: () => undefined });
      query.sample_size = table.rows;
      query.sample = await sampleRows(staging, table);
      const unreadable = unreadableOf(rows);
      const isWhole = table.rows < SAMPLE_ROWS;
      const left = countRejected(unreadable);
      const all = isWhole
        ? table.rows + left
        : Math.max(table.rows + left, found.estimatedRows ?? Number.POSITIVE_INFINITY);
      return { table, isWhole, unreadable, unreadableShare: left / Math.max(1, all) };
    });
  } finally {
    await connector.close();
  }
}

/** The value of a step, or undefined once its StageError stands in the report. */
async function orProblem<Value>(
  { report, signal }: DryRunState,
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
