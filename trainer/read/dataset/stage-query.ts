import { type ConnectorConfig, connectorOf, type ModelSpec, type Source } from "../../../shared/model-spec.ts";
import { didYouMean } from "../../../shared/nearest-name.ts";
import { checkingError, type StageError } from "../../stage/stage-error.ts";
import type { StageProgress } from "../../stage/stage-reporter.ts";
import { connect } from "../connectors/connect.ts";
import type {
  Connector,
  ConnectorContext,
  ConnectorFactory,
  SourceColumn,
  SourceRows,
} from "../connectors/connector.ts";
import type { Rejected } from "../rules/reject-reasons.ts";
import { type StagedTable, type Staging, stageRows } from "./staging.ts";

/** The connectors of a specification. Readings that share them see one state of a store with transactions. */
export type Connectors = {
  /** The source's connector, opened when it is first used, and again when it is used after `close`. */
  of(source: Source): Promise<Connector>;
  /** What the stores called each reading, such as job ids. */
  readonly origins: string[];
  /** What the connectors have noted so far, also those that are closed. */
  notes(): readonly string[];
  close(): Promise<void>;
};

export function connectorsOf(
  spec: ModelSpec,
  { context, connect: open = connect }: { readonly context: ConnectorContext; readonly connect?: ConnectorFactory },
): Connectors {
  const opened = new Map<ConnectorConfig, Connector>();
  const noted = new Set<string>();
  const notes = () => {
    for (const connector of opened.values()) for (const note of connector.notes?.() ?? []) noted.add(note);
    return [...noted];
  };
  return {
    origins: [],
    notes,
    async of(source) {
      const config = connectorOf(spec, source);
      const connector = opened.get(config) ?? (await open(config, withIdColumns(context, spec)));
      opened.set(config, connector);
      return connector;
    },
    async close() {
      notes();
      const all = [...opened.values()];
      opened.clear();
      // A failure to close a store is no reason to lose the rows that were read.
      await Promise.allSettled(all.map((connector) => connector.close()));
    },
  };
}

/** The context of connectors for a specification. */
export function withIdColumns(context: ConnectorContext, { schema }: ModelSpec): ConnectorContext {
  const { user, item, interaction } = schema;
  const session = interaction.session_id === undefined ? [] : [interaction.session_id];
  return { ...context, idColumns: [user.id, item.id, ...session] };
}

export type QueryOptions = {
  readonly connectors: Connectors;
  readonly signal: AbortSignal;
  readonly progress: (progress: StageProgress) => void;
};

export type QueryToStage = {
  readonly source: Source;
  /** Name of the table. */
  readonly name: string;
  /** What is read, for progress messages. */
  readonly what: string;
  /** The columns to read, in their order, among those that the query has. */
  readonly choose: (available: readonly string[]) => string[];
};

/** A query whose columns are known. */
export type OpenedQuery = Pick<QueryToStage, "name" | "what"> & {
  readonly connector: Connector;
  readonly query: string;
  /** The chosen columns. */
  readonly columns: readonly SourceColumn[];
};

export async function openQuery(
  { source, name, what, choose }: QueryToStage,
  { connectors, signal, progress }: QueryOptions,
): Promise<OpenedQuery> {
  progress({ detail: `connecting for ${what}` });
  const connector = await connectors.of(source);
  const { columns } = await connector.inspect(source.query, signal);
  const chosen = choose(columns.map((column) => column.name));
  const columnOf = (wanted: string) => columns.find((column) => column.name === wanted)!;
  return { connector, query: source.query, name, what, columns: chosen.map(columnOf) };
}

/** A query's rows in a table, and the rows that the source could not read. */
export type StagedQuery = { readonly table: StagedTable; readonly unreadable: Rejected };

export async function stageOpened(staging: Staging, opened: OpenedQuery, options: QueryOptions): Promise<StagedQuery> {
  const { connector, query, columns } = opened;
  const source = await connector.read(query, { signal: options.signal, columns: columns.map(({ name }) => name) });
  const table = await stageRows(staging, { name: opened.name, source }, stagingProgress(opened, source, options));
  return { table, unreadable: unreadableOf(source) };
}

/** Notes the origin of the rows, and reports progress while they are copied. */
export function stagingProgress(
  { what }: OpenedQuery,
  { origin, expectedRows }: SourceRows,
  { connectors, progress }: QueryOptions,
): (rows: number) => void {
  if (origin !== undefined) connectors.origins.push(`${what}: ${origin}`);
  const fraction = (rows: number) =>
    expectedRows === null ? {} : { fraction: Math.min(0.99, rows / Math.max(1, expectedRows)) };
  return (rows) => progress({ detail: `reading ${what}`, rows, ...fraction(rows) });
}

export const unreadableOf = (source: SourceRows): Rejected =>
  Object.fromEntries(
    Object.entries(source.unreadable?.() ?? {}).map(([reason, count]) => [reason, { count, firstRows: [] }]),
  );

/** The error of a query that lacks columns. It names them all, and the nearest name of the first. */
export function missingColumns(what: string, missing: readonly string[], available: readonly string[]): StageError {
  const [names, columns] = [missing, available].map((list) =>
    list
      .slice(0, 50)
      .map((name) => JSON.stringify(name))
      .join(", "),
  );
  const message = `The ${what} query gives no column ${names}; its columns are ${columns}${didYouMean(missing[0]!, available)}`;
  return checkingError("missing_column", message);
}
