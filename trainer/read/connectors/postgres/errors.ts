import { StageError } from "../../../stage/stage-error.ts";
import { type Explanation, refusal, sourceError, transient } from "../source-error.ts";
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

type Explain = (fault: Fault, target: PostgresTarget) => Explanation;

const noRoute: Explain = ({ code }, { host, port }) =>
  transient(
    "source_unreachable",
    `There is no route from the trainer to ${host}:${port} (${code}); check its address, its network and the firewalls between`,
  );
const cut: Explain = () => transient("connection_lost", "The connection was cut");
const silent: Explain = (_, { host, port }) =>
  transient(
    "source_unreachable",
    `${host}:${port} does not answer in time (SHORTLIST_CONNECT_SECONDS); let the trainer's addresses through the firewall`,
  );
const writes: Explain = () =>
  refusal("not_a_select", "The query writes, and source queries only read; make it one SELECT");

/** By SQLSTATE (PostgreSQL manual, appendix A) or Node's error code. */
const EXPLANATIONS: Readonly<Record<string, Explain>> = {
  "25P03": () =>
    transient("connection_lost", "The server ended the connection, because the trainer was idle for too long"),
  "28P01": (_, { user }) =>
    refusal(
      "authentication_failed",
      `The server refused the password of user ${JSON.stringify(user)}; it may have been changed: give the trainer's operator the new one`,
    ),
  "28000": ({ message }, { user, host }) =>
    refusal(
      "authentication_failed",
      `The server does not let user ${JSON.stringify(user)} in from here: ${message}; allow the trainer's addresses in pg_hba.conf of ${host}`,
    ),
  "3D000": (_, { database }) =>
    refusal("unknown_database", `There is no database ${JSON.stringify(database)} on this server`),
  "42501": ({ message }, { user }) =>
    refusal("permission_denied", `${message}; grant it: ${missingGrant(message ?? "", user)}`),
  "42P01": ({ message }) => refusal("table_not_found", `${message}; name it with its schema, such as shop.orders`),
  "25006": writes,
  "40001": ({ message }) =>
    transient(
      "query_cancelled_by_replica",
      `The replica cancelled the query (${message}); read from the primary, or set max_standby_streaming_delay or hot_standby_feedback`,
    ),
  "57014": () =>
    refusal("source_timeout", "The server cancelled the query, by its own time limit or by hand; make it read less"),
  "57P01": () => transient("source_restarted", "The server shut the connection down"),
  "57P02": () => transient("source_restarted", "The server crashed and restarts"),
  "57P03": () => transient("source_restarted", "The server is starting up"),
  "53300": () => transient("source_busy", "The server has no connection left"),
  ECONNREFUSED: (_, { host, port }) =>
    transient(
      "source_unreachable",
      `Nothing listens at ${host}:${port}, or a firewall refuses the trainer's addresses`,
    ),
  ECONNRESET: cut,
  EPIPE: cut,
  ETIMEDOUT: silent,
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  ERR_TLS_CERT_ALTNAME_INVALID: (_, { host }) =>
    refusal(
      "certificate_not_valid",
      `The server's certificate is not for ${JSON.stringify(host)}; connect by the name that it is for, or use sslmode verify-ca`,
    ),
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
    return refusal(
      "certificate_not_valid",
      `The server's certificate cannot be checked (${fault.code}); give its authority's certificate as sslrootcert`,
    );
  if (/does not support SSL/i.test(text))
    return refusal("tls_not_supported", "The server does not offer TLS; turn it on, or use sslmode disable");
  if (/timeout expired|Connection terminated due to connection timeout/i.test(text)) return silent(fault, target);
  if (/Connection terminated|Client has encountered a connection error/i.test(text)) return cut(fault, target);
  const isUnsupported = fault.code === FEATURE_NOT_SUPPORTED;
  if (/cannot insert multiple commands/.test(text) || (isUnsupported && WRITES.test(text)))
    return writes(fault, target);
  if (isUnsupported || fault.code?.startsWith("42"))
    return refusal("source_query_failed", `The query cannot run: ${text}${placeOf(fault, inner)}`);
  const isTransient = fault.code?.startsWith("53"); // insufficient resources
  return (isTransient ? transient : refusal)("source_query_failed", `The query failed: ${text}`);
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
