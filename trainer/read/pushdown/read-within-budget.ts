import { connectorOf, type ModelSpec, schemaToRead } from "../../../shared/model-spec.ts";
import { hasCode } from "../../stage/stage-error.ts";
import { type Connector, type Inspection, jsonRows } from "../connectors/connector.ts";
import { innerQuery } from "../connectors/sql-text.ts";
import { interactionColumns } from "../dataset/check-interactions.ts";
import { interactionsBesideFits } from "../dataset/memory-budget.ts";
import { type ReadDataset, readDataset } from "../dataset/read-dataset.ts";
import { type Connectors, connectorsOf } from "../dataset/stage-query.ts";
import { dialectOf } from "../rules/dialects.ts";
import type { UserSpool } from "../spool/spool-users.ts";
import { type InteractionSource, type PushDownOptions, readPushedDown } from "./read-pushed-down.ts";

/** A dataset that fits into memory. `spool` is null when the dataset has every user. */
export type ReadWithinBudget = ReadDataset & { readonly spool: UserSpool | null };

/** An estimate below this fraction of the capacity is believed. If it is wrong, the reading fails and is repeated. */
const BELIEVED_FRACTION = 0.5;
/** Lower bound of the bytes of a row of four columns, in any store. */
const ROW_BYTES_MIN = 4;

/**
 * Reads a specification's data. Interactions that do not fit into the run's memory are prepared by their store: the
 * dataset is then a sample, and the spool has the history of every user.
 *
 * Throws what readDataset and readPushedDown throw.
 */
export async function readWithinBudget(spec: ModelSpec, options: PushDownOptions): Promise<ReadWithinBudget> {
  const connectors = connectorsOf(spec, options);
  // Readings of a prepared source share the connector, and see one state of the store.
  const shared = { ...options, connectors: { ...connectors, close: async () => undefined } };
  try {
    const source = await openInteractions(spec, shared);
    if (source !== undefined && !(await mayFit(source, spec, shared)))
      return await readPushedDown(spec, source, shared);
    try {
      return { ...(await readDataset(spec, { ...options, connectors })), spool: null };
    } catch (error) {
      if (!hasCode(error, "too_many_interactions") || source === undefined) throw error;
      const connector = await connectors.of(spec.schema.interaction.source);
      await connector.inspect(source.query.query, options.signal); // finds how ids are read, as before
      return await readPushedDown(spec, { ...source, connector }, shared);
    }
  } finally {
    await connectors.close();
  }
}

type OpenOptions = PushDownOptions & { readonly connectors: Connectors };
type Opened = InteractionSource & { readonly inspection: Inspection };

/**
 * The interaction query as its store describes it. Undefined when memory is unlimited, a column is missing, or the store
 * has no dialect.
 */
async function openInteractions(spec: ModelSpec, options: OpenOptions): Promise<Opened | undefined> {
  if (options.memoryMbMax === undefined) return undefined;
  const schema = schemaToRead(spec);
  const { source } = schema.interaction;
  const dialect = dialectOf(connectorOf(spec, source).type);
  if (dialect === undefined) return undefined;
  const columns = interactionColumns(schema);
  if (new Set(columns).size < columns.length) return undefined; // two columns of one name cannot be told apart
  options.progress({ detail: "connecting for interactions" });
  const connector = await options.connectors.of(source);
  const inspection = await connector.inspect(source.query, options.signal);
  const available = inspection.columns;
  // Reading the rows reports the missing column.
  if (!columns.every((name) => available.some((column) => column.name === name))) return undefined;
  const nowSeconds = Math.floor(options.nowMs / 1000);
  const query = { dialect, query: source.query, available, schema, nowSeconds };
  return { query, connector, inspection };
}

/** Whether the interactions fit into memory, by the store's estimate or by a count. */
async function mayFit(
  { connector, query, inspection }: Opened,
  spec: ModelSpec,
  options: OpenOptions,
): Promise<boolean> {
  const fit = interactionsBesideFits(options.memoryMbMax!, spec.schema.interaction);
  const { estimatedRows, estimatedBytes } = inspection;
  if (estimatedRows !== null && estimatedRows <= BELIEVED_FRACTION * fit) return true;
  if (estimatedRows === null && (estimatedBytes ?? 0) / ROW_BYTES_MIN <= fit) return true;
  options.progress({ detail: "counting interactions in the store" });
  return (await countRows(connector, query.query, options.signal)) <= fit;
}

async function countRows(connector: Connector, query: string, signal: AbortSignal): Promise<number> {
  const sql = `SELECT COUNT(*) AS row_count FROM (\n${innerQuery(query)}\n) AS source`;
  const [row] = await jsonRows(await connector.read(sql, { signal }));
  return Number(row!.row_count);
}
