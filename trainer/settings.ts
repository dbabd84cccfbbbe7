/**
 * The operator's settings, read once from the environment. Only this file of the trainer reads `process.env`. All faults are
 * reported together, by the variable's name; values are never repeated, since they may be secrets.
 */
import { resolve } from "node:path";
import type * as z from "zod";
import { MEGABYTE } from "../shared/memory-cost.ts";
import {
  GrantSettingsSchema,
  KeySettingsSchema,
  SettingsSchema,
  StoreSchema,
  type Values,
} from "./environment-variables.ts";
import { UsageError } from "./expected-error.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the operator allows the connectors of one customer. */
export type ConnectorSettings = {
  /** Absolute paths of the folders that File connectors may read. */
  readonly fileRoots: readonly string[];
  readonly memoryMb: number;
  /** Time for opening a connection to a source. */
  readonly connectSeconds: number;
  /** The longest wait for a source's next answer. */
  readonly silenceSeconds: number;
  /** Time for a query with all its rows. */
  readonly timeoutSeconds: number;
  /** Disk space for what a query spills and for what is kept of its rows. */
  readonly diskBytesMax: number;
  /** Rows after which a query is stopped. */
  readonly rowsMax: number;
  readonly tempDirectory: string;
  /** Rows of a text file from which the types of its columns are found, for a dry run. Absent: all rows, so that every one fits. */
  readonly typedByRows?: number;
  /** The service account that BigQuery connectors impersonate; null: BigQuery is refused. */
  readonly bigqueryServiceAccount: string | null;
  readonly bigqueryBytesBilledMax: number;
  /** For tests: a local server in place of BigQuery's API. */
  readonly bigqueryApiEndpoint: string | null;
  /** For tests: `host:port` of a server in place of BigQuery's Storage Read API. */
  readonly bigqueryStorageEndpoint?: string | null;
  /** Whether connectors may reach loopback, link-local and private addresses. */
  readonly allowPrivateAddresses: boolean;
  /** The secret of `{"env": "NAME"}`; undefined when this customer has none with that name. */
  secret(name: string): string | undefined;
  /** Makes a token of `bigqueryServiceAccount`. Absent: there is nobody who can make one. */
  bigqueryToken?(): Promise<{ readonly token: string; readonly expiresMs: number }>;
};

/** The part of the settings that crosses to a run's process as JSON. */
export type SentConnectorSettings = Omit<ConnectorSettings, "secret" | "bigqueryToken">;

/** A variable is absent or wrong. The message has one sentence for each fault. */
export class SettingsError extends UsageError {
  override readonly name = "SettingsError";
}

export type Settings = ReturnType<typeof readSettings>;
export type RunSettings = Settings["runs"];
export type CustomerCaps = Settings["caps"];

/** Settings of the management process. */
export function readSettings(environment: Environment = process.env) {
  const values = parse(SettingsSchema, environment);
  return {
    /** Absolute path. Holds the embedded database, the kept copies of models' data and the folders of runs. */
    stateDirectory: resolve(values.SHORTLIST_STATE_DIR),
    host: values.SHORTLIST_TRAINER_HOST,
    port: values.SHORTLIST_TRAINER_PORT,
    /** Null: an embedded Postgres in the state folder. */
    databaseUrl: values.DATABASE_URL ?? null,
    /** The customer whose keys also see what concerns the operator; undefined: nobody's. */
    operator: values.SHORTLIST_OPERATOR,
    /** Addresses that customers' firewalls let through. */
    egressAddresses: values.SHORTLIST_EGRESS_ADDRESSES,
    /** Hours between two backups; 0: none. */
    backupHours: values.SHORTLIST_BACKUP_HOURS,
    /** Undefined: no metrics. */
    metricsPort: values.SHORTLIST_METRICS_PORT,
    /** The OTLP collector that metrics and traces are sent to, without a slash at the end; undefined: none. */
    collectorUrl: values.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/+$/, ""),
    /** Shared with the edge; signs forwarded requests. */
    forwardSecret: values.FORWARD_SECRET,
    store: storeSettings(values),
    /** The edge's address, without a slash at the end: the base of `model_url`. */
    edgeUrl: values.SHORTLIST_EDGE_URL.replace(/\/+$/, ""),
    /** Time within which everything that is stored of an erased user is removed. */
    erasureMs: values.SHORTLIST_ERASURE_DAYS * 86_400_000,
    /** Time after which events are deleted. */
    eventRetentionMs: values.SHORTLIST_EVENT_DAYS * 86_400_000,
    runs: {
      /** Runs that this machine does at the same time. */
      concurrency: values.SHORTLIST_CONCURRENCY,
      memoryMbMax: values.SHORTLIST_RUN_MEMORY_MB,
      /** Bytes of a run's own folder and of what its model keeps between runs. */
      diskBytesMax: values.SHORTLIST_RUN_DISK_BYTES,
      /** While the state folder's disk has fewer free bytes, no run starts. */
      diskReserveBytes: values.SHORTLIST_DISK_RESERVE_BYTES,
      /** Wall time after which a run is stopped. */
      secondsMax: values.SHORTLIST_RUN_SECONDS,
      fitSecondsMax: values.SHORTLIST_FIT_SECONDS,
      rejectedFractionMax: values.SHORTLIST_REJECTED_SHARE,
      /** How late, by its own time, a row of an incremental source may arrive. */
      overlapSeconds: values.SHORTLIST_OVERLAP_HOURS * 3600,
      /** An incremental source is read in full once in this time. */
      fullReadSeconds: values.SHORTLIST_FULL_READ_HOURS * 3600,
      weightBytesMax: values.SHORTLIST_WEIGHT_MB * 2 ** 20,
      /** Memory that an isolate of the edge has for versions. A version that needs more is not published. */
      edgeMemoryBytes: values.SHORTLIST_EDGE_CACHE_MB * MEGABYTE,
      ignoreGate: values.SHORTLIST_IGNORE_GATE,
      seed: values.SHORTLIST_SEED,
      /** Failed attempts after which a run is given up. */
      attemptsMax: values.SHORTLIST_RUN_ATTEMPTS,
      /** Wait before the first retry; it doubles from one to the next. */
      retrySeconds: values.SHORTLIST_RETRY_SECONDS,
      /** A trainer that is silent for this long loses the leases of its runs. */
      heartbeatSeconds: values.SHORTLIST_HEARTBEAT_SECONDS,
    },
    /** What one customer may have at most, so that the others are served too. */
    caps: {
      models: values.SHORTLIST_CUSTOMER_MODELS,
      /** Runs that work at the same time, over all trainers. */
      runs: values.SHORTLIST_CUSTOMER_RUNS,
      /** Runs that wait or work. */
      queue: values.SHORTLIST_CUSTOMER_QUEUE,
      /** Management calls, on each trainer. */
      callsPerMinute: values.SHORTLIST_CUSTOMER_CALLS,
      /** Shortest time between two runs of a schedule. */
      scheduleSecondsMin: values.SHORTLIST_SCHEDULE_MINUTES * 60,
    },
    /** Values that are removed from every log line. */
    secrets: secretsOf(values, environment),
    ...customerSettings(values, environment),
  };
}

