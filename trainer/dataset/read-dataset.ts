import type { ErasedUsers } from "../../shared/erased-users.ts";
import type { DataSummary } from "../../shared/model-record.ts";
import {
  type ConnectorConfig,
  connectorOf,
  type ModelSchema,
  type ModelSpec,
  type Source,
} from "../../shared/model-spec.ts";
import { didYouMean } from "../../shared/nearest-name.ts";
import { type Connector, type ConnectorContext, type ConnectorFactory, connect } from "../connectors/connector.ts";
import { StageError } from "../stage-error.ts";
import type { StageProgress } from "../stage-reporter.ts";
import { checkInteractions, interactionColumns, type StagedInteractions } from "./check-interactions.ts";
import { checkInteractionsUsable, checkRows, countRejected, type RowReport, warningsOf } from "./checks.ts";
import type { Dataset, Interactions } from "./dataset.ts";
import { leaveOutErased } from "./leave-out-erased.ts";
import { numberIds, readIds } from "./number-ids.ts";
import {
  attributeColumns,
  checkAttributes,
  idsOf,
  type ReadAttributes,
  readAttributes,
  type StagedAttributes,
} from "./read-attributes.ts";
import { readInteractions, type TieOrder } from "./read-interactions.ts";
import { byFallingScore, countPerItem, reorderItems } from "./reorder-items.ts";
import { openStaging, type StagedTable, type Staging, stageRows } from "./staging.ts";

export type ReadDatasetOptions = {
  readonly context: ConnectorContext;
  /** A folder for what does not fit memory. Everything in it that this call makes is gone when it returns. */
  readonly workDirectory: string;
  /** Memory that the reading may take in all, the dataset included; else the staging database has a connector's. */
  readonly memoryMbMax?: number;
  readonly rejectedShareMax: number;
  /** Users whose rows are left out before anything else is done with them. */
  readonly erased?: ErasedUsers | undefined;
  readonly signal: AbortSignal;
  /** The present: what lies a day after it is refused. */
  readonly nowMs: number;
  readonly progress: (progress: StageProgress) => void;
  /** Order of a user's interactions of the same second; else by item id, so that the order of rows has no meaning. */
  readonly tieOrder?: TieOrder;
  /** How connectors are opened, for tests. */
  readonly connect?: ConnectorFactory;
};

export type ReadDataset = { readonly dataset: Dataset; readonly summary: DataSummary };

/**
 * Rows → dataset: everything that a specification's queries give, checked, in typed arrays. The items are in order of
 * falling count of positive interactions, equal counts by id; items without any interaction stand last.
 *
 * The same rows in another order give the same dataset. Throws StageError (fetching or checking); the signal's reason
 * when it is aborted.
 */
export async function readDataset(spec: ModelSpec, options: ReadDatasetOptions): Promise<ReadDataset> {
  const { memoryMbMax = Number.POSITIVE_INFINITY, workDirectory } = options;
  const memoryMb = Math.min(options.context.settings.memoryMb, memoryMbMax * STAGING_SHARE);
  const staging = await openStaging({ workDirectory, memoryMb });
  try {
    const staged = await stageAll(staging, spec, options);
    const { signal, progress } = options;
    progress({ detail: "numbering users and items" });
    checkFits(staged.interactions, memoryMbMax * DATASET_SHARE);
    await numberIds(staging, staged.interactions, { moreItems: staged.items ? idsOf(staged.items) : null, signal });
    const { interactions, duplicates } = await collect(staging, staged.interactions, options);
    checkInteractionsUsable(interactions, spec.schema.interaction.label);

    progress({ detail: "reading attributes" });
    const { itemCount, userCount } = interactions;
    const itemAttributes = await attributesOf(staging, staged.items, { index: "items", count: itemCount, signal });
    const userAttributes = await attributesOf(staging, staged.users, { index: "users", count: userCount, signal });
    const dataset: Dataset = {
      ...interactions,
      itemIds: await readIds(staging, "items", signal),
      userIds: await readIds(staging, "users", signal),
      itemIdType: staged.interactions.itemIdType,
      itemAttributes: itemAttributes.columns,
      userAttributes: userAttributes.columns,
    };
    const summary: DataSummary = {
      ...countsOf(interactions),
      rejected_rows: Object.fromEntries(
        Object.entries(staged.report.rejected).map(([reason, { count }]) => [reason, count]),
      ),
      duplicate_rows: duplicates,
      ...(options.erased && { erased_rows: staged.erasedRows }),
      ...(staged.origins.length > 0 && { sources: [...staged.origins] }),
      item_attributes: [...itemAttributes.descriptions],
      user_attributes: [...userAttributes.descriptions],
      warnings: [
        ...warningsOf(interactions, staged.report, duplicates),
        ...itemAttributes.warnings,
        ...userAttributes.warnings,
      ].slice(0, WARNINGS_MAX),
    };
    return { dataset: reorderItems(dataset, byFallingScore(countPerItem(interactions))), summary };
  } finally {
    await staging.close();
  }
}

