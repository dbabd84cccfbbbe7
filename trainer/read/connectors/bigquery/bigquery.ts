import { VARCHAR } from "@duckdb/node-api";
import type { ConnectorConfig } from "../../../../shared/model-spec.ts";
import type { Connector, ConnectorContext, Inspection, ReadOptions, SourceColumn, SourceRows } from "../connector.ts";
import { startDeadline, withinLimits } from "../limits.ts";
import { closedError, sourceError } from "../source-error.ts";
import { innerQuery } from "../sql-text.ts";
import { type BigQueryColumn, type BigQueryField, columnOf, selectList } from "./columns.ts";
import { parseBigQueryConfig } from "./config.ts";
import { customerIdentity } from "./identity.ts";
import { type BigQueryAccess, dryRunQuery, type FinishedJob, openAccess, runQuery } from "./job.ts";
import { restRows } from "./rest-rows.ts";
import { openStorage, type StorageOptions, storageRows } from "./storage-rows.ts";

/** On-demand analysis, $ per TiB read; list price of 2026-11, the first TiB of a month not counted. */
const USD_PER_TIB = 6.25;
/** Results with fewer rows are read over REST, because opening a read session would take longer than it saves. */
const STORAGE_ROWS_MIN = 20_000;

/**
 * Queries in the customer's own project and location, as the customer's own service account. BigQuery's dry run comes first: it
 * finds columns and bytes before anything is billed, and refuses everything but a SELECT.
 */
export async function connectBigQuery(config: ConnectorConfig, context: ConnectorContext): Promise<Connector> {
  const target = parseBigQueryConfig(config);
  const identity = customerIdentity(context);
  const party = { ...target, serviceAccount: identity.serviceAccount };
  const access = openAccess(party, identity, context);
  const { silenceSeconds, bigqueryStorageEndpoint: endpoint = null } = context.settings;
  const storage = { identity, party, endpoint, silenceSeconds };
  return bigqueryConnector(access, storage, context);
}

function bigqueryConnector(access: BigQueryAccess, storage: StorageOptions, { settings }: ConnectorContext): Connector {
  const closing = new AbortController();
  const begin = (caller: AbortSignal) =>
    startDeadline(AbortSignal.any([caller, closing.signal]), settings.timeoutSeconds);
  const rowsOf = async (job: FinishedJob, columns: readonly BigQueryColumn[], signal: AbortSignal) => {
    const many = job.totalRows === null || job.totalRows >= STORAGE_ROWS_MIN;
    const session = many ? await openStorage(job, storage, signal) : undefined;
    return session ? storageRows(session, columns, storage, signal) : restRows(access, job, columns, signal);
  };
  return {
    async inspect(query, caller): Promise<Inspection> {
      const { signal, end } = begin(caller);
      const { fields, bytes } = await dryRunQuery(access, query, signal).finally(end);
      return {
        columns: fields.map(describe),
        estimatedRows: null,
        estimatedBytes: bytes,
        estimatedCostUsd: (bytes / 2 ** 40) * USD_PER_TIB,
      };
    },

    async read(query, { signal: caller, columns: wanted, limit }: ReadOptions): Promise<SourceRows> {
      const { signal, end } = begin(caller);
      const { fields } = await dryRunQuery(access, query, signal);
      const columns = chosen(fields, wanted).map(columnOf);
      const job = await runQuery(access, selecting(query, columns, limit), signal);
      const rows = await rowsOf(job, columns, signal);
      return {
        columns: columns.map(({ name, type }) => ({ name, type })),
        chunks: withinLimits(rows, { rowsMax: settings.rowsMax, end }),
        expectedRows: job.totalRows,
        origin: `BigQuery job ${job.id}`,
      };
    },

    async close() {
      closing.abort(closedError("BigQuery"));
    },
  };
}

/** Selects the columns of the query, each cast to a type that is read here. */
function selecting(query: string, columns: readonly BigQueryColumn[], limit: number | undefined): string {
  const end = limit === undefined ? "" : ` LIMIT ${limit}`;
  return `SELECT ${selectList(columns)} FROM (\n${innerQuery(query)}\n)${end}`;
}

function chosen(fields: readonly BigQueryField[], wanted: readonly string[] | undefined): readonly BigQueryField[] {
  if (!wanted) return fields;
  return wanted.map((name) => {
    const field = fields.find((candidate) => candidate.name === name);
    if (field) return field;
    throw sourceError({ code: "source_query_failed", message: `The query gives no column ${JSON.stringify(name)}` });
  });
}

/** The column as a dry run shows it. A column that cannot be read is shown as text. */
function describe(field: BigQueryField): SourceColumn {
  const native = field.type ?? "";
  try {
    const { name, type } = columnOf(field);
    return { name, type, native };
  } catch {
    return { name: field.name ?? "", type: VARCHAR, native };
  }
}
