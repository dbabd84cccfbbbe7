/**
 * Reading a source that only grows. The first run reads all rows, and keeps those older than a watermark: the newest
 * time minus an overlap. The next run reads the rows from the watermark on, and takes the older ones from the copy.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { connectorOf, type ModelSpec } from "../../../shared/model-spec.ts";
import { StageError } from "../../stage/stage-error.ts";
import type { ConnectorContext, SourceColumn } from "../connectors/connector.ts";
import type { Dialect } from "../rules/dialect.ts";
import { dialectOf, type Moment, momentLiteral, queryFrom } from "../rules/dialects.ts";
import { DUCKDB } from "../rules/duckdb-dialect.ts";
import { dropKept, KEPT_FOLDER, type KeepOptions, type KeptCopy, keepRows, loadKept, openKept } from "./kept-copy.ts";
import {
  type OpenedQuery,
  type QueryOptions,
  type StagedQuery,
  stageOpened,
  stagingProgress,
  unreadableOf,
} from "./stage-query.ts";
import { stagedTimes } from "./staged-times.ts";
import { appendRows, readRow, type StagedTable, type Staging } from "./staging.ts";

/** How interactions of a source that only grows are kept from one run to the next. */
export type KeptOptions = {
  /** A lasting folder of this model alone. */
  readonly directory: string;
  /** Rows that arrive up to this long after their time are still found. Default: a day. */
  readonly overlapSeconds?: number;
  /** The interval between full reads, which find changes in old rows. Default: a week. 0: every run reads all. */
  readonly fullReadSeconds?: number;
};

export type IncrementalOptions = QueryOptions & {
  readonly context: ConnectorContext;
  readonly nowMs: number;
  readonly kept?: KeptOptions | undefined;
};

type StagedIncrementally = StagedQuery & {
  /** How the rows were read, for the record; empty when the source is not declared incremental. */
  readonly sources: readonly string[];
  readonly warnings: readonly string[];
  /** What to keep for the next run. */
  readonly toKeep: KeepOptions | undefined;
};

/** Position of the time in interactionColumns. */
const TIME_INDEX = 2;
const DAY_SECONDS = 86_400;

/** All rows of the interaction query in a table: those read now and, where there is a usable copy, those kept. */
export async function stageIncrementally(
  staging: Staging,
  opened: OpenedQuery,
  spec: ModelSpec,
  options: IncrementalOptions,
): Promise<StagedIncrementally> {
  const { kept, nowMs } = options;
  const { incremental, source, created_at_format: format } = spec.schema.interaction;
  const dialect = dialectOf(connectorOf(spec, source).type);
  const directory = kept && join(kept.directory, KEPT_FOLDER);
  if (directory === undefined || dialect === undefined || incremental !== true || kept?.fullReadSeconds === 0) {
    if (directory !== undefined) await dropKept(directory);
    return { ...(await stageOpened(staging, opened, options)), sources: [], warnings: [], toKeep: undefined };
  }
  options.progress({ detail: "checking what is kept of earlier runs" });
  const sourceDigest = digestOfSource(spec, opened, options.context);
  const column = opened.columns[TIME_INDEX]!;
  const copy = await openKept(staging, directory);
  const unordered = whyUnordered(dialect, column);
  const why = unordered ?? whyUnusable(copy, sourceDigest, options);
  const part = why === undefined && copy ? { copy, query: queryFrom(dialect, opened.query, column, copy)! } : undefined;
  const { table, unreadable, keptRows } = part
    ? await stagePart(staging, opened, part, options)
    : { ...(await stageOpened(staging, opened, options)), keptRows: 0 };
  const watermark = await watermarkOf(staging, table, { ...options, format });
  if (watermark === undefined) await dropKept(directory);
  const fullReadMs = part?.copy.fullReadMs ?? nowMs;
  return {
    table,
    unreadable,
    sources: [
      part
        ? partReport(part.copy, table.rows - keptRows, keptRows)
        : `interactions: ${table.rows} rows read in full: ${why}`,
    ],
    warnings: unordered ? [`The interactions are declared incremental but were read in full: ${unordered}`] : [],
    toKeep: watermark && {
      directory,
      condition: watermark.condition,
      metadata: { ...watermark.moment, source: sourceDigest, fullReadMs },
    },
  };
}

const partReport = ({ before }: KeptCopy, readRows: number, keptRows: number) =>
  `interactions: ${readRows} rows read since ${isoOf(before * 1000)}, ${keptRows} kept from before`;