const WARNINGS_MAX = 50;
/** Of the memory of a reading. The rest is Node's and what the chunks on their way hold. */
const STAGING_SHARE = 0.3;
const DATASET_SHARE = 0.5;

/** Throws StageError `too_many_interactions` before the arrays are made. Items are there twice when they are reordered. */
function checkFits({ accepted, hasRatings }: StagedInteractions, datasetMbMax: number): void {
  const datasetMb = (accepted * (hasRatings ? 17 : 13)) / 1e6;
  if (datasetMb <= datasetMbMax) return;
  throw new StageError(
    "checking",
    "too_many_interactions",
    `${accepted} interactions need ${Math.ceil(datasetMb)} MB, and ${Math.floor(datasetMbMax)} MB of this run's memory are for them; ` +
      "narrow the query, such as to the newest interactions, or give the run more memory",
  );
}

type StagedAll = {
  readonly interactions: StagedInteractions;
  readonly report: RowReport;
  readonly erasedRows: number;
  readonly items: StagedAttributes | undefined;
  readonly users: StagedAttributes | undefined;
  readonly origins: readonly string[];
};

/** The rows of every query in the staging database. Connectors are open only here, one for each configuration. */
async function stageAll(staging: Staging, spec: ModelSpec, options: ReadDatasetOptions): Promise<StagedAll> {
  const { user, item, interaction } = spec.schema;
  const connectors = connectorsOf(spec, options);
  const means = { ...options, connectors };
  try {
    const { interactions, unreadable, erasedRows } = await stageInteractions(staging, spec.schema, means);
    const rejected = { ...interactions.rejected, ...unreadable };
    const rows = interactions.table.rows + countRejected(unreadable);
    const report = { rows, rejected, rejectedShareMax: options.rejectedShareMax, label: interaction.label };
    checkRows(report);
    const items =
      item.source && (await stageAttributes(staging, { entity: item, what: "item", source: item.source }, means));
    const users =
      user.source && (await stageAttributes(staging, { entity: user, what: "user", source: user.source }, means));
    return { interactions, report, erasedRows, items, users, origins: connectors.origins };
  } finally {
    await connectors.close();
  }
}

type Connectors = {
  of(source: Source): Promise<Connector>;
  /** What the stores called the readings, such as job ids. */
  readonly origins: string[];
  close(): Promise<void>;
};

/** The connectors that sources name, each opened when it is first asked for. */
function connectorsOf(spec: ModelSpec, options: ReadDatasetOptions): Connectors {
  const open = options.connect ?? connect;
  const opened = new Map<ConnectorConfig, Connector>();
  return {
    origins: [],
    async of(source) {
      const config = connectorOf(spec, source);
      const connector = opened.get(config) ?? (await open(config, options.context));
      opened.set(config, connector);
      return connector;
    },
    // What was read is read: that a store could not be left in good order is no reason to lose it.
    close: async () => void (await Promise.allSettled([...opened.values()].map((connector) => connector.close()))),
  };
}

type Means = ReadDatasetOptions & { readonly connectors: Connectors };

async function stageInteractions(staging: Staging, schema: ModelSchema, means: Means) {
  const { signal, nowMs } = means;
  const columns = interactionColumns(schema);
  const choose = (available: readonly string[]) => {
    checkPresent(schema, available);
    return columns;
  };
  const read = { name: "interaction_rows", what: "interactions", source: schema.interaction.source, choose };
  const { table: all, unreadable } = await stageQuery(staging, read, means);
  const { table, rows: erasedRows } = await leaveOutErased(staging, all, { erased: means.erased, signal });
  means.progress({ detail: "checking rows", rows: table.rows });
  const nowSeconds = Math.floor(nowMs / 1000);
  const interactions = await checkInteractions(staging, table, schema, { nowSeconds, signal });
  return { interactions, unreadable, erasedRows };
}

