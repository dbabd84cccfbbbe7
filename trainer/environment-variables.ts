/** The trainer's environment variables: names, defaults and allowed values (manage/README.md). */
import { realpathSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import * as z from "zod";
import { RETENTION_DAYS_DEFAULT } from "../shared/events/event.ts";
import { CustomerId } from "../shared/key-record.ts";

const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^-?\d+$/, "must be a whole number")
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`));
const integer = (min: number, max: number, byDefault: number) => whole(min, max).default(byDefault);
const flag = z
  .enum(["0", "1", "true", "false"], "must be 1, true, 0 or false")
  .transform((text) => text === "1" || text === "true")
  .default(false);
const httpUrl = z.url({ protocol: /^https?$/, error: "must be an http or https address" });
const json = z.string().transform((text, context) => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    context.addIssue({ code: "custom", message: "must be JSON" });
    return z.NEVER;
  }
});
const absolute = z.string().refine(isAbsolute, "must be absolute paths");
/** The fault of folders by customer, if one customer could read a folder of another. */
function overlapOf(roots: Readonly<Record<string, readonly string[]>>): string | undefined {
  const folders = Object.entries(roots).flatMap(([customer, paths]) =>
    paths.map((path) => ({ customer, within: `${realPathOf(path)}/`.replace(/\/+$/, "/") })),
  );
  for (const one of folders)
    for (const other of folders)
      if (one.customer !== other.customer && other.within.startsWith(one.within))
        return `must not give ${one.customer} a folder that is or contains one of ${other.customer}`;
  return undefined;
}

/** The path with its links resolved; of a folder that does not exist yet, the path as given. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

const isDecodable = (text: string) => {
  try {
    return decodeURIComponent(text) !== "";
  } catch {
    return false;
  }
};
const list = z.string().transform((text) => text.split(/[\s,]+/).filter((entry) => entry !== ""));

export const StoreSchema = z.object({
  SHORTLIST_S3_ENDPOINT: httpUrl,
  SHORTLIST_S3_BUCKET: z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "must be a bucket name"),
  SHORTLIST_S3_ACCESS_KEY_ID: z.string().min(1),
  SHORTLIST_S3_SECRET_ACCESS_KEY: z.string().min(1),
  SHORTLIST_S3_SESSION_TOKEN: z.string().min(1).optional(),
  SHORTLIST_S3_REGION: z.string().min(1).default("auto"),
});

export const SettingsSchema = StoreSchema.extend({
  SHORTLIST_STATE_DIR: z.string().min(1).default(".shortlist"),
  SHORTLIST_TRAINER_HOST: z.string().min(1).default("127.0.0.1"),
  SHORTLIST_TRAINER_PORT: integer(0, 65_535, 8788),
  SHORTLIST_METRICS_PORT: whole(1, 65_535).optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: "must be a postgres:// address" })
    .refine(isDecodable, "must be percent-encoded: a % of the password is %25")
    .optional(),
  SHORTLIST_BACKUP_HOURS: integer(0, 8760, 24),
  FORWARD_SECRET: z.string().min(32, "must have at least 32 characters, the same as at the edge"),
  SHORTLIST_EDGE_URL: httpUrl,
  SHORTLIST_OPERATOR: CustomerId.optional(),
  SHORTLIST_EGRESS_ADDRESSES: list.default([]),
  SHORTLIST_CONCURRENCY: integer(1, 64, 1),
  SHORTLIST_CUSTOMER_MODELS: integer(1, 100_000, 100),
  SHORTLIST_CUSTOMER_RUNS: integer(1, 64, 2),
  SHORTLIST_CUSTOMER_QUEUE: integer(1, 100_000, 50),
  SHORTLIST_CUSTOMER_CALLS: integer(1, 1_000_000, 600),
  SHORTLIST_SCHEDULE_MINUTES: integer(1, 525_600, 60),
  SHORTLIST_RUN_MEMORY_MB: integer(256, 1_000_000, 4096),
  SHORTLIST_ERASURE_DAYS: integer(6, 365, 30),
  SHORTLIST_EVENT_DAYS: integer(1, 3660, RETENTION_DAYS_DEFAULT),
  SHORTLIST_RUN_DISK_BYTES: integer(1e6, 1e15, 1e11),
  SHORTLIST_DISK_RESERVE_BYTES: integer(0, 1e15, 2e9),
  SHORTLIST_RUN_SECONDS: integer(1, 22 * 3600, 4 * 3600),
  SHORTLIST_FIT_SECONDS: integer(1, 22 * 3600, 7200),
  SHORTLIST_REJECTED_SHARE: z
    .string()
    .transform(Number)
    .pipe(z.number("must be a number").min(0, "must be at least 0").max(1, "must be at most 1"))
    .default(0.5),
  SHORTLIST_OVERLAP_HOURS: integer(0, 8760, 24),
  SHORTLIST_FULL_READ_HOURS: integer(0, 8760, 168),
  SHORTLIST_WEIGHT_MB: integer(1, 100, 24),
  SHORTLIST_EDGE_CACHE_MB: integer(16, 120, 80),
  SHORTLIST_IGNORE_GATE: flag,
  SHORTLIST_SEED: integer(0, 2 ** 31 - 1, 1),
  SHORTLIST_RUN_ATTEMPTS: integer(1, 20, 4),
  SHORTLIST_RETRY_SECONDS: integer(0, 86_400, 60),
  SHORTLIST_HEARTBEAT_SECONDS: integer(10, 3600, 30),
  SHORTLIST_QUERY_MEMORY_MB: integer(64, 1_000_000, 1024),
  SHORTLIST_CONNECT_SECONDS: integer(1, 3600, 30),
  SHORTLIST_SILENCE_SECONDS: integer(1, 86_400, 300),
  SHORTLIST_QUERY_SECONDS: integer(1, 86_400, 3600),
  SHORTLIST_QUERY_ROWS: integer(1, 1e12, 2e9),
  SHORTLIST_FILE_ROOTS: json
    .pipe(z.record(CustomerId, z.array(absolute).max(100), 'must be like {"acme": ["/data/acme"]}'))
    .superRefine((roots, context) => {
      const message = overlapOf(roots);
      if (message) context.addIssue({ code: "custom", message });
    })
    .default({}),
  SHORTLIST_SERVICE_ACCOUNTS: json
    .pipe(z.record(CustomerId, z.email(), 'must be like {"acme": "reader@project.iam.gserviceaccount.com"}'))
    .refine(
      (accounts) => new Set(Object.values(accounts)).size === Object.keys(accounts).length,
      "must name an account once: two customers with one account could each read what the other has granted",
    )
    .default({}),
  SHORTLIST_BIGQUERY_BYTES: integer(1, 1e15, 1e12),
  SHORTLIST_BIGQUERY_ENDPOINT: httpUrl.optional(),
  SHORTLIST_BIGQUERY_STORAGE_ENDPOINT: z
    .string()
    .regex(/^[^\s/]+:\d+$/, "must be like 127.0.0.1:9060")
    .optional(),
  SHORTLIST_ALLOW_PRIVATE_ADDRESSES: flag,
});
export type Values = z.infer<typeof SettingsSchema>;

export const GrantSettingsSchema = z.object({
  SHORTLIST_EGRESS_ADDRESSES: SettingsSchema.shape.SHORTLIST_EGRESS_ADDRESSES,
  SHORTLIST_SERVICE_ACCOUNTS: SettingsSchema.shape.SHORTLIST_SERVICE_ACCOUNTS,
});
export const KeySettingsSchema = StoreSchema.extend(GrantSettingsSchema.shape);
