import { StageError } from "../../../stage/stage-error.ts";
import { sourceError } from "../source-error.ts";
import type { BigQueryTarget } from "./config.ts";

type Fault = {
  /** HTTP status of REST, gRPC status of the reader, or Node's error code. */
  readonly code?: number | string;
  readonly message?: string;
  readonly errors?: readonly { readonly reason?: string; readonly message?: string }[];
  readonly reason?: string;
  readonly response?: { readonly status?: number };
};
export type BigQueryParty = BigQueryTarget & { readonly serviceAccount: string };

type Message = (text: string, party: BigQueryParty) => string;
/** A pattern of the error, and what the customer sees. */
type Rule = readonly [when: RegExp, code: string, message: Message];

const REFUSED_CREDENTIALS =
  /invalid_grant|invalid_client|Invalid Credentials|UNAUTHENTICATED|Login Required|[Aa]ccount (\S+ )?(is|was|has been) (disabled|deleted)/;

const cannotRun: Message = (text) => `The query cannot run: ${placed(text)}`;
const notFound: Message = (text) => `${text}. Name tables as project.dataset.table`;

/**
 * Tried in order on `reason: message`; the reasons are those of the API's error table. Messages may contain names that the customer
 * chose, so rules for a reason come before rules for a text.
 */
const RULES: readonly Rule[] = [
  [
    /Not found: Dataset \S+ was not found in location|Cannot read and write in different locations/,
    "dataset_in_other_location",
    (text, { location }) =>
      `${text}. The connector's location is ${JSON.stringify(location)}: set it to where the dataset is`,
  ],
  [/^invalidQuery: /, "source_query_failed", cannotRun],
  [/^notFound: /, "table_not_found", notFound],
  [
    /iam\.serviceAccounts\.getAccessToken|generateAccessToken/i,
    "impersonation_denied",
    (_, { serviceAccount }) =>
      `The trainer may not act as ${serviceAccount}; the operator must grant its identity roles/iam.serviceAccountTokenCreator on that account: gcloud iam service-accounts add-iam-policy-binding ${serviceAccount} --member=serviceAccount:TRAINER_IDENTITY --role=roles/iam.serviceAccountTokenCreator`,
  ],
  [
    REFUSED_CREDENTIALS,
    "credentials_refused",
    () => "Google refuses the trainer's credentials: they have expired or were revoked; the operator must renew them",
  ],
  [
    /bigquery\.jobs\.create/i,
    "permission_denied",
    (_, { projectId, serviceAccount }) =>
      `${serviceAccount} may not run queries in project ${projectId}; grant it roles/bigquery.jobUser: gcloud projects add-iam-policy-binding ${projectId} --member=serviceAccount:${serviceAccount} --role=roles/bigquery.jobUser`,
  ],
  [
    /billingNotEnabled|Billing has not been enabled/i,
    "billing_not_enabled",
    (_, { projectId }) => `Billing is not enabled for project ${projectId}; enable it, or name a project where it is`,
  ],
  [
    /bytesBilledLimitExceeded|limit for bytes billed/i,
    "bytes_limit_exceeded",
    (text) => `${text}. Read fewer columns or partitions, or ask the operator for a higher limit`,
  ],
  [
    /quotaExceeded|rateLimitExceeded|RESOURCE_EXHAUSTED|jobRateLimitExceeded/i,
    "quota_exceeded",
    (text) => `BigQuery's quota is used up: ${text}`,
  ],
  [
    /accessDenied|Access Denied|PERMISSION_DENIED/i,
    "permission_denied",
    (text, { serviceAccount }) =>
      `${text} Grant ${serviceAccount} roles/bigquery.dataViewer on the dataset${datasetCommand(text, serviceAccount)}`,
  ],
  [/Not found: (Table|Dataset)/, "table_not_found", notFound],
  [
    /^stopped|Job execution was cancelled|was cancelled/i,
    "job_cancelled",
    () => "The query job was cancelled in BigQuery by somebody else; train again",
  ],
  [/^timeout|Job timed out/i, "source_timeout", () => "BigQuery ended the job at its time limit; make it read less"],
  [/Syntax error|Unrecognized name/, "source_query_failed", cannotRun],
];

const RETRYABLE = new RegExp(
  "backendError|internalError|jobBackendError|UNAVAILABLE|" +
    "ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|EAI_AGAIN|socket hang up|Premature close",
);
/** gRPC's CANCELLED (our own cancellations are seen by their signal), DEADLINE_EXCEEDED, ABORTED, INTERNAL, UNAVAILABLE. */
const GRPC_RETRYABLE: readonly number[] = [1, 4, 10, 13, 14];
const GRPC_RESOURCE_EXHAUSTED = 8;
const isGrpc = (code: Fault["code"]): code is number => typeof code === "number" && code < 100;

/** An error of the client or the API as the customer may see it: what happened and what to do. */
export function explainBigQueryError(error: unknown, party: BigQueryParty): StageError {
  if (error instanceof StageError) return error;
  const text = textOf(error);
  const plain = text.replace(/^\w+: /, "");
  const [, code, message] = RULES.find(([when]) => when.test(text)) ?? [];
  if (code === undefined || message === undefined)
    return sourceError(
      { code: "source_query_failed", message: `BigQuery failed: ${plain}`, retryable: isTransient(error) },
      error,
    );
  return sourceError({ code, message: message(plain, party), retryable: code === "quota_exceeded" }, error);
}

/** True for faults of the service or the network, after which the same request may succeed in a moment. */
export function isTransient(error: unknown): boolean {
  const { code, response } = (error ?? {}) as Fault;
  if (isGrpc(code)) return GRPC_RETRYABLE.includes(code);
  const status = typeof code === "number" ? code : response?.status;
  if (status !== undefined && status >= 500) return true;
  const text = textOf(error);
  return !/^(invalidQuery|notFound): /.test(text) && RETRYABLE.test(`${String(code)} ${text}`);
}

/** True when a retry after a pause may succeed: transient faults, quota and rate limits. */
export const isWorthRetry = (error: unknown): boolean =>
  isTransient(error) ||
  (error as Fault | undefined)?.code === GRPC_RESOURCE_EXHAUSTED ||
  /quotaExceeded|rateLimitExceeded|RESOURCE_EXHAUSTED/i.test(textOf(error));

/** `reason: message`. */
function textOf(error: unknown): string {
  const fault = (error ?? {}) as Fault;
  const first = fault.errors?.[0];
  const reason = first?.reason ?? fault.reason ?? (typeof fault.code === "string" ? fault.code : "error");
  return `${reason}: ${first?.message ?? fault.message ?? String(error)}`;
}

/** Replaces BigQuery's `at [2:3]` by words. */
const placed = (text: string) => text.replace(/\s*at \[(\d+):(\d+)\]/, " (line $1, column $2)");

function datasetCommand(text: string, serviceAccount: string): string {
  const [, project, dataset] = /(?:Table|Dataset) ([\w.-]+):(\w+)/.exec(text) ?? [];
  if (!dataset) return "";
  return `: GRANT \`roles/bigquery.dataViewer\` ON SCHEMA \`${project}.${dataset}\` TO "serviceAccount:${serviceAccount}"`;
}