/** Throws StageError `missing_column` naming every column that the query lacks. */
function checkPresent(schema: ModelSchema, available: readonly string[]): void {
  const missing = [...new Set(interactionColumns(schema))].filter((name) => !available.includes(name));
  if (missing.length === 0) return;
  const [names, columns] = [missing, available.slice(0, 50)].map((list) =>
    list.map((name) => JSON.stringify(name)).join(", "),
  );
  throw new StageError(
    "checking",
    "missing_column",
    `The interaction query gives no column ${names}; its columns are ${columns}${didYouMean(missing[0]!, available)}`,
  );
}

type AttributeSource = {
  readonly entity: ModelSchema["item"];
  readonly what: "item" | "user";
  readonly source: Source;
};

async function stageAttributes(
  staging: Staging,
  { entity, what, source }: AttributeSource,
  means: Means,
): Promise<StagedAttributes> {
  const choose = (available: readonly string[]) => attributeColumns(entity, available, what);
  const read = { name: `${what}_rows`, what: `${what} attributes`, source, choose };
  const { table: all, unreadable } = await stageQuery(staging, read, means);
  const erased = what === "user" ? means.erased : undefined;
  const { table } = await leaveOutErased(staging, all, { erased, signal: means.signal });
  const staged = await checkAttributes(staging, table, { entity, what, signal: means.signal });
  const unread = countRejected(unreadable);
  if (unread === 0) return staged;
  const warning = `${unread} lines of the ${what} query's files cannot be read and were left out`;
  return { ...staged, warnings: [...staged.warnings, warning] };
}

type QueryToStage = {
  readonly source: Source;
  readonly name: string; // of the table
  readonly what: string; // in the progress
  /** Which columns to read, and in which order, given those that there are. */
  readonly choose: (available: readonly string[]) => string[];
};

/** A query's rows in a table, and what the source could not give. */
async function stageQuery(staging: Staging, query: QueryToStage, { signal, progress, connectors }: Means) {
  progress({ detail: `connecting for ${query.what}` });
  const connector = await connectors.of(query.source);
  const { columns } = await connector.inspect(query.source.query, { sampleRows: 0, signal });
  const chosen = query.choose(columns.map(({ name }) => name));
  const source = await connector.read(query.source.query, { signal, columns: chosen });
  if (source.origin !== undefined) connectors.origins.push(`${query.what}: ${source.origin}`);
  const { expectedRows } = source;
  const share = (rows: number) =>
    expectedRows === null ? {} : { share: Math.min(0.99, rows / Math.max(1, expectedRows)) };
  const tell = (rows: number) => progress({ detail: `reading ${query.what}`, rows, ...share(rows) });
  const table: StagedTable = await stageRows(staging, { name: query.name, source }, { signal, progress: tell });
  return { table, unreadable: withoutRows(source.unreadable?.() ?? {}) };
}

const withoutRows = (counts: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(counts).map(([reason, count]) => [reason, { count, firstRows: [] }]));

async function collect(staging: Staging, checked: StagedInteractions, options: ReadDatasetOptions) {
  const { signal, progress, tieOrder = "item_id" } = options;
  progress({ detail: "sorting rows", rows: checked.accepted });
  return await readInteractions(staging, checked, {
    tieOrder,
    signal,
    progress: (rows) => progress({ detail: "collecting rows", rows, share: rows / Math.max(1, checked.accepted) }),
  });
}

async function attributesOf(
  staging: Staging,
  staged: StagedAttributes | undefined,
  place: Parameters<typeof readAttributes>[2],
): Promise<ReadAttributes> {
  if (staged === undefined) return { columns: [], descriptions: [], warnings: [] };
  const read = await readAttributes(staging, staged, place);
  return { ...read, warnings: [...staged.warnings, ...read.warnings] };
}

function countsOf({ userCount, itemCount, items, positive, times }: Interactions) {
  let positives = 0;
  let [from, to] = [Number.POSITIVE_INFINITY, 0];
  for (let row = 0; row < items.length; row++) {
    positives += positive[row]!;
    if (times[row]! < from) from = times[row]!;
    if (times[row]! > to) to = times[row]!;
  }
  const iso = (seconds: number) => (items.length === 0 ? null : new Date(seconds * 1000).toISOString());
  return { users: userCount, items: itemCount, interactions: items.length, positives, from: iso(from), to: iso(to) };
}
