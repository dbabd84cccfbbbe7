import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  childSecret,
  readChildStore,
  readSettings,
  SettingsError,
  secretPrefixOf,
  storeEnvironment,
} from "../../trainer/settings.ts";

const NEEDED = {
  FORWARD_SECRET: "f".repeat(32),
  SHORTLIST_S3_ENDPOINT: "http://127.0.0.1:9000",
  SHORTLIST_S3_BUCKET: "models",
  SHORTLIST_S3_ACCESS_KEY_ID: "id",
  SHORTLIST_S3_SECRET_ACCESS_KEY: "planted-s3-secret",
  SHORTLIST_EDGE_URL: "https://rank.example/",
};

test("all variables but the required ones have defaults", () => {
  const settings = readSettings(NEEDED);
  expect(settings).toMatchObject({
    host: "127.0.0.1",
    databaseUrl: null,
    edgeUrl: "https://rank.example",
    store: { bucket: "models", region: "auto" },
    runs: { concurrency: 1, ignoreGate: false, overlapSeconds: 86_400, fullReadSeconds: 7 * 86_400 },
  });
  expect(isAbsolute(settings.stateDirectory)).toBe(true);
});

test("all absent variables are reported together", () => {
  const read = () => readSettings({});
  for (const name of Object.keys(NEEDED)) expect(read).toThrow(`${name} is not set`);
});

test.each([
  ["SHORTLIST_TRAINER_PORT", "70000", "must be at most 65535"],
  ["SHORTLIST_TRAINER_PORT", "80a", "must be a whole number"],
  ["SHORTLIST_TRAINER_PORT", "1e3", "must be a whole number"],
  ["SHORTLIST_RUN_MEMORY_MB", "255", "must be at least 256"],
  ["SHORTLIST_FILE_ROOTS", "{", "must be JSON"],
  ["SHORTLIST_FILE_ROOTS", '{"acme": ["relative"]}', "must be absolute paths"],
  ["SHORTLIST_FILE_ROOTS", '{"Acme": ["/data"]}', "SHORTLIST_FILE_ROOTS"],
  ["SHORTLIST_FILE_ROOTS", '{"acme": ["/data/acme"], "b": ["/data/b", "/data/acme/"]}', "or contains one of b"],
  ["SHORTLIST_FILE_ROOTS", '{"acme": ["/data/acme/deep"], "b": ["/data"]}', "must not give b a folder"],
  ["SHORTLIST_FILE_ROOTS", '{"acme": ["/data/../srv/a"], "b": ["/srv"]}', "contains one of acme"],
  ["SHORTLIST_REJECTED_SHARE", "2", "must be at most 1"],
  ["SHORTLIST_REJECTED_SHARE", "half", "must be a number"],
  ["SHORTLIST_OVERLAP_HOURS", "-1", "must be at least 0"],
  ["SHORTLIST_FULL_READ_HOURS", "week", "must be a whole number"],
  ["SHORTLIST_IGNORE_GATE", "yes", "must be 1, true, 0 or false"],
  ["DATABASE_URL", "mysql://db/x", "must be a postgres:// address"],
  ["DATABASE_URL", "postgres://user:100%sure@db/x", "must be percent-encoded"],
  ["FORWARD_SECRET", "short", "at least 32 characters"],
  ["SHORTLIST_S3_ENDPOINT", "r2", "must be an http or https address"],
  ["SHORTLIST_S3_BUCKET", "A", "must be a bucket name"],
  ["SHORTLIST_SERVICE_ACCOUNTS", '{"acme": "nobody"}', "SHORTLIST_SERVICE_ACCOUNTS"],
  ["SHORTLIST_SERVICE_ACCOUNTS", '{"acme": "a@p.iam.gserviceaccount.com", "b": "a@p.iam.gserviceaccount.com"}', "once"],
])("%s=%s is refused by name", (name, value, sentence) => {
  const read = () => readSettings({ ...NEEDED, [name]: value });
  expect(read).toThrow(SettingsError);
  expect(read).toThrow(name);
  expect(read).toThrow(sentence);
});

test("folders of customers may lie beside each other, and a customer's own may overlap", () => {
  const folders = { acme: ["/data/acme", "/data/acme/x"], b: ["/data/acme-b"] };
  const settings = readSettings({ ...NEEDED, SHORTLIST_FILE_ROOTS: JSON.stringify(folders) });
  expect(settings.connectorsOf("b", "/tmp/run").fileRoots).toEqual(["/data/acme-b"]);
});

test("a query gets no more than a quarter of a run's memory", () => {
  const queryMb = (runMb: string) =>
    readSettings({ ...NEEDED, SHORTLIST_RUN_MEMORY_MB: runMb }).connectorsOf("a", "/tmp/run").memoryMb;
  expect(["4096", "2000", "1000", "256"].map(queryMb)).toEqual([1024, 500, 250, 64]);
});

test("a link into another customer's folder is refused", () => {
  const base = mkdtempSync(join(tmpdir(), "roots-"));
  mkdirSync(join(base, "acme"));
  symlinkSync(join(base, "acme"), join(base, "link"));
  const folders = JSON.stringify({ acme: [join(base, "acme")], b: [join(base, "link")] });
  expect(() => readSettings({ ...NEEDED, SHORTLIST_FILE_ROOTS: folders })).toThrow("contains one of b");
  rmSync(base, { recursive: true });
});

