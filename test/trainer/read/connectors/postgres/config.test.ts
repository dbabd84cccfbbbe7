import { expect, test } from "vitest";
import type { ConnectorContext } from "../../../../../trainer/read/connectors/connector.ts";
import { parsePostgresConfig, tlsOptions } from "../../../../../trainer/read/connectors/postgres/config.ts";

const context = {
  customer: "acme",
  settings: { secret: (name: string) => ({ PASSWORD: "hunter2", CA: "-----BEGIN CERTIFICATE-----" })[name] },
} as unknown as ConnectorContext;
const good = {
  type: "Postgres",
  location: "postgres://a%40b@db.example:6543/shop%20one",
  password: { env: "PASSWORD" },
};

test("the parts of the location are decoded, and TLS is fully checked by default", () => {
  expect(parsePostgresConfig(good, context)).toEqual({
    host: "db.example",
    port: 6543,
    database: "shop one",
    user: "a@b",
    password: "hunter2",
    sslMode: "verify-full",
    rootCertificate: undefined,
  });
  expect(parsePostgresConfig({ ...good, location: "postgresql://u@[2001:db8::1]/d" }, context)).toMatchObject({
    host: "2001:db8::1",
    port: 5432,
  });
});

test.each([
  [{ location: "mysql://u@h/d" }, "must be like postgres://"],
  [{ location: "postgres://u:secret@h/d" }, "must not hold a password"],
  [{ location: "postgres://u@h/d?sslmode=disable" }, "must end with the database's name"],
  [{ location: "postgres://h/d" }, "must name the user and the database"],
  [{ location: "postgres://u@h/" }, "must name the user and the database"],
  [{ password: "hunter2" }, "must be a reference"],
  [{ password: { env: "OTHERS" } }, 'no secret "OTHERS"'],
  [{ sslmode: "prefer" }, "must be one of disable, require, verify-ca, verify-full"],
  [{ host: "elsewhere" }, "host"],
])("%j is refused: %s", (change, reason) => {
  expect(() => parsePostgresConfig({ ...good, ...change }, context)).toThrow(reason);
});

test("each TLS mode checks what libpq's manual says", () => {
  const modeOf = (more: Record<string, unknown>) => tlsOptions(parsePostgresConfig({ ...good, ...more }, context));
  expect(modeOf({ sslmode: "disable" })).toBe(false);
  expect(modeOf({})).toHaveProperty("servername", "db.example");
  expect(modeOf({ location: "postgres://u@192.0.2.1/d" })).not.toHaveProperty("servername");
  expect(modeOf({ sslmode: "require" })).toMatchObject({ rejectUnauthorized: false });
  expect(modeOf({ sslmode: "require", sslrootcert: { env: "CA" } })).toMatchObject({ rejectUnauthorized: true });

  const other = { subject: { CN: "other.example" }, subjectaltname: "DNS:other.example" } as never;
  const nameCheck = (options: ReturnType<typeof tlsOptions>) =>
    options === false ? undefined : options.checkServerIdentity?.("1.2.3.4", other);
  expect(nameCheck(modeOf({ sslmode: "verify-ca" }))).toBeUndefined();
  expect(nameCheck(modeOf({ sslmode: "verify-full" }))).toBeInstanceOf(Error);
  const own = { subject: { CN: "db.example" }, subjectaltname: "DNS:db.example" } as never;
  const full = modeOf({ sslmode: "verify-full" });
  expect(full !== false && full.checkServerIdentity?.("1.2.3.4", own)).toBeUndefined();
  expect(full).not.toHaveProperty("rejectUnauthorized", false);
});
