import type { ConnectorConfig } from "../../../../shared/model-spec.ts";
import { StageError } from "../../../stage/stage-error.ts";
import type { Connector, ConnectorContext, Inspection, ReadOptions } from "../connector.ts";
import { endingWith } from "../ending-with.ts";
import { innerQuery } from "../inner-query.ts";
import type { SourceRows } from "../source-rows.ts";
import { type BigQueryColumn, type BigQueryField, columnOf, selectList } from "./columns.ts";
import { parseBigQueryConfig } from "./config.ts";
import { customerIdentity } from "./identity.ts";
import { type BigQueryAccess, dryRunQuery, type FinishedJob, openAccess, runQuery, withDeadline } from "./job.ts";
import { restRows } from "./rest-rows.ts";
import { openStorage, type StorageOptions, storageRows } from "./storage-rows.ts";

/** On-demand analysis, $ per TiB read; list price of 2026-11, the first TiB of a month not counted. */
const USD_PER_TIB = 6.25;
/** Below this many rows a read session costs more time than it saves. */
const STORAGE_ROWS_MIN = 20_000;

/**
 * Queries in the customer's own project and location, by the customer's own service account. A dry run comes first: it
 * refuses what is no SELECT, and tells columns and bytes before anything is billed.
 */
export async function connectBigQuery(config: ConnectorConfig, context: ConnectorContext): Promise<Connector> {
  const target = parseBigQueryConfig(config);
  const identity = await customerIdentity(context);
  const party = { ...target, serviceAccount: identity.serviceAccount };
  const access = openAccess(party, identity, context);
  const storage = { identity, party, endpoint: context.settings.bigqueryStorageEndpoint ?? null };
  return bigqueryConnector(access, storage, context);
}

function bigqueryConnector(access: BigQueryAccess, storage: StorageOptions, { settings }: ConnectorContext): Connector {
  const closing = new AbortController();
  const stopping = (signal: AbortSignal) => AbortSignal.any([signal, closing.signal]);
  /** The rows of a job that has ended. They may take as long as the job might, and no stalled stream longer. */
  const rowsOf = async (
    job: FinishedJob,
    columns: readonly BigQueryColumn[],
    caller: AbortSignal,
  ): Promise<SourceRows> => {
    const { signal, end } = withDeadline(caller, settings.timeoutSeconds);
    const many = job.totalRows === null || job.totalRows >= STORAGE_ROWS_MIN;
    const session = many ? await openStorage(job, storage, signal) : undefined;
    const rows = session ? storageRows(session, columns, storage, signal) : restRows(access, job, columns, signal);
    return {
      columns: columns.map(({ name, type }) => ({ name, type })),
      chunks: endingWith(atMost(rows, settings.rowsMax), end),
      expectedRows: job.totalRows,
      origin: `BigQuery job ${job.id}`,
    };
  };
  return {
    async inspect(query, { sampleRows, signal: caller }): Promise<Inspection> {
      const signal = stopping(caller);
      const { fields, bytes } = await dryRunQuery(access, query, signal);
      const columns = fields.map(describe);
      const sample: Record<string, unknown>[] = [];
      const readable = fields.filter((_, i) => columns[i]!.supported).map(columnOf);
      if (sampleRows > 0 && readable.length > 0) {
        const job = await runQuery(access, selecting(query, readable, sampleRows), signal);
        for await (const chunk of restRows(access, job, readable, signal)) {
          for (const row of chunk.getRows())
            sample.push(Object.fromEntries(readable.map(({ name }, i) => [name, plain(row[i])])));
        }
      }
      return {
        columns: columns.map(({ name, type }, i) => ({ name, type, native: fields[i]!.type ?? "" })),
        sample,
        estimatedRows: null,
        estimatedBytes: bytes,
        estimatedCostUsd: (bytes / 2 ** 40) * USD_PER_TIB,
      };
    },

    async read(query, { signal: caller, columns: wanted, limit }: ReadOptions): Promise<SourceRows> {
      const signal = stopping(caller);
      const { fields } = await dryRunQuery(access, query, signal);
      const columns = chosen(fields, wanted).map(columnOf);
      const job = await runQuery(access, selecting(query, columns, limit), signal);
      return await rowsOf(job, columns, signal);
    },

    async close() {
      closing.abort(new StageError("fetching", "source_closed", "The BigQuery connector is closed"));
    },
  };
}

/** The query, its columns cast to what is read here. Field names of the inner query are its own. */
function selecting(query: string, columns: readonly BigQueryColumn[], limit: number | undefined): string {
  const end = limit === undefined ? "" : ` LIMIT ${limit}`;
  return `SELECT ${selectList(columns)} FROM (\n${innerQuery(query)}\n)${end}`;
}

function chosen(fields: readonly BigQueryField[], wanted: readonly string[] | undefined): readonly BigQueryField[] {
  if (!wanted) return fields;
  return wanted.map((name) => {
    const field = fields.find((candidate) => candidate.name === name);
    if (field) return field;
    throw new StageError("fetching", "source_query_failed", `The query gives no column ${JSON.stringify(name)}`);
  });
}

/** The column as a dry run shows it; one that cannot be read is shown as text. */
function describe(field: BigQueryField) {
  try {
    return { ...columnOf(field), supported: true };
  } catch {
    return { ...columnOf({ name: field.name ?? "", type: "STRING" }), supported: false };
  }
}

const plain = (value: unknown): unknown =>
  value === null || ["string", "number", "boolean"].includes(typeof value) ? value : String(value);

async function* atMost(chunks: AsyncIterable<{ readonly rowCount: number }>, rowsMax: number): SourceRows["chunks"] {
  let total = 0;
  for await (const chunk of chunks as SourceRows["chunks"]) {
    total += chunk.rowCount;
    if (total > rowsMax)
      throw new StageError(
        "fetching",
        "too_many_rows",
        `The query gives more than the ${rowsMax} rows allowed; narrow it, such as to the newest interactions`,
      );
    yield chunk;
  }
}
