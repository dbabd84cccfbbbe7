import { isIP } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { checkServerIdentity } from "node:tls";
import * as z from "zod";
import type { ConnectorConfig } from "../../../../shared/model-spec.ts";
import type { ConnectorContext } from "../connector.ts";
import { badConfig, parseConfig } from "../source-error.ts";

/** A secret, by the name of the environment variable in which the operator has put it. */
const Reference = z.strictObject({ env: z.string().min(1).max(200) }, 'must be a reference such as {"env": "NAME"}');

const SSL_MODES = ["disable", "require", "verify-ca", "verify-full"] as const;

export const PostgresConfig = z.strictObject({
  id: z.string().optional(),
  type: z.literal("Postgres"),
  /** `postgres://user@host:5432/database`, without a password. */
  location: z
    .url({ protocol: /^postgres(ql)?$/, error: "must be like postgres://user@host:5432/database", abort: true })
    .max(1000)
    .superRefine((location, context) => {
      for (const message of faultsOfLocation(new URL(location))) context.addIssue({ code: "custom", message });
    }),
  password: Reference.optional(),
  /** Named as in libpq (PostgreSQL manual, 34.19.1). */
  sslmode: z.enum(SSL_MODES, `must be one of ${SSL_MODES.join(", ")}`).default("verify-full"),
  /** The certificate authority of the server's certificate, as PEM. Absent: those that Node knows. */
  sslrootcert: Reference.optional(),
});

export type PostgresTarget = {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string | undefined;
  readonly sslMode: (typeof SSL_MODES)[number];
  readonly rootCertificate: string | undefined;
};

/** The checked configuration with its secrets. Throws StageError `bad_connector_config`. */
export function parsePostgresConfig(config: ConnectorConfig, { settings }: ConnectorContext): PostgresTarget {
  const { location, password, sslmode, sslrootcert } = parseConfig(config, PostgresConfig);
  const url = new URL(location);
  const resolve = (field: string, name: string | undefined) => {
    if (name === undefined) return undefined;
    const value = settings.secret(name);
    if (value === undefined)
      throw badConfig("Postgres", `${field}: this customer has no secret ${JSON.stringify(name)}`);
    return value;
  };
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? 5432 : Number(url.port),
    database: decodeURIComponent(url.pathname.slice(1)),
    user: decodeURIComponent(url.username),
    password: resolve("password", password?.env),
    sslMode: sslmode,
    rootCertificate: resolve("sslrootcert", sslrootcert?.env),
  };
}

/** TLS options of the mode. With `require` and a root certificate, the chain is checked, as libpq does. */
export function tlsOptions({ host, sslMode, rootCertificate }: PostgresTarget): ConnectionOptions | false {
  if (sslMode === "disable") return false;
  const ca = rootCertificate === undefined ? {} : { ca: rootCertificate };
  const name = isIP(host) ? {} : { servername: host }; // SNI allows no IP address (RFC 6066, 3)
  // The connection is made to an address, but the certificate is for the name.
  const anyName = () => undefined;
  const itsName: typeof checkServerIdentity = (_, certificate) => checkServerIdentity(host, certificate);
  if (sslMode === "verify-full") return { ...ca, ...name, checkServerIdentity: itsName };
  if (sslMode === "verify-ca") return { ...ca, ...name, checkServerIdentity: anyName };
  return { ...ca, ...name, rejectUnauthorized: rootCertificate !== undefined, checkServerIdentity: anyName };
}

function faultsOfLocation({ password, search, hash, pathname, username, hostname }: URL): string[] {
  const faults = [
    [password !== "", 'must not hold a password; give "password": {"env": "NAME"} instead'],
    [search !== "" || hash !== "", "must end with the database's name; sslmode is a field of its own"],
    [pathname.length < 2 || username === "", "must name the user and the database"],
    [hostname === "", "must name the host"],
    [/%(?![0-9a-f]{2})/i.test(pathname + username), "has a % that is no escape: write it as %25"],
  ] as const;
  return faults.filter(([isFault]) => isFault).map(([, message]) => message);
}
