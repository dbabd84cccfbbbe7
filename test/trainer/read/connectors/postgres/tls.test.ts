import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../../../../trainer/read/connectors/connect.ts";
import type { ConnectorContext } from "../../../../../trainer/read/connectors/connector.ts";
import { jsonRows } from "../../../../../trainer/read/connectors/connector.ts";
import { type Certificates, makeCertificates } from "../../../../fixtures/certificates.ts";
import {
  findPostgres,
  type PostgresServer,
  startPostgres,
  unprivileged,
} from "../../../../fixtures/postgres-server.ts";
import { fileSettings } from "../../../../fixtures/real-data.ts";

const bin = findPostgres();
if (!bin) console.warn("Skipped: no Postgres server is installed here (Debian's package is `postgresql`).");

describe.skipIf(!bin)("a server that requires TLS", () => {
  let server: PostgresServer;
  let own: Certificates | undefined;
  let other: Certificates | undefined;
  beforeAll(async () => {
    server = await startPostgres(bin!);
    [own, other] = await Promise.all([
      makeCertificates("IP:127.0.0.1", unprivileged()),
      makeCertificates("DNS:elsewhere.example", unprivileged()),
    ]);
    if (!own) return console.warn("Skipped: openssl is not installed here.");
    await present(own);
  });
  afterAll(async () => {
    await server.stop();
    await Promise.all([own?.remove(), other?.remove()]);
  });

  const present = async ({ certificatePath, keyPath }: Certificates) => {
    await server.execute(`ALTER SYSTEM SET ssl_cert_file = '${certificatePath}'`);
    await server.execute(`ALTER SYSTEM SET ssl_key_file = '${keyPath}'`);
    await server.execute("ALTER SYSTEM SET ssl = on");
    await server.restart();
  };
  const contextWith = (authority: string): ConnectorContext => ({
    customer: "acme",
    settings: {
      ...fileSettings([], ""),
      allowPrivateAddresses: true,
      secret: (name) => ({ DB: server.password, CA: authority })[name],
    },
  });
  /** Whether the connection was encrypted, else why there was none. */
  async function outcomeOf(config: Record<string, unknown>, authority = own!.authority): Promise<unknown> {
    const location = `postgres://owner@127.0.0.1:${server.port}/postgres`;
    try {
      const connector = await connect(
        { type: "Postgres", location, password: { env: "DB" }, ...config },
        contextWith(authority),
      );
      const query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
      const sample = await jsonRows(await connector.read(query, { signal: new AbortController().signal }));
      await connector.close();
      return sample[0]!.ssl;
    } catch (error) {
      return (error as { code?: string }).code ?? error;
    }
  }
  const sslrootcert = { env: "CA" };

  test("each mode accepts and refuses what libpq's manual says", async ({ skip }) => {
    if (!own || !other) return skip("openssl is not installed here");
    expect(await outcomeOf({ sslmode: "disable" })).toBe(false);
    expect(await outcomeOf({ sslmode: "require" })).toBe(true);
    expect(await outcomeOf({ sslmode: "require", sslrootcert })).toBe(true);
    expect(await outcomeOf({ sslmode: "verify-ca", sslrootcert })).toBe(true);
    expect(await outcomeOf({ sslmode: "verify-full", sslrootcert })).toBe(true);
    expect(await outcomeOf({ sslrootcert })).toBe(true);
    // An authority that nobody knows, and one that did not sign it.
    expect(await outcomeOf({})).toBe("certificate_not_valid");
    for (const sslmode of ["require", "verify-ca", "verify-full"])
      expect(await outcomeOf({ sslmode, sslrootcert }, other.authority)).toBe("certificate_not_valid");
  });

  test("a certificate for another name passes with verify-ca only", async ({ skip }) => {
    if (!own || !other) return skip("openssl is not installed here");
    await present(other);
    expect(await outcomeOf({ sslmode: "verify-ca", sslrootcert }, other.authority)).toBe(true);
    expect(await outcomeOf({ sslmode: "verify-full", sslrootcert }, other.authority)).toBe("certificate_not_valid");
  });
});
