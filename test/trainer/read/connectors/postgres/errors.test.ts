import { expect, test } from "vitest";
import type { PostgresTarget } from "../../../../../trainer/read/connectors/postgres/config.ts";
import { explainPostgresError } from "../../../../../trainer/read/connectors/postgres/errors.ts";

const target = { host: "db.example", port: 5432, database: "shop", user: "reader" } as PostgresTarget;

test.each([
  [{ code: "28P01" }, "authentication_failed", false, "refused the password"],
  [{ code: "28000", message: "no pg_hba.conf entry" }, "authentication_failed", false, "pg_hba.conf"],
  [
    { code: "42501", message: "permission denied for table t" },
    "permission_denied",
    false,
    "GRANT SELECT ON t TO reader",
  ],
  [{ code: "42501", message: "permission denied for view Big" }, "permission_denied", false, 'SELECT ON "Big" TO'],
  [
    { code: "42501", message: "permission denied for schema s" },
    "permission_denied",
    false,
    "GRANT USAGE ON SCHEMA s TO",
  ],
  [{ code: "42501", message: "must be owner" }, "permission_denied", false, "GRANT SELECT ON … TO reader"],
  [{ code: "40001", message: "conflict with recovery" }, "query_cancelled_by_replica", true, "hot_standby_feedback"],
  [{ code: "57P01" }, "source_restarted", true, "shut the connection down"],
  [{ code: "57P03" }, "source_restarted", true, "starting up"],
  [{ code: "53300" }, "source_busy", true, "no connection left"],
  [{ code: "ECONNREFUSED" }, "source_unreachable", true, "db.example:5432"],
  [{ code: "EHOSTUNREACH" }, "source_unreachable", true, "db.example:5432 (EHOSTUNREACH)"],
  [{ code: "ENETUNREACH" }, "source_unreachable", true, "db.example:5432 (ENETUNREACH)"],
  [{ code: "25P03" }, "connection_lost", true, "ended the connection"],
  [{ message: "timeout expired" }, "source_unreachable", true, "firewall"],
  [{ message: "Connection terminated unexpectedly" }, "connection_lost", true, "cut"],
  [{ code: "ERR_TLS_CERT_ALTNAME_INVALID" }, "certificate_not_valid", false, "verify-ca"],
  [{ code: "SELF_SIGNED_CERT_IN_CHAIN" }, "certificate_not_valid", false, "sslrootcert"],
  [{ code: "53200", message: "out of memory" }, "source_query_failed", true, "out of memory"],
  [{ code: "0A000", message: "FOR UPDATE is not allowed with DISTINCT clause" }, "not_a_select", false, "only read"],
  [
    { code: "0A000", message: "DISTINCT is not implemented for window functions" },
    "source_query_failed",
    false,
    "DISTINCT is not implemented",
  ],
  [{ code: "22012", message: "division by zero" }, "source_query_failed", false, "division by zero"],
])("%j becomes %s", (fault, code, retryable, words) => {
  const explained = explainPostgresError(fault, target);
  expect(explained).toMatchObject({ code, retryable });
  expect(explained.message).toContain(words);
});

test("positions are those in the customer's query, counted in characters", () => {
  const inner = { text: "SELECT '😀',\nwrong", offset: 10 };
  const message = (position: string) =>
    explainPostgresError({ code: "42703", message: "no column", position }, target, inner).message;
  expect(message("23")).toContain("(line 2, column 1)");
  expect(message("5")).not.toContain("line"); // before the customer's part
});
