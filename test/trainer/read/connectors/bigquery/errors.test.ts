import { expect, test } from "vitest";
import {
  explainBigQueryError,
  isTransient,
  isWorthRetry,
} from "../../../../../trainer/read/connectors/bigquery/errors.ts";

const party = { projectId: "acme-data", location: "EU", serviceAccount: "reader@x.iam.gserviceaccount.com" };
const api = (code: number, reason: string, message: string) => ({ code, message, errors: [{ reason, message }] });

test.each([
  [api(403, "forbidden", "Permission 'iam.serviceAccounts.getAccessToken' denied"), "impersonation_denied", false],
  [api(401, "authError", "Invalid Credentials"), "credentials_refused", false],
  [{ message: "invalid_grant: account has been disabled" }, "credentials_refused", false],
  [api(404, "notFound", "Not found: Dataset a:b was not found in location EU"), "dataset_in_other_location", false],
  [
    api(403, "accessDenied", "User does not have bigquery.jobs.create permission in project p"),
    "permission_denied",
    false,
  ],
  [api(403, "accessDenied", "Access Denied: Table a:b.c: no"), "permission_denied", false],
  [api(403, "billingNotEnabled", "Billing has not been enabled"), "billing_not_enabled", false],
  [api(400, "bytesBilledLimitExceeded", "Query exceeded limit for bytes billed"), "bytes_limit_exceeded", false],
  [api(403, "quotaExceeded", "Quota exceeded"), "quota_exceeded", true],
  [api(400, "invalidQuery", "Cannot read and write in different locations"), "dataset_in_other_location", false],
  [api(404, "notFound", "Not found: Table a:b.c was not found in location EU"), "table_not_found", false],
  [{ message: "Not found: Dataset a:b" }, "table_not_found", false],
  [api(403, "forbidden", "Service account reader@x has been disabled"), "credentials_refused", false],
  // Names are the customer's.
  [
    api(404, "notFound", "Not found: Table a:b.accounts_deleted was not found in location EU"),
    "table_not_found",
    false,
  ],
  [api(403, "accessDenied", "Access Denied: Table a:b.account_deleted: no"), "permission_denied", false],
  [api(400, "invalidQuery", "Unrecognized name: account_deleted at [2:7]"), "source_query_failed", false],
  [api(400, "invalidQuery", "Name is_deleted not found inside account at [3:5]"), "source_query_failed", false],
  [api(400, "invalidQuery", "Unrecognized name: UNAVAILABLE at [2:7]"), "source_query_failed", false],
  [{ code: 13, message: "13 INTERNAL: Received RST_STREAM with code 2" }, "source_query_failed", true],
  [{ reason: "stopped", message: "Job execution was cancelled" }, "job_cancelled", false],
  [api(400, "invalidQuery", "Unrecognized name: x at [2:7]"), "source_query_failed", false],
  [api(503, "backendError", "try again"), "source_query_failed", true],
  [Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }), "source_query_failed", true],
  [new Error("something else"), "source_query_failed", false],
])("%j becomes %s", (error, code, retryable) => {
  expect(explainBigQueryError(error, party)).toMatchObject({ name: "StageError", code, retryable });
});

test("missing rights are explained by commands that can be pasted", () => {
  const grant = explainBigQueryError(api(403, "accessDenied", "Access Denied: Table acme-data:shop.events: no"), party);
  expect(grant.message).toContain(
    'GRANT `roles/bigquery.dataViewer` ON SCHEMA `acme-data.shop` TO "serviceAccount:reader@x',
  );
  const job = explainBigQueryError(api(403, "accessDenied", "no bigquery.jobs.create permission"), party);
  expect(job.message).toContain("gcloud projects add-iam-policy-binding acme-data --member=serviceAccount:reader@x");
  expect(explainBigQueryError(api(400, "invalidQuery", "Syntax error at [2:7]"), party).message).toContain(
    "(line 2, column 7)",
  );
});

test("only faults that may end by themselves are transient", () => {
  expect([api(500, "internalError", "x"), api(503, "backendError", "x")].map(isTransient)).toEqual([true, true]);
  expect([api(400, "invalidQuery", "x"), api(403, "accessDenied", "x")].some(isWorthRetry)).toBe(false);
  expect(isWorthRetry(api(403, "rateLimitExceeded", "x"))).toBe(true);
  expect(isTransient(api(403, "rateLimitExceeded", "x"))).toBe(false);
  expect(isTransient(api(400, "invalidQuery", "Unrecognized name: UNAVAILABLE"))).toBe(false);
  expect(isTransient(api(403, "accessDenied", "Access Denied: Table a:b.unavailable: no"))).toBe(false);
  const grpc = Array.from({ length: 17 }, (_, code) => ({ code, message: "why" }));
  expect(grpc.filter(isTransient).map(({ code }) => code)).toEqual([1, 4, 10, 13, 14]);
  expect(grpc.filter(isWorthRetry).map(({ code }) => code)).toEqual([1, 4, 8, 10, 13, 14]);
});
