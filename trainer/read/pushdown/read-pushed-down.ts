import { join } from "node:path";
import type { DataSummary } from "../../../shared/model-record.ts";
import { EVENTS_QUERY, EVENTS_SCHEMA, joinedEventsOf, type ModelSpec } from "../../../shared/model-spec.ts";
import { countOf, type PackedStrings, stringAt } from "../../../shared/packed-strings.ts";
import { checkingError } from "../../stage/stage-error.ts";
import type { SourceRows } from "../connectors/connector.ts";
import { checkRows, ROWS_LEFT_OUT, rejectedWarnings } from "../dataset/checks.ts";
import { interactionsBesideFits, recordsMb } from "../dataset/memory-budget.ts";
import { openStagingOf, type ReadDataset, type ReadDatasetOptions } from "../dataset/read-dataset.ts";
import { appendRows, runStaged, type StagedTable, type Staging, stageRows, stageTexts } from "../dataset/staging.ts";
import { DUCKDB } from "../rules/duckdb-dialect.ts";
import { countByReason, countRejected } from "../rules/reject-reasons.ts";
import { spoolUsers, type UserSpool } from "../spool/spool-users.ts";
import { NEWEST_PER_USER, readSample } from "./read-sample.ts";
import { ACCEPTED, type Facts, slicesOf } from "./relation.ts";
import { type SourceQuery, type SourceTable, sourceTable } from "./source-table.ts";
import { openRelation, type PushedSource, readRejected, readTimes, readTotals, type Totals } from "./source-totals.ts";

export type PushDownOptions = ReadDatasetOptions & {
  /** Salt of the users' hashes: 16 to 64 bytes. */
  readonly salt: Uint8Array;
};

export type PushedDown = ReadDataset & {
  /** The history of every user, in the work folder. */
  readonly spool: UserSpool;
};

export type InteractionSource = { readonly query: SourceQuery; readonly connector: PushedSource["connector"] };

/**
 * Reads interactions that do not fit into memory. Their store checks them and removes duplicates. The trainer reads the
 * ids of all items, the newest interactions of a sample of users, and, onto its disk, what every user has seen.
 *
 * Throws StageError `too_many_interactions` when a column has a type that the store cannot check as the trainer does.
 */
export async function readPushedDown(
  spec: ModelSpec,
  interactions: InteractionSource,
  options: PushDownOptions,
): Promise<PushedDown> {
  const { progress, rejectedFractionMax } = options;
  progress({ detail: "counting interactions in the store" });
  const { source, note } = await openSource(interactions, options);
  const { rows, rejected } = await readRejected(source);
  checkRows({ rows, rejected, rejectedFractionMax, label: spec.schema.interaction.label });
  const totals = await readTotals(source, NEWEST_PER_USER);
  const sample = await readSample(spec, { source, totals }, options);
  const { dataset } = sample;
  const events = await joinedSource(spec, source, options);
  const spool = await spoolAllUsers({ source, events, rows: totals.interactions }, dataset.itemIds, options);
  const warnings = [
    pushedWarning(spec, { query: interactions.query, totals, sample, spool }, options),
    ...(note === undefined ? [] : [note]),
    ...rejectedWarnings(rows, rejected),
  ];
  const sources = [...(sample.summary.sources ?? []), ...source.origins];
  // The sample's days and sessions are not those of all users.
  const { recent_days: _, sessions: __, ...summaryOfSample } = sample.summary;
  const summary: DataSummary = {
    ...summaryOfSample,
    users: spool.userCount,
    interactions: totals.interactions,
    positives: totals.positives,
    rejected_rows: countByReason(rejected),
    duplicate_rows: rows - countRejected(rejected) - totals.interactions,
    ...(sources.length > 0 && { sources }),
    from: new Date(totals.firstSecond * 1000).toISOString(),
    to: new Date(totals.lastSecond * 1000).toISOString(),
    // The sample repeats the warning about unreadable lines.
    warnings: [...warnings, ...sample.summary.warnings.filter((warning) => !warning.startsWith(ROWS_LEFT_OUT))],
  };
  return { ...sample, summary, spool };
}

type Opened = { readonly source: PushedSource; readonly note: string | undefined };

/** The source with its rules, and what was guessed about its times. */
async function openSource({ query, connector }: InteractionSource, { signal }: PushDownOptions): Promise<Opened> {
  const table = sourceTable(query);
  if ("column" in table) {
    const { column, meaning } = table;
    throw checkingError(
      "too_many_interactions",
      `There are more interactions than this run's memory holds, and ${query.dialect.name} cannot prepare them ` +
        `because the column ${JSON.stringify(column.name)} is ${column.native ?? column.type}: expected ${meaning}. ` +
        "Convert it in the query, narrow the query, or give the run more memory",
    );
  }
  const source = { connector, table, signal, origins: [] };
  const { rule, unit, note } = await readTimes(source, query.schema.interaction.created_at_format);
  return { source: { ...source, table: { ...table, unit, rules: { ...table.rules, time: rule } } }, note };
}

