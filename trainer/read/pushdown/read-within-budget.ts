import { connectorOf, type ModelSpec } from "../../../shared/model-spec.ts";
import { StageError } from "../../stage/stage-error.ts";
import type { Connector, Inspection } from "../connectors/connector.ts";
import { innerQuery } from "../connectors/sql-text.ts";
import { interactionColumns } from "../dataset/check-interactions.ts";
import { interactionsThatFit } from "../dataset/memory-shares.ts";
import { type ReadDataset, readDataset } from "../dataset/read-dataset.ts";
import { dialectOf } from "../rules/dialects.ts";
import type { UserSpool } from "../spool/spool-users.ts";
import { openOnce } from "./open-once.ts";
import { type Asked, type PushDownOptions, readPushedDown } from "./read-pushed-down.ts";

/** `spool` is null when the dataset has every user. */
export type ReadWithinBudget = ReadDataset & { readonly spool: UserSpool | null };

/** Below this share of what fits, an estimate is believed; the reading itself notices when it was wrong. */
const SURE_SHARE = 0.5;
/** The least that a row of four columns takes in any store. */
const ROW_BYTES_LEAST = 4;

/**
 * A specification's data: all of them where they fit the run's memory, else what the source's store makes of them. The
 * users of a dataset that was cut down stand in the spool, every one.
 *
 * Throws what readDataset and readPushedDown throw.
 */
export async function readWithinBudget(spec: ModelSpec, options: PushDownOptions): Promise<ReadWithinBudget> {
  const connectors = openOnce(options.connect);
  const openOptions = { ...options, connect: connectors.open };
  try {
    const asked = await openInteractions(spec, openOptions);
    if (asked !== undefined && !(await mayFit(asked, spec, openOptions)))
      return await readPushedDown(spec, asked, openOptions);
    try {
      // A connector that is closed once its rows are read gives back its memory before they are sorted.
      return { ...(await readDataset(spec, { ...options, connect: connectors.handOver })), spool: null };
    } catch (error) {
      const isTooLarge = error instanceof StageError && error.code === "too_many_interactions";
      if (!isTooLarge || asked === undefined) throw error;
      return await readPushedDown(spec, { ...asked, connector: await openSource(spec, openOptions) }, openOptions);
    }
  } finally {
    await connectors.close();
  }
}

type OpenOptions = PushDownOptions & { readonly connect: ReturnType<typeof openOnce>["open"] };
type Opened = Asked & { readonly inspection: Inspection };

/**
 * The interaction query as its store describes it; undefined when there is no limit, a column is missing or no language
 * is known.
 */
async function openInteractions(spec: ModelSpec, options: OpenOptions): Promise<Opened | undefined> {
  if (options.memoryMbMax === undefined) return undefined;
  const { schema } = spec;
  const { source } = schema.interaction;
  const config = connectorOf(spec, source);
  const dialect = dialectOf(config.type);
  if (dialect === undefined) return undefined;
  const columns = interactionColumns(schema);
  if (new Set(columns).size < columns.length) return undefined; // two columns of one name cannot be told apart
  options.progress({ detail: "connecting for interactions" });
  const connector = await openSource(spec, options);
  const inspection = await connector.inspect(source.query, { sampleRows: 0, signal: options.signal });
  const available = inspection.columns;
  // The reading tells which column is missing.
  if (!columns.every((name) => available.some((column) => column.name === name))) return undefined;
  const nowSeconds = Math.floor(options.nowMs / 1000);
  const query = { dialect, query: source.query, available, schema, nowSeconds };
  return { query, connector, inspection };
}

const openSource = (spec: ModelSpec, { connect, context }: OpenOptions): Promise<Connector> =>
  connect(connectorOf(spec, spec.schema.interaction.source), context);

/** Whether the interactions are so few, as far as the store tells, that they can be read. */
async function mayFit(
  { connector, query, inspection }: Opened,
  spec: ModelSpec,
  options: OpenOptions,
): Promise<boolean> {
  const fit = interactionsThatFit(options.memoryMbMax!, spec.schema.interaction.label.type);
  const { estimatedRows, estimatedBytes } = inspection;
  if (estimatedRows !== null && estimatedRows <= SURE_SHARE * fit) return true;
  if (estimatedRows === null && (estimatedBytes ?? 0) / ROW_BYTES_LEAST <= fit) return true;
  options.progress({ detail: "counting interactions in the store" });
  return (await countRows(connector, query.query, options.signal)) <= fit;
}

async function countRows(connector: Connector, query: string, signal: AbortSignal): Promise<number> {
  const sql = `SELECT COUNT(*) AS row_count FROM (\n${innerQuery(query)}\n) AS source`;
  const { chunks } = await connector.read(sql, { signal });
  let count = 0;
  for await (const chunk of chunks) for (const [rows] of chunk.getRows()) count = Number(rows);
  return count;
}