/** Keeps rows for the next run. A failure becomes a warning and does not end the run. */
export async function keepForNextRun(staging: Staging, table: StagedTable, toKeep: KeepOptions): Promise<string[]> {
  try {
    await keepRows(staging, table, toKeep);
    return [];
  } catch (error) {
    staging.signal.throwIfAborted();
    // The old copy may hold rows of users who were erased since.
    await dropKept(toKeep.directory).catch(() => undefined);
    const reason = error instanceof StageError ? error.message : "the folder cannot be written to";
    return [`The interactions could not be kept, so that the next run reads them in full: ${reason}`];
  }
}

/** Why the rows before a moment cannot be left out of the query; undefined when they can. */
function whyUnordered(dialect: Dialect, column: SourceColumn): string | undefined {
  if (momentLiteral(dialect, column, { before: 0, unit: 1 }) !== undefined) return undefined;
  const type = column.native ?? String(column.type);
  return (
    `its column ${JSON.stringify(column.name)} has the type ${type}, whose order is not that of time; ` +
    "make it a timestamp, a date or a whole number"
  );
}

/** Why the copy cannot be used; undefined when it can. */
function whyUnusable(
  copy: KeptCopy | undefined,
  source: string,
  { kept, nowMs }: IncrementalOptions,
): string | undefined {
  if (copy === undefined) return "nothing is kept of an earlier run";
  if (copy.source !== source) return "the query, its connector or its columns differ from those of the last run";
  const fullReadSeconds = kept?.fullReadSeconds ?? 7 * DAY_SECONDS;
  const ageSeconds = (nowMs - copy.fullReadMs) / 1000;
  if (ageSeconds >= 0 && ageSeconds < fullReadSeconds) return undefined;
  const days = Math.round((fullReadSeconds / DAY_SECONDS) * 10) / 10;
  return `once in ${days} days everything is read, which was last done on ${isoOf(copy.fullReadMs)}`;
}

/** The kept rows and, after them, those that the source has from the watermark on. */
async function stagePart(
  staging: Staging,
  opened: OpenedQuery,
  { copy, query }: { readonly copy: KeptCopy; readonly query: string },
  options: IncrementalOptions,
) {
  const { name, columns, connector } = opened;
  const { signal } = options;
  const keptRows = await loadKept(staging, copy, { name, columns });
  // The rows of a file are older than the file. A day is more than an unknown time zone.
  const writtenSinceMs = 1000 * (copy.before - DAY_SECONDS);
  const names = columns.map((column) => column.name);
  const source = await connector.read(query, { signal, columns: names, writtenSinceMs });
  const appended = await appendRows(staging, { name, source }, stagingProgress(opened, source, options));
  return { table: { ...appended, rows: keptRows + appended.rows }, unreadable: unreadableOf(source), keptRows };
}

/** The moment up to which rows are kept, and its SQL condition; undefined when no row has a usable time, or times have a format. */
async function watermarkOf(
  staging: Staging,
  { name, columns }: StagedTable,
  { kept, nowMs, format }: IncrementalOptions & { readonly format: string | undefined },
) {
  const column = columns[TIME_INDEX]!;
  const time = DUCKDB.time(column.sql, column.type);
  if (time === undefined) return undefined;
  const { rule, unit, ...reading } = await stagedTimes(staging, name, { name: column.name, rule: time, format });
  if (reading.format !== undefined) return undefined;
  const { newest } = await readRow(
    staging,
    `SELECT max(s) FILTER (s BETWEEN 0 AND ${Math.floor(nowMs / 1000)}) AS newest
     FROM (SELECT ${rule.seconds(unit)} AS s FROM ${name})`,
  );
  if (newest === null) return undefined;
  const before = Math.max(0, Number(newest) - (kept?.overlapSeconds ?? DAY_SECONDS));
  const moment: Moment = { before, unit };
  const literal = momentLiteral(DUCKDB, column, moment);
  return literal === undefined ? undefined : { moment, condition: `${column.sql} < ${literal}` };
}

/** Changes when a connector writes the same value in another way, so that kept rows are of no use. */
const CONNECTORS_FORM = 2;

/** A digest of everything that decides which rows the query gives, apart from the content of the store. */
function digestOfSource(spec: ModelSpec, { columns }: OpenedQuery, { settings, customer }: ConnectorContext): string {
  const { source } = spec.schema.interaction;
  const { fileRoots, bigqueryServiceAccount } = settings;
  const types = columns.map(({ name, type }) => [name, String(type)]);
  const parts = [
    CONNECTORS_FORM,
    customer,
    source.query,
    connectorOf(spec, source),
    types,
    fileRoots,
    bigqueryServiceAccount,
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

const isoOf = (ms: number) => new Date(ms).toISOString().slice(0, 19).concat("Z");
