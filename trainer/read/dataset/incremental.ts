import { createHash } from "node:crypto";
import { join } from "node:path";
import { connectorOf, type ModelSpec } from "../../../shared/model-spec.ts";
import { StageError } from "../../stage/stage-error.ts";
import type { ConnectorContext } from "../connectors/connector.ts";
import type { RowsSince, Tally, Unsuitable } from "../connectors/since.ts";
import { interactionColumns, type Rejected } from "./check-interactions.ts";
import { dropKept, KEPT_ROWS_FOLDER, type KeptCopy, keepRows, loadKept, type NoCopy, openKept } from "./kept-copy.ts";
import { type NextPart, nextPart } from "./kept-part.ts";
import { type OpenedQuery, type QueryOptions, stageOpened, stageOptions, unreadableOf } from "./stage-query.ts";
import { appendRows, runStaged, type StagedTable, type Staging } from "./staging.ts";

/** How interactions of a source that only grows are kept from one run to the next. */
export type KeptOptions = {
  /** A folder of this model alone, which lasts. */
  readonly directory: string;
  /** Rows may come in so much later than their time says; they are read again. Default: a day. */
  readonly overlapSeconds?: number;
  /** So often everything is read, which alone finds what was changed in old rows. Default: a week; 0: always. */
  readonly fullReadSeconds?: number;
};

export type IncrementalOptions = QueryOptions & {
  readonly context: ConnectorContext;
  readonly nowMs: number;
  readonly kept?: KeptOptions | undefined;
};

export type StagedGrowing = {
  /** All rows, however they came. */
  readonly table: StagedTable;
  readonly unreadable: Rejected;
  /** How they were read, for the record; none when the source is not declared incremental. */
  readonly told: readonly string[];
  readonly warnings: readonly string[];
  /** Rows of erased users that are counted in the source and were not kept. */
  readonly erasedBefore: number;
  readonly toKeep: ToKeep | undefined;
};

/** What the next run can do without. */
export type ToKeep = NextPart & { readonly directory: string; readonly binding: string; readonly fullReadMs: number };

const DAY_SECONDS = 86_400;

/**
 * The rows of the interaction query. When the source is declared incremental, those kept from the last run and the ones
 * that came since, provided that the source still agrees with what is kept; else all of them.
 */
export async function stageGrowing(
  staging: Staging,
  opened: OpenedQuery,
  spec: ModelSpec,
  options: IncrementalOptions,
): Promise<StagedGrowing> {
  const { kept, signal } = options;
  const directory = kept && join(kept.directory, KEPT_ROWS_FOLDER);
  const isGrowing = spec.schema.interaction.incremental === true && kept?.fullReadSeconds !== 0;
  if (directory === undefined || !isGrowing) {
    if (directory !== undefined) await dropKept(directory);
    const staged = await stageOpened(staging, opened, options);
    return { ...staged, told: [], warnings: [], erasedBefore: 0, toKeep: undefined };
  }
  const binding = bindingOf(spec, options.context);
  const attempt = await readPart(staging, opened, { ...options, directory, binding, spec });
  const staged = attempt.kind === "part" ? attempt : await stageOpened(staging, opened, options);
  const earlier = attempt.kind === "part" ? attempt.copy : undefined;
  const next = await nextPart(staging, staged.table, {
    timeIndex: interactionColumns(spec.schema).indexOf(spec.schema.interaction.created_at),
    nowSeconds: Math.floor(options.nowMs / 1000),
    overlapSeconds: kept?.overlapSeconds ?? DAY_SECONDS,
    earlier,
    signal,
  });
  const mayKeep = next !== undefined && (attempt.kind === "part" || attempt.mayKeep);
  if (!mayKeep) await dropKept(directory);
  const fullReadMs = earlier?.fullReadMs ?? options.nowMs;
  return {
    table: staged.table,
    unreadable: staged.unreadable,
    ...tellingOf(attempt, staged.table),
    erasedBefore: earlier === undefined ? 0 : earlier.before.rows - earlier.rows,
    toKeep: mayKeep ? { ...next, directory, binding, fullReadMs } : undefined,
  };
}

/** Keeps rows for the next run. What cannot be kept is told, and does not end the run. */
export async function keepForNext(
  staging: Staging,
  table: StagedTable,
  { toKeep, signal }: { readonly toKeep: ToKeep; readonly signal: AbortSignal },
): Promise<string[]> {
  const { directory, binding, part, sql, fullReadMs } = toKeep;
  try {
    await keepRows(staging, table, { directory, binding, part, isBefore: sql.isBefore, fullReadMs, signal });
    return [];
  } catch (error) {
    signal.throwIfAborted();
    // Rows that erased users once had must not stay because new ones did not fit.
    await dropKept(directory).catch(() => undefined);
    const reason = error instanceof StageError ? error.message : codeOf(error);
    return [`The interactions could not be kept, so that the next run reads them in full: ${reason}`];
  }
}

type Part = { readonly kind: "part"; readonly table: StagedTable; readonly unreadable: Rejected; copy: KeptCopy };
type Full = {
  readonly kind: "full";
  readonly why: string;
  /** Whether it is to be expected, such as in a first run. */
  readonly isUsual: boolean;
  readonly mayKeep: boolean;
};

type PartOptions = IncrementalOptions & {
  readonly directory: string;
  readonly binding: string;
  readonly spec: ModelSpec;
};

