import type { DuckDBDataChunk } from "@duckdb/node-api";
import { BigQueryReadClient } from "@google-cloud/bigquery-storage";
import { credentials } from "@grpc/grpc-js";
import { tableFromIPC } from "apache-arrow";
import { unlessSilent } from "../limits.ts";
import { rowChunks } from "../row-chunks.ts";
import { arrowReader } from "./arrow.ts";
import type { BigQueryColumn } from "./columns.ts";
import { type BigQueryParty, explainBigQueryError, isWorthRetry } from "./errors.ts";
import type { CustomerIdentity } from "./identity.ts";
import { type FinishedJob, withRetries } from "./job.ts";

const ATTEMPTS = 5;
/** Without this the library restarts a stream that was cancelled before its first rows, and nothing cancels it again. */
const NO_RETRY = { retryRequestOptions: { retries: 0, noResponseRetries: 0 } };

export type StorageOptions = {
  readonly identity: CustomerIdentity;
  readonly party: BigQueryParty;
  /** `host:port` of a test server without TLS; null: Google's. */
  readonly endpoint: string | null;
  readonly silenceSeconds: number;
};

export type StorageSession = {
  readonly client: BigQueryReadClient;
  readonly arrowSchema: Uint8Array;
  readonly streams: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * Opens a session of the Storage Read API, which gives a job's result as Arrow. One stream brings rows faster than one thread
 * decodes them. Undefined when the customer's account may not use that API or the result cannot be read through it; then REST is used.
 */
export async function openStorage(
  { table }: FinishedJob,
  options: StorageOptions,
  signal: AbortSignal,
): Promise<StorageSession | undefined> {
  if (!table) return undefined;
  const { party, identity } = options;
  const client = newReadClient(options);
  try {
    // The library sends no credentials over a connection without TLS.
    const headers = options.endpoint
      ? { authorization: `Bearer ${(await identity.client.getAccessToken()).token}` }
      : {};
    const session = {
      table: `projects/${table.projectId}/datasets/${table.datasetId}/tables/${table.tableId}`,
      dataFormat: "ARROW" as const,
    };
    const request = { parent: `projects/${party.projectId}`, readSession: session, maxStreamCount: 1 };
    const [opened] = await withRetries(options, signal, () =>
      client.createReadSession(request, { otherArgs: { headers } }),
    );
    const arrowSchema = opened.arrowSchema?.serializedSchema as Uint8Array | undefined;
    if (!arrowSchema) throw new Error("The read session has no Arrow schema.");
    return { client, headers, arrowSchema, streams: (opened.streams ?? []).map(({ name }) => name!) };
  } catch (error) {
    await client.close().catch(() => undefined);
    signal.throwIfAborted();
    if (isRefusal(error)) return undefined;
    throw explainBigQueryError(error, party);
  }
}

export async function* storageRows(
  session: StorageSession,
  columns: readonly BigQueryColumn[],
  { party, silenceSeconds }: StorageOptions,
  signal: AbortSignal,
): AsyncGenerator<DuckDBDataChunk> {
  try {
    for (const stream of session.streams)
      yield* streamRows(session, stream, { columns, party, silenceSeconds, signal });
  } finally {
    await session.client.close().catch(() => undefined);
  }
}

type StreamContext = Pick<StorageOptions, "party" | "silenceSeconds"> & {
  readonly columns: readonly BigQueryColumn[];
  readonly signal: AbortSignal;
};

/** One stream's rows. After a broken connection it continues at the row where it broke. */
async function* streamRows(session: StorageSession, readStream: string, context: StreamContext) {
  const { party, signal, columns, silenceSeconds } = context;
  const { headers } = session;
  let offset = 0;
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    const responses = session.client.readRows({ readStream, offset }, { otherArgs: { headers }, ...NO_RETRY });
    const stop = () => responses.cancel();
    signal.addEventListener("abort", stop, { once: true });
    try {
      const answers = responses[Symbol.asyncIterator]();
      for (;;) {
        const { done, value: response } = await unlessSilent(answers.next(), silenceSeconds);
        if (done) return;
        const bytes = response.arrowRecordBatch?.serializedRecordBatch as Uint8Array | undefined;
        if (!bytes) continue;
        yield* chunksOfBatch(session.arrowSchema, bytes, columns);
        offset += Number(response.rowCount);
        attempt = 1;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (attempt >= ATTEMPTS || !isWorthRetry(error)) throw explainBigQueryError(error, party);
      await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt));
    } finally {
      signal.removeEventListener("abort", stop);
      responses.destroy();
    }
  }
}

function chunksOfBatch(schema: Uint8Array, batch: Uint8Array, columns: readonly BigQueryColumn[]) {
  const table = tableFromIPC(Buffer.concat([schema, batch]));
  const readers = columns.map(({ name }) => arrowReader(table.getChild(name)!));
  const types = columns.map(({ type }) => type);
  return rowChunks(types, table.numRows, (column, row) => readers[column]!(row));
}

function newReadClient({ identity, party, endpoint }: StorageOptions): BigQueryReadClient {
  const [host, port] = endpoint?.split(":") ?? [];
  return new BigQueryReadClient({
    projectId: party.projectId,
    authClient: identity.client as never,
    ...(host && { apiEndpoint: host, port: Number(port), sslCreds: credentials.createInsecure() }),
  });
}

const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;
const FAILED_PRECONDITION = 9;
/** gRPC codes with which the API refuses a result that REST can read. */
const isRefusal = (error: unknown): boolean => {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } };
  return [PERMISSION_DENIED, UNIMPLEMENTED, FAILED_PRECONDITION].includes((cause?.code ?? code) as number);
};