/** A run's access to the bucket, from the variables of storeEnvironment(). */
export const readChildStore = (environment: Environment = process.env) =>
  storeSettings(parse(StoreSchema, environment));

/** The customer's secrets in a run's process. Its environment was filtered for this customer by childEnvironment(). */
export const childSecret =
  (environment: Environment = process.env) =>
  (name: string): string | undefined =>
    name.startsWith(SECRET_PREFIX) ? environment[name] : undefined;

/** Settings of `npm run keys`: the bucket, and what the customer gets with the key. */
export function readKeySettings(environment: Environment = process.env) {
  const values = parse(KeySettingsSchema, environment);
  return { store: storeSettings(values), ...grantsOf(values) };
}

/** What a customer gets with the key, where the bucket is known from other settings. */
export const readGrants = (environment: Environment) => grantsOf(parse(GrantSettingsSchema, environment));

const grantsOf = (values: z.infer<typeof GrantSettingsSchema>) => ({
  egressAddresses: values.SHORTLIST_EGRESS_ADDRESSES,
  serviceAccountOf: (customer: string) => ownValue(values.SHORTLIST_SERVICE_ACCOUNTS, customer) ?? null,
});

/**
 * The prefix of the names of a customer's secrets: `SHORTLIST_SECRET_ACME_EU__` for `acme-eu`. The two underscores end the
 * customer's part, so `acme` cannot use a secret of `acme-eu`. A customer whose name would make that ambiguous has no secrets.
 */
export function secretPrefixOf(customer: string): string | undefined {
  if (customer.includes("--") || customer.endsWith("-")) return undefined;
  return `${SECRET_PREFIX}${customer.toUpperCase().replaceAll("-", "_")}__`;
}

const SECRET_PREFIX = "SHORTLIST_SECRET_";
/** Variables that Node, TLS and proxies need in a run's process. It gets no other, so a new secret stays with the trainer. */
const INHERITED = (
  "PATH TMPDIR TZ LANG SystemRoot TEMP NODE_EXTRA_CA_CERTS NODE_USE_SYSTEM_CA NODE_COMPILE_CACHE SSL_CERT_FILE " +
  "HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy NODE_USE_ENV_PROXY"
) // Node needs the last to use proxies
  .split(" ");

function parse<Schema extends z.ZodType>(schema: Schema, environment: Environment): z.infer<Schema> {
  // An empty variable counts as absent, since `NAME= command` is how shells unset one.
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const given = { ...localBucket(set.SHORTLIST_EDGE_URL), ...set };
  const parsed = schema.safeParse(given, { reportInput: true });
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    return given[name] === undefined ? `${name} is not set` : `${name} ${issue.message}`;
  });
  throw new SettingsError(
    `The settings are not right: ${[...new Set(faults)].join("; ")}. See trainer/manage/README.md.`,
  );
}

