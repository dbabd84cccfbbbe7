import { StageError } from "../../../stage/stage-error.ts";
import { type Explanation, sourceError } from "../source-error.ts";
import type { PostgresTarget } from "./config.ts";

/** A customer's query inside a larger statement, and the character at which it begins there. */
export type InnerQuery = { readonly text: string; readonly offset: number };

type Fault = {
  readonly code?: string;
  readonly message?: string;
  readonly position?: string;
  readonly routine?: string;
  readonly hint?: string;
};

const noRoute = ({ code }: Fault, { host, port }: PostgresTarget): Explanation => ({
  code: "source_unreachable",
  message: `There is no route from the trainer to ${host}:${port} (${code}); check its address, its network and the firewalls between`,
  retryable: true,
});

/** By SQLSTATE (PostgreSQL manual, appendix A) or Node's error code. */
const EXPLANATIONS: Readonly<Record<string, (fault: Fault, target: PostgresTarget) => Explanation>> = {
  "25P03": () => ({
    code: "connection_lost",
    message: "The server ended the connection, because the trainer was idle for too long",
    retryable: true,
  }),
  "28P01": (_, { user }) => ({
    code: "authentication_failed",
    message: `The server refused the password of user ${JSON.stringify(user)}; it may have been changed: give the trainer's operator the new one`,
  }),
  "28000": ({ message }, { user, host }) => ({
    code: "authentication_failed",
    message: `The server does not let user ${JSON.stringify(user)} in from here: ${message}; allow the trainer's addresses in pg_hba.conf of ${host}`,
  }),
  "3D000": (_, { database }) => ({
    code: "unknown_database",
    message: `There is no database ${JSON.stringify(database)} on this server`,
  }),
  "42501": ({ message }, { user }) => ({
    code: "permission_denied",
    message: `${message}; grant it: ${missingGrant(message ?? "", user)}`,
  }),
  "42P01": ({ message }) => ({
    code: "table_not_found",
    message: `${message}; name it with its schema, such as shop.orders`,
  }),
  "25006": () => ({
    code: "not_a_select",
    message: "The query writes, and source queries only read; make it one SELECT",
  }),
  "40001": ({ message }) => ({
    code: "query_cancelled_by_replica",
    message: `The replica cancelled the query (${message}); read from the primary, or set max_standby_streaming_delay or hot_standby_feedback`,
    retryable: true,
  }),
  "57014": () => ({
    code: "source_timeout",
    message: "The server cancelled the query, by its own time limit or by hand; make it read less",
  }),
  "57P01": () => ({ code: "source_restarted", message: "The server shut the connection down", retryable: true }),
  "57P02": () => ({ code: "source_restarted", message: "The server crashed and restarts", retryable: true }),
  "57P03": () => ({ code: "source_restarted", message: "The server is starting up", retryable: true }),
  "53300": () => ({ code: "source_busy", message: "The server has no connection left", retryable: true }),
  ECONNREFUSED: (_, { host, port }) => ({
    code: "source_unreachable",
    message: `Nothing listens at ${host}:${port}, or a firewall refuses the trainer's addresses`,
    retryable: true,
  }),
  ECONNRESET: () => ({ code: "connection_lost", message: "The connection was cut", retryable: true }),
  EPIPE: () => ({ code: "connection_lost", message: "The connection was cut", retryable: true }),
  ETIMEDOUT: (_, { host, port }) => ({
    code: "source_unreachable",
    message: `${host}:${port} does not answer; let the trainer's addresses through the firewall`,
    retryable: true,
  }),
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  ERR_TLS_CERT_ALTNAME_INVALID: (_, { host }) => ({
    code: "certificate_not_valid",
    message: `The server's certificate is not for ${JSON.stringify(host)}; connect by the name that it is for, or use sslmode verify-ca`,
  }),
};

const CERTIFICATE_CODES = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_)/;

const FEATURE_NOT_SUPPORTED = "0A000";
/** Unsupported features that write or lock inside a SELECT. */
const WRITES = /data-modifying|\bFOR (NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)\b/;

/** An error of the client or the server as the customer may see it: what happened and what to do. */
export function explainPostgresError(error: unknown, target: PostgresTarget, inner?: InnerQuery): StageError {
  if (error instanceof StageError) return error;
  const fault = (error ?? {}) as Fault;
  return sourceError(explanationOf(fault, target, inner), error);
}

function explanationOf(fault: Fault, target: PostgresTarget, inner: InnerQuery | undefined): Explanation {
  const known =
    fault.code !== undefined && Object.hasOwn(EXPLANATIONS, fault.code) ? EXPLANATIONS[fault.code] : undefined;
  if (known) return known(fault, target);
  const text = fault.message ?? "unknown";
  if (fault.code && CERTIFICATE_CODES.test(fault.code))
    return {
      code: "certificate_not_valid",
      message: `The server's certificate cannot be checked (${fault.code}); give its authority's certificate as sslrootcert`,
    };
  if (/does not support SSL/i.test(text))
    return { code: "tls_not_supported", message: "The server does not offer TLS; turn it on, or use sslmode disable" };
  if (/timeout expired|Connection terminated due to connection timeout/i.test(text))
    return EXPLANATIONS.ETIMEDOUT!(fault, target);
  if (/Connection terminated|Client has encountered a connection error/i.test(text))
    return EXPLANATIONS.ECONNRESET!(fault, target);
  const isUnsupported = fault.code === FEATURE_NOT_SUPPORTED;
  if (/cannot insert multiple commands/.test(text) || (isUnsupported && WRITES.test(text)))
    return EXPLANATIONS["25006"]!(fault, target);
  if (isUnsupported || fault.code?.startsWith("42"))
    return { code: "source_query_failed", message: `The query cannot run: ${text}${placeOf(fault, inner)}` };
  return {
    code: "source_query_failed",
    message: `The query failed: ${text}`,
    retryable: fault.code?.startsWith("53") ?? false,
  };
}

/** The statement that grants the missing right. The server names a table without its schema. */
function missingGrant(message: string, user: string): string {
  const [, kind, name] = /^permission denied for ([a-z ]+?) (\S+)$/.exec(message) ?? [];
  if (kind === "schema") return `GRANT USAGE ON SCHEMA ${identifier(name!)} TO ${identifier(user)}`;
  if (kind === "function") return `GRANT EXECUTE ON FUNCTION ${name} TO ${identifier(user)}`;
  const what = kind !== undefined && /table|view/.test(kind) ? identifier(name!) : "…";
  return `GRANT SELECT ON ${what} TO ${identifier(user)}`;
}

/** Quoted only where necessary, as a person would type it. */
const identifier = (name: string) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

/** Line and column in the customer's query; empty when the server's position is not inside the query. */
function placeOf({ position }: Fault, inner: InnerQuery | undefined): string {
  if (inner === undefined || position === undefined) return "";
  const at = Number(position) - 1 - inner.offset; // the server counts characters from 1
  if (!(at >= 0 && at <= inner.text.length)) return "";
  const before = [...inner.text].slice(0, at).join("").split("\n");
  return ` (line ${before.length}, column ${before.at(-1)!.length + 1})`;
}