async function readPart(staging: Staging, opened: OpenedQuery, options: PartOptions): Promise<Part | Full> {
  const { signal, directory, binding } = options;
  options.progress({ detail: "looking at what is kept of earlier runs" });
  const found = await openKept(directory, { binding, signal });
  const parted = await partedBy(opened, found, options);
  if ("unsuitable" in parted) return { kind: "full", why: parted.unsuitable, isUsual: false, mayKeep: false };
  const full = (why: string, isUsual = false): Full => ({ kind: "full", why, isUsual, mayKeep: true });
  if (found.kind !== "kept") return full(WHY_NOT[found.kind], found.kind !== "damaged");
  const older = whyOlder(found, opened, options);
  if (older !== undefined) return full(older, true);

  options.progress({ detail: "comparing what is kept with the source" });
  const differs = whyDiffers(found, await parted.before());
  if (differs !== undefined) return full(differs);
  const { name, columns } = opened;
  const restart = async (why: string) => {
    await runStaged(staging, `DROP TABLE IF EXISTS ${name}`, signal);
    return full(why);
  };
  try {
    await loadKept(staging, found, { name, columns, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof StageError) throw error;
    return await restart(WHY_NOT.damaged);
  }
  const source = await parted.rows();
  const appended = await appendRows(staging, { name, source }, stageOptions(opened, source, options));
  if (await parted.hasChanged?.()) return await restart("the source's files changed while they were read");
  const table = { ...appended, rows: found.rows + appended.rows };
  return { kind: "part", table, unreadable: unreadableOf(source), copy: found };
}

const WHY_NOT: Readonly<Record<NoCopy["kind"], string>> = {
  absent: "nothing is kept of an earlier run",
  other: "the query, its connector or its columns are others than those of the last run",
  damaged: "what was kept of the last run is damaged",
};

/** Asks the store whether it can part the query's rows, which costs it nothing. */
async function partedBy(
  { connector, query, columns }: OpenedQuery,
  found: Awaited<ReturnType<typeof openKept>>,
  { spec, signal }: PartOptions,
): Promise<RowsSince | Unsuitable> {
  const moment = found.kind === "kept" ? found.since : { epochSeconds: 0, number: 0n };
  const since = { column: spec.schema.interaction.created_at, ...moment };
  const names = columns.map(({ name }) => name);
  const parted = await connector.readSince?.(query, { since, signal, columns: names });
  return parted ?? { unsuitable: "this type of connector cannot read a part of a query" };
}

/** Why a whole copy is not of use any more. */
function whyOlder(copy: KeptCopy, { columns }: OpenedQuery, { nowMs, kept }: PartOptions): string | undefined {
  const fullReadSeconds = kept?.fullReadSeconds ?? 7 * DAY_SECONDS;
  const age = (nowMs - copy.fullReadMs) / 1000;
  if (age < 0 || age >= fullReadSeconds) {
    const days = Math.round((fullReadSeconds / DAY_SECONDS) * 10) / 10;
    return `once in ${days} days everything is read, which was last done on ${isoOf(copy.fullReadMs)}`;
  }
  const types = columns.map(({ name, type }) => `${name} ${type}`).join();
  if (types === copy.columns.map(({ name, type }) => `${name} ${type}`).join()) return undefined;
  return "the types of the columns are others than in the last run";
}

/** Why the source is not what it was in the last run, only longer. */
function whyDiffers({ since, before }: KeptCopy, now: Tally | null): string | undefined {
  const moment = isoOf(since.epochSeconds * 1000);
  if (now === null) return `the source has no row since ${moment} any more`;
  if (now.rows === before.rows && now.times === before.times) return undefined;
  const counts = now.rows === before.rows ? `other rows` : `${now.rows} rows, not ${before.rows} as in the last run,`;
  return `the source has ${counts} before ${moment}: rows were deleted or changed, or came in later than the overlap`;
}

function tellingOf(attempt: Part | Full, { rows }: StagedTable): Pick<StagedGrowing, "told" | "warnings"> {
  if (attempt.kind === "part") {
    const moment = isoOf(attempt.copy.since.epochSeconds * 1000);
    const fresh = rows - attempt.copy.rows;
    return {
      told: [`interactions: ${fresh} rows read since ${moment}, ${attempt.copy.rows} kept from before`],
      warnings: [],
    };
  }
  const { why, isUsual } = attempt;
  const warning = `The interactions are declared incremental and were read in full all the same: ${why}`;
  return { told: [`interactions: ${rows} rows read in full: ${why}`], warnings: isUsual ? [] : [warning] };
}

/** All that decides which rows the query gives, whatever the store holds. */
function bindingOf(spec: ModelSpec, { settings, customer }: ConnectorContext): string {
  const { source } = spec.schema.interaction;
  const { fileRoots, bigqueryServiceAccount } = settings;
  const parts = [customer, source.query, connectorOf(spec, source), interactionColumns(spec.schema)];
  const text = JSON.stringify([...parts, fileRoots, bigqueryServiceAccount]);
  return createHash("sha256").update(text).digest("hex");
}

const isoOf = (ms: number) => new Date(ms).toISOString().slice(0, 19).concat("Z");

const codeOf = (error: unknown) =>
  error instanceof Error && "code" in error ? String(error.code) : "the folder cannot be written to";