/** The defaults for an edge on this machine: the bucket of `wrangler dev`, with the credentials in wrangler.toml. */
function localBucket(edgeUrl: string | undefined): Environment {
  if (!/^http:\/\/(localhost|127\.0\.0\.1)(:\d+)?\/?$/.test(edgeUrl ?? "")) return {};
  return {
    SHORTLIST_S3_ENDPOINT: new URL("/cdn-cgi/local/r2/s3", edgeUrl).href,
    SHORTLIST_S3_BUCKET: "shortlist-models",
    SHORTLIST_S3_ACCESS_KEY_ID: "local-access-key",
    SHORTLIST_S3_SECRET_ACCESS_KEY: "local-secret-key",
  };
}

const storeSettings = (values: z.infer<typeof StoreSchema>) => ({
  endpoint: values.SHORTLIST_S3_ENDPOINT,
  bucket: values.SHORTLIST_S3_BUCKET,
  accessKeyId: values.SHORTLIST_S3_ACCESS_KEY_ID,
  secretAccessKey: values.SHORTLIST_S3_SECRET_ACCESS_KEY,
  sessionToken: values.SHORTLIST_S3_SESSION_TOKEN,
  region: values.SHORTLIST_S3_REGION,
});

/** A bucket and the key to it. */
export type StoreAccess = {
  /** Such as `https://{account}.r2.cloudflarestorage.com`; may have a path. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined; // with temporary credentials
  readonly region?: string;
};

/** The variables from which a run's process reads its access to the bucket. */
export const storeEnvironment = (store: StoreAccess): Record<string, string> => ({
  SHORTLIST_S3_ENDPOINT: store.endpoint,
  SHORTLIST_S3_BUCKET: store.bucket,
  SHORTLIST_S3_ACCESS_KEY_ID: store.accessKeyId,
  SHORTLIST_S3_SECRET_ACCESS_KEY: store.secretAccessKey,
  ...(store.sessionToken && { SHORTLIST_S3_SESSION_TOKEN: store.sessionToken }),
  ...(store.region && { SHORTLIST_S3_REGION: store.region }),
});

function secretsOf(values: Values, environment: Environment): string[] {
  const url = values.DATABASE_URL === undefined ? undefined : new URL(values.DATABASE_URL);
  const named = present(environment).filter(([name]) => name.startsWith(SECRET_PREFIX));
  return [
    values.FORWARD_SECRET,
    values.SHORTLIST_S3_SECRET_ACCESS_KEY,
    ...(url?.password ? [url.password, decodeURIComponent(url.password)] : []),
    ...named.map(([, value]) => value),
  ];
}

/** Fraction of a run's memory for a query of its sources. Staging and the dataset take the rest (memory-budget.ts). */
const QUERY_FRACTION = 0.25;
const QUERY_MB_LEAST = 64;

function customerSettings(values: Values, environment: Environment) {
  const namedFor = (customer: string): [string, string][] => {
    const prefix = secretPrefixOf(customer);
    return prefix === undefined ? [] : present(environment).filter(([name]) => name.startsWith(prefix));
  };
  return {
    connectorsOf(customer: string, tempDirectory: string): ConnectorSettings {
      const secrets = new Map(namedFor(customer));
      return {
        fileRoots: ownValue(values.SHORTLIST_FILE_ROOTS, customer) ?? [],
        memoryMb: Math.min(
          values.SHORTLIST_QUERY_MEMORY_MB,
          Math.max(QUERY_MB_LEAST, Math.floor(QUERY_FRACTION * values.SHORTLIST_RUN_MEMORY_MB)),
        ),
        connectSeconds: values.SHORTLIST_CONNECT_SECONDS,
        silenceSeconds: values.SHORTLIST_SILENCE_SECONDS,
        diskBytesMax: values.SHORTLIST_RUN_DISK_BYTES,
        timeoutSeconds: values.SHORTLIST_QUERY_SECONDS,
        rowsMax: values.SHORTLIST_QUERY_ROWS,
        tempDirectory,
        bigqueryServiceAccount: ownValue(values.SHORTLIST_SERVICE_ACCOUNTS, customer) ?? null,
        bigqueryBytesBilledMax: values.SHORTLIST_BIGQUERY_BYTES,
        bigqueryApiEndpoint: values.SHORTLIST_BIGQUERY_ENDPOINT ?? null,
        bigqueryStorageEndpoint: values.SHORTLIST_BIGQUERY_STORAGE_ENDPOINT ?? null,
        allowPrivateAddresses: values.SHORTLIST_ALLOW_PRIVATE_ADDRESSES,
        secret: (name) => secrets.get(name),
      };
    },
    /** The environment of a run's or dry run's process: this customer's secrets, and what Node itself needs. */
    childEnvironment(customer: string): Record<string, string> {
      const shared = present(environment).filter(([name]) => INHERITED.includes(name));
      // Google's client must not look for an identity of this machine.
      return Object.fromEntries([...shared, ["METADATA_SERVER_DETECTION", "none"], ...namedFor(customer)]);
    },
  };
}

/** The customer's entry. Customers may have names such as `constructor`, which every object has. */
const ownValue = <Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

const present = (environment: Environment) =>
  Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined);
