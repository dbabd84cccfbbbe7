import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { BigQuery, type Job } from "@google-cloud/bigquery";
import type { ConnectorContext } from "../connector.ts";
import { unlessSilent } from "../limits.ts";
import { sourceError } from "../source-error.ts";
import type { BigQueryField } from "./columns.ts";
import { type BigQueryParty, explainBigQueryError, isWorthRetry } from "./errors.ts";
import type { CustomerIdentity } from "./identity.ts";

export type DryRun = { readonly fields: readonly BigQueryField[]; readonly bytes: number };

export type BigQueryAccess = {
  readonly client: BigQuery;
  readonly party: BigQueryParty;
  readonly labels: Readonly<Record<string, string>>;
  readonly bytesBilledMax: number;
  readonly timeoutSeconds: number;
  readonly silenceSeconds: number;
};

export type FinishedJob = {
  readonly job: Job;
  /** `project:location.id`, as BigQuery's console shows it. */
  readonly id: string;
  readonly fields: readonly BigQueryField[];
  readonly totalRows: number | null;
  /** The temporary table that holds the result. */
  readonly table: { readonly projectId: string; readonly datasetId: string; readonly tableId: string } | undefined;
};

const ATTEMPTS = 5;
const PAUSE_MS = 500;
const POLL_MS_MAX = 5_000;

export function openAccess(
  party: BigQueryParty,
  identity: CustomerIdentity,
  context: ConnectorContext,
): BigQueryAccess {
  const { settings, customer } = context;
  const client = new BigQuery({
    projectId: party.projectId,
    location: party.location,
    // The client has its own copy of the authentication library, with other types.
    authClient: identity.client as never,
    ...(settings.bigqueryApiEndpoint && { apiEndpoint: settings.bigqueryApiEndpoint }),
    retryOptions: { autoRetry: false }, // withRetries retries, with a bound and a signal
  });
  return {
    client,
    party,
    labels: { application: "shortlist", customer },
    bytesBilledMax: settings.bigqueryBytesBilledMax,
    timeoutSeconds: settings.timeoutSeconds,
    silenceSeconds: settings.silenceSeconds,
  };
}

/** The query's columns and the bytes that it would read. Nothing is run or billed. Throws StageError `not_a_select`. */
export async function dryRunQuery(access: BigQueryAccess, query: string, signal: AbortSignal): Promise<DryRun> {
  const [job] = await withRetries(access, signal, () =>
    access.client.createQueryJob({ ...optionsOf(access, query), dryRun: true }),
  );
  const statistics = job.metadata?.statistics?.query ?? {};
  if (statistics.statementType !== undefined && statistics.statementType !== "SELECT")
    throw sourceError({
      code: "not_a_select",
      message: `The query is a ${statistics.statementType} statement, and source queries only read; make it one SELECT`,
    });
  const bytes = Number(statistics.totalBytesProcessed ?? job.metadata?.statistics?.totalBytesProcessed ?? 0);
  return { fields: statistics.schema?.fields ?? [], bytes };
}

/** Runs the query to its end. The job is cancelled when the signal is aborted. Transient faults are retried a few times. */
export async function runQuery(access: BigQueryAccess, query: string, signal: AbortSignal): Promise<FinishedJob> {
  const { client, party } = access;
  const jobId = `shortlist-${randomUUID()}`;
  const job = client.job(jobId, { location: party.location });
  let beginning: Promise<unknown> | undefined;
  const cancel = () => {
    const cancelJob = () => job.cancel().catch(() => undefined); // the job's own time limit ends it at the latest
    void cancelJob();
    void beginning?.then(cancelJob, cancelJob); // the service cannot cancel a job before it has begun it
  };
  try {
    const options = { ...optionsOf(access, query), jobId };
    await withRetries(access, signal, () => {
      beginning = client.createQueryJob(options).catch(unlessItExists);
      return beginning;
    });
    beginning = undefined;
    for (let pause = 200; ; pause = Math.min(2 * pause, POLL_MS_MAX)) {
      const [metadata] = await withRetries(access, signal, () => job.getMetadata());
      const failure = metadata.status?.errorResult;
      if (failure) throw explainBigQueryError(failure, party);
      if (metadata.status?.state === "DONE") return await finished(job, metadata, { access, signal });
      await sleep(pause, signal);
    }
  } catch (error) {
    cancel();
    throw error;
  }
}

/** Ignores 409: an earlier request has begun the job though its answer was lost, so it is not run and billed again. */
function unlessItExists(error: unknown): void {
  if ((error as { readonly code?: unknown }).code !== 409) throw error;
}

async function finished(
  job: Job,
  metadata: Record<string, never>,
  { access, signal }: { readonly access: BigQueryAccess; readonly signal: AbortSignal },
): Promise<FinishedJob> {
  const facts = metadata as unknown as {
    readonly configuration?: { readonly query?: { readonly destinationTable?: FinishedJob["table"] } };
  };
  const [, , response] = (await withRetries(access, signal, () =>
    job.getQueryResults({ maxResults: 0, autoPaginate: false, skipParsing: true }),
  )) as unknown as [unknown, unknown, { totalRows?: string; schema?: { fields?: BigQueryField[] } }];
  return {
    job,
    id: `${access.party.projectId}:${access.party.location}.${job.id}`,
    fields: response?.schema?.fields ?? [],
    totalRows: response?.totalRows === undefined ? null : Number(response.totalRows),
    table: facts.configuration?.query?.destinationTable,
  };
}

const optionsOf = ({ labels, bytesBilledMax, timeoutSeconds, party }: BigQueryAccess, query: string) => ({
  query,
  location: party.location,
  labels: { ...labels },
  maximumBytesBilled: String(bytesBilledMax),
  jobTimeoutMs: timeoutSeconds * 1000,
  useLegacySql: false,
});

/** Sends a request, and retries transient faults with growing pauses. Throws StageError; the signal's reason when aborted. */
export async function withRetries<Value>(
  { party, silenceSeconds }: Pick<BigQueryAccess, "party" | "silenceSeconds">,
  signal: AbortSignal,
  request: () => Promise<Value>,
): Promise<Value> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await unlessAborted(unlessSilent(request(), silenceSeconds), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (attempt >= ATTEMPTS || !isWorthRetry(error)) throw explainBigQueryError(error, party);
      await sleep(PAUSE_MS * 2 ** (attempt - 1), signal);
    }
  }
}

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, { signal }).catch(() => signal.throwIfAborted());

/** The promise's value, or the signal's reason without waiting for the promise. */
async function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  return await Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", stop));
}
