import type { ErasedUsers } from "../../../shared/erased-users.ts";
import type { ItemIdType } from "../../../shared/ids.ts";
import { joinedEventsOf, type ModelSchema, type ModelSpec, schemaToRead } from "../../../shared/model-spec.ts";
import type { StageProgress } from "../../stage/stage-reporter.ts";
import type { ConnectorContext, ConnectorFactory } from "../connectors/connector.ts";
import { idReading } from "../rules/dialect.ts";
import { countRejected } from "../rules/reject-reasons.ts";
import { checkInteractions, interactionColumns } from "./check-interactions.ts";
import { checkRows, type RowReport } from "./checks.ts";
import { type IncrementalOptions, type KeptOptions, keepForNextRun, stageIncrementally } from "./incremental.ts";
import { joinEvents } from "./join-events.ts";
import { leaveOutErased } from "./leave-out-erased.ts";
import { attributeColumns, checkAttributes, type StagedAttributes } from "./read-attributes.ts";
import { type Connectors, connectorsOf, missingColumns, openQuery, stageOpened } from "./stage-query.ts";
import type { Staging } from "./staging.ts";

export type StageSourcesOptions = {
  readonly context: ConnectorContext;
  readonly rejectedFractionMax: number;
  /** Users whose rows are deleted before anything else is done with them. */
  readonly erased?: ErasedUsers | undefined;
  readonly signal: AbortSignal;
  /** The present. Times more than a day later are rejected. */
  readonly nowMs: number;
  readonly progress: (progress: StageProgress) => void;
  /** Where interactions of an incremental source are kept between runs. Default: every run reads all. */
  readonly kept?: KeptOptions;
  /** A query for the ids of all items, where the interaction query gives only some of them. */
  readonly catalogQuery?: string;
  /** Connectors that other readings use too. Default: the specification's own. */
  readonly connectors?: Connectors;
  /** Opens connectors; set by tests. */
  readonly connect?: ConnectorFactory;
};

export type StagedSources = Awaited<ReturnType<typeof stageSources>>;

/** Copies the rows of every query into the staging database. They are closed before the rows are sorted, which frees their memory. */
export async function stageSources(staging: Staging, given: ModelSpec, options: StageSourcesOptions) {
  const spec = { ...given, schema: schemaToRead(given) };
  const { interaction } = spec.schema;
  const connectors = options.connectors ?? connectorsOf(spec, options);
  const sourceOptions = { ...options, connectors };
  const stageCatalog = async (query: string) => {
    const source = { ...interaction.source, query };
    const choose = (available: readonly string[]) => available.slice(0, 1);
    const opened = await openQuery({ name: "catalog_rows", what: "the catalog", source, choose }, sourceOptions);
    return (await stageOpened(staging, opened, sourceOptions)).table;
  };
  const stageAll = async () => {
    const staged = await stageInteractions(staging, spec, sourceOptions);
    const rejected = { ...staged.interactions.rejected, ...staged.unreadable };
    const ownRows = staged.interactions.accepted - staged.joined + countRejected(rejected);
    const rows = ownRows || staged.joined; // a source without rows is enough where there are events
    const { rejectedFractionMax } = options;
    const report: RowReport = { rows, rejected, rejectedFractionMax, label: interaction.label };
    checkRows(report);
    const idType = staged.interactions.itemIdType;
    const items = await stageAttributes(staging, spec.schema, { what: "item", idType }, sourceOptions);
    const users = await stageAttributes(staging, spec.schema, { what: "user" }, sourceOptions);
    const { catalogQuery } = options;
    /** One column of item ids. */
    const catalog = catalogQuery === undefined ? undefined : await stageCatalog(catalogQuery);
    return { ...staged, report, items, users, catalog };
  };
  const staged = await stageAll().finally(connectors.close);
  const { interactions, toKeep } = staged;
  if (toKeep !== undefined) options.progress({ detail: "keeping rows for the next run" });
  const keepWarnings = toKeep && (await keepForNextRun(staging, interactions.table, toKeep));
  return {
    ...staged,
    /** How the sources were read, for the record: job ids, and which part was read. */
    sources: [...connectors.origins, ...staged.sources],
    warnings: [...connectors.notes(), ...staged.warnings, ...(keepWarnings ?? [])],
  };
}

type SourceOptions = IncrementalOptions & Pick<StageSourcesOptions, "erased" | "catalogQuery">;

async function stageInteractions(staging: Staging, spec: ModelSpec, options: SourceOptions) {
  const { nowMs, erased } = options;
  const { schema } = spec;
  const choose = (available: readonly string[]) => {
    const columns = interactionColumns(schema);
    const missing = [...new Set(columns)].filter((name) => !available.includes(name));
    if (missing.length > 0) throw missingColumns("interaction", missing, available);
    return [...columns];
  };
  const query = { name: "interaction_rows", what: "interactions", source: schema.interaction.source, choose };
  const read = await stageIncrementally(staging, await openQuery(query, options), spec, options);
  const { table, rows } = await leaveOutErased(staging, read.table, erased, idReading("user", schema));
  options.progress({ detail: "checking rows", rows: table.rows });
  const nowSeconds = Math.floor(nowMs / 1000);
  const interactions = await checkInteractions(staging, table, schema, nowSeconds);
  const staged = { ...read, warnings: [...interactions.notes, ...read.warnings] };
  const events = joinedEventsOf(spec);
  if (events === undefined) return { ...staged, interactions, erasedRows: rows, eventItemsSql: undefined, joined: 0 };
  const isSample = options.catalogQuery !== undefined;
  const persons = options.context.events?.persons ?? new Map();
  const joined = await joinEvents(staging, { interactions, schema }, events, { ...options, isSample, persons });
  const warnings = [...staged.warnings, ...joined.warnings];
  return { ...staged, ...joined, erasedRows: rows + joined.erasedRows, warnings };
}

/** The attributes of items or users; undefined without a query for them. */
async function stageAttributes(
  staging: Staging,
  schema: ModelSchema,
  { what, idType }: { readonly what: "item" | "user"; readonly idType?: ItemIdType },
  options: SourceOptions,
): Promise<StagedAttributes | undefined> {
  const entity = schema[what];
  const { source } = entity;
  if (source === undefined) return undefined;
  const reading = idReading(what, schema);
  const choose = (available: readonly string[]) => attributeColumns(entity, available, what);
  const query = { name: `${what}_rows`, what: `${what} attributes`, source, choose };
  const { table: all, unreadable } = await stageOpened(staging, await openQuery(query, options), options);
  const erased = what === "user" ? options.erased : undefined;
  const { table } = await leaveOutErased(staging, all, erased, reading);
  const staged = await checkAttributes(staging, table, { entity, what, idType, reading });
  const unread = countRejected(unreadable);
  if (unread === 0) return staged;
  const warning = `${unread} lines of the ${what} query's files cannot be read and were left out`;
  return { ...staged, warnings: [...staged.warnings, warning] };
}