type AllUsers = {
  readonly source: PushedSource;
  readonly events: PushedSource | undefined;
  /** The number of interactions of the source. */
  readonly rows: number;
};

/** Writes the history of every user to the trainer's disk, sorted by hash. */
async function spoolAllUsers(
  { source, events, rows }: AllUsers,
  itemIds: PackedStrings,
  options: PushDownOptions,
): Promise<UserSpool> {
  const { workDirectory, salt, erased, progress } = options;
  const staging = await openStagingOf(options, recordsMb);
  try {
    await stageTexts(staging, { name: "items", column: "text" }, textsOf(itemIds));
    const records = (of: Facts) =>
      ({ kind: "records", of, saltHex: Buffer.from(salt).toString("hex"), erasedSalt: erased?.salt ?? null }) as const;
    const slices = slicesOf(ACCEPTED, Math.ceil(rows / (source.table.dialect.recordRowsMax ?? rows)));
    let table: StagedTable | undefined;
    let before = 0;
    for (const slice of slices) {
      const found = { name: "record_rows", source: await openRelation(source, records(slice)) };
      const detail = "reading what every user has seen";
      const report = (read: number) => progress({ detail, rows: before + read });
      table = await (table ? appendRows : stageRows)(staging, found, report);
      before += table.rows;
    }
    if (events) await appendRecords(staging, table!, await openRelation(events, records(ACCEPTED)));
    const path = join(workDirectory, "users.spool");
    const sorted = (count: number) => progress({ detail: "sorting what every user has seen", rows: count });
    const userCount = await spoolUsers(staging, table!, { path, erased, progress: sorted });
    return { path, salt, userCount, itemIds };
  } finally {
    await staging.close();
  }
}

/** The events that join the interactions, as a source with the same rules. */
async function joinedSource(
  spec: ModelSpec,
  { signal, origins, table: { nowSeconds } }: PushedSource,
  { connectors }: PushDownOptions,
): Promise<PushedSource | undefined> {
  const config = joinedEventsOf(spec);
  if (config === undefined) return undefined;
  const connector = await connectors!.of({ query: EVENTS_QUERY, connector_id: config.id });
  const { columns } = await connector.inspect(EVENTS_QUERY, signal);
  const query = { dialect: DUCKDB, query: EVENTS_QUERY, available: columns, schema: EVENTS_SCHEMA, nowSeconds };
  return { connector, signal, origins, table: sourceTable(query) as SourceTable };
}

/** Adds the records of events to those of the interactions. If these have integer item ids, events with other ids get no item. */
async function appendRecords(staging: Staging, { name, columns }: StagedTable, events: SourceRows): Promise<void> {
  const { name: added } = await stageRows(staging, { name: "event_records", source: events });
  const cast = `TRY_CAST(c1 AS ${columns[1]!.type})`;
  const item = `CASE WHEN CAST(${cast} AS VARCHAR) = c1 THEN ${cast} END`;
  await runStaged(staging, `INSERT INTO ${name} SELECT * REPLACE (${item} AS c1) FROM ${added}`);
}

function* textsOf(strings: PackedStrings): Generator<string> {
  for (let i = 0; i < countOf(strings); i++) yield stringAt(strings, i);
}

type Outcome = {
  readonly query: SourceQuery;
  readonly totals: Totals;
  readonly sample: ReadDataset;
  readonly spool: UserSpool;
};

/** A warning for the record that says what the models were fitted on. */
function pushedWarning(
  spec: ModelSpec,
  { query, totals, sample: { dataset }, spool }: Outcome,
  { memoryMbMax = Number.POSITIVE_INFINITY }: PushDownOptions,
): string {
  const fit = interactionsBesideFits(memoryMbMax, spec.schema.interaction);
  return (
    `${totals.interactions} interactions are more than the ${fit} that this run's memory holds beside its fits: ` +
    `${query.dialect.name} prepared them. Models are chosen and fitted on the newest ${dataset.items.length} ` +
    `interactions of ${dataset.userCount} of ${spool.userCount} users, sampled at random (at most ${NEWEST_PER_USER} a user); ` +
    `the catalog has every item, and all ${spool.userCount} users are shown only items that they have not seen`
  );
}