test("errors repeat no values, since they may be secrets", () => {
  const environment = {
    ...NEEDED,
    DATABASE_URL: "planted://user:planted-password@db",
    SHORTLIST_S3_BUCKET: "Planted!",
  };
  const read = () => readSettings(environment);
  expect(read).toThrow("DATABASE_URL");
  expect(read).not.toThrow(/planted/i);
});

test("with an edge on this machine, the bucket is the one of `wrangler dev` with the credentials of wrangler.toml", () => {
  const needed = { FORWARD_SECRET: "f".repeat(32), SHORTLIST_EDGE_URL: "http://localhost:8787/" };
  const { store } = readSettings(needed);
  expect(store).toMatchObject({ endpoint: "http://localhost:8787/cdn-cgi/local/r2/s3", bucket: "shortlist-models" });
  const toml = readFileSync("wrangler.toml", "utf8");
  for (const value of [store.bucket, store.accessKeyId, store.secretAccessKey]) expect(toml).toContain(`"${value}"`);
  expect(readSettings({ ...needed, SHORTLIST_S3_BUCKET: "other" }).store.bucket).toBe("other");
  for (const url of ["https://localhost", "http://edge.example", "http://127.0.0.1.example:8787"])
    expect(() => readSettings({ ...needed, SHORTLIST_EDGE_URL: url })).toThrow("SHORTLIST_S3_ENDPOINT is not set");
});

test("an empty variable counts as absent", () => {
  expect(readSettings({ ...NEEDED, SHORTLIST_TRAINER_PORT: "", DATABASE_URL: "" }).databaseUrl).toBe(null);
});

test("all secrets are listed, also the one inside an address", () => {
  const environment = {
    ...NEEDED,
    DATABASE_URL: "postgres://user:pass%21word@db/x",
    SHORTLIST_SECRET_ACME__PASSWORD: "of acme",
  };
  const expected = ["f".repeat(32), "planted-s3-secret", "pass%21word", "pass!word", "of acme"];
  expect(readSettings(environment).secrets).toEqual(expected);
});

describe("settings of one customer", () => {
  const settings = readSettings({
    ...NEEDED,
    PATH: "/bin",
    SHORTLIST_FILE_ROOTS: '{"acme": ["/data/acme"]}',
    SHORTLIST_SERVICE_ACCOUNTS: '{"acme": "reader@p.iam.gserviceaccount.com"}',
    SHORTLIST_SECRET_ACME__PASSWORD: "of acme",
    SHORTLIST_SECRET_ACME_EU__PASSWORD: "of acme-eu",
    UNRELATED: "x",
  });

  test("folders and accounts belong to one customer, whatever its name is", () => {
    expect(settings.connectorsOf("acme", "/tmp/run").fileRoots).toEqual(["/data/acme"]);
    for (const other of ["acme-eu", "constructor"]) {
      const connectors = settings.connectorsOf(other, "/tmp/run");
      expect([connectors.fileRoots, connectors.bigqueryServiceAccount]).toEqual([[], null]);
    }
  });

  test("only the customer in its name can read a secret", () => {
    const secretOf = (customer: string, name: string) => settings.connectorsOf(customer, "/tmp").secret(name);
    expect(secretOf("acme", "SHORTLIST_SECRET_ACME__PASSWORD")).toBe("of acme");
    expect(secretOf("acme", "SHORTLIST_SECRET_ACME_EU__PASSWORD")).toBe(undefined);
    expect(secretOf("acme-eu", "SHORTLIST_SECRET_ACME__PASSWORD")).toBe(undefined);
    expect(secretOf("acme", "FORWARD_SECRET")).toBe(undefined);
    expect(secretOf("acme", "PATH")).toBe(undefined);
  });

  test("no two customers share a prefix", () => {
    const names = ["acme", "acme-eu", "acme-eu-1", "acme1", "a"];
    const prefixes = names.map((name) => secretPrefixOf(name)!);
    for (const [i, one] of prefixes.entries())
      for (const [j, other] of prefixes.entries()) expect(one.startsWith(other)).toBe(i === j);
    expect(secretPrefixOf("acme--eu")).toBe(undefined);
    expect(secretPrefixOf("acme-")).toBe(undefined);
  });

  test("a run's process reaches the bucket as its trainer does", () => {
    const way = { HTTPS_PROXY: "http://proxy:3128", NODE_USE_ENV_PROXY: "1", NODE_USE_SYSTEM_CA: "1" };
    expect(readSettings({ ...NEEDED, ...way }).childEnvironment("acme")).toMatchObject(way);
  });

  test("a run's process gets its customer's secrets and no others", () => {
    const environment = settings.childEnvironment("acme");
    expect(Object.keys(environment).sort()).toEqual([
      "METADATA_SERVER_DETECTION",
      "PATH",
      "SHORTLIST_SECRET_ACME__PASSWORD",
    ]);
    const secret = childSecret(environment);
    expect(secret("SHORTLIST_SECRET_ACME__PASSWORD")).toBe("of acme");
    expect(secret("PATH")).toBe(undefined);
  });

  test("access to a bucket survives its way through the environment", () => {
    const store = { ...settings.store, sessionToken: "of the run" };
    expect(readChildStore(storeEnvironment(store))).toEqual(store);
  });
});
