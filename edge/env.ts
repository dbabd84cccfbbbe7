import * as z from "zod";
import { CustomerId } from "../shared/key-record.ts";
import type { ShardNamespace } from "./events/shard-rpc.ts";
import type { ItemChangesNamespace } from "./items/item-changes-rpc.ts";

/** What the Worker needs of an AnalyticsEngineDataset. */
export type CallAnalytics = {
  writeDataPoint(point: { indexes: [string]; blobs: string[]; doubles: number[] }): void;
};

/** The bindings in wrangler.toml. Variables are text or, from TOML, numbers and booleans. */
export type Bindings = {
  readonly MODELS: R2Bucket;
  /** The shards of users' events. Deployments of earlier releases have none. */
  readonly EVENTS?: ShardNamespace;
  /** The changed items of each model. Deployments of earlier releases have none. */
  readonly ITEMS?: ItemChangesNamespace;
  /** Data points of rank calls. Absent: none are written. */
  readonly CALL_ANALYTICS?: CallAnalytics;
  /** Requests by API key. */
  readonly RATE_LIMIT?: RateLimit;
  /** Reads of unknown API keys by client address. */
  readonly UNKNOWN_KEY_LIMIT?: RateLimit;
  /** A secret that the trainer has too. */
  readonly FORWARD_SECRET?: string;
  readonly [variable: string]: unknown;
};

const Flag = z.union([z.boolean(), z.stringbool()]);
const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
/** An origin in the form that browsers send (RFC 6454). Another form would match no request. */
const Origin = z
  .url({ protocol: /^https?$/ })
  .refine(
    (text) => URL.canParse(text) && new URL(text).origin === text,
    "must be an origin, such as https://shop.example",
  )
  .or(z.literal("*"));

/** Whether nobody between edge and trainer can read the calls, which contain specifications and user ids. */
function isConfidential(text: string): boolean {
  if (!URL.canParse(text)) return true; // another check refuses it
  const { protocol, hostname } = new URL(text);
  return protocol === "https:" || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/** The operator's settings, with their defaults. edge/README.md describes them. */
const Settings = z.object({
  TRAINER_URL: z
    .url({ protocol: /^https?$/ })
    .refine(isConfidential, "must be https, except on this machine")
    .or(z.literal(""))
    .default(""),
  FORWARD_SECRET: z.string().min(32).or(z.literal("")).default(""),
  TRAINER_TIMEOUT_SECONDS: whole(1, 120).default(30),
  /** Memory for versions and user records, in JavaScript and WASM together. An isolate has 128 MB. */
  CACHE_MEGABYTES: whole(16, 120).default(80),
  /** Cache of user records, in the part of CACHE_MEGABYTES that versions leave free. 0 disables the cache. */
  RECORD_MEGABYTES: whole(0, 64).default(8),
  /** Timeout of one read of R2. */
  READ_TIMEOUT_MS: whole(50, 6000).default(5000),
  /** Time for all reads of a rank call. After it the answer is 503. */
  RANK_TIMEOUT_MS: whole(500, 28_000).default(13_000),
  POINTER_CACHE_SECONDS: whole(0, 5).default(4),
  KEY_CACHE_SECONDS: whole(0, 30).default(25),
  /** The customer whose model is read while the record of a new key is read. A wrong guess costs these reads. Empty: no guess. */
  LIKELY_CUSTOMER: CustomerId.or(z.literal("").transform(() => undefined)).optional(),
  CONCURRENT_RANKS_MAX: whole(1, 1000).default(256),
  /** The estimated CPU time of the rank calls that wait in one isolate, in an overload. See edge/admission/admission.ts. */
  QUEUE_MS_MAX: whole(1, 10_000).default(140),
  /** Rank without the seen filter when the user's record cannot be read, instead of answering 503. */
  SERVE_UNFILTERED: Flag.default(false),
  /** Timeout of all calls to shards that a request makes. */
  EVENTS_TIMEOUT_MS: whole(50, 10_000).default(2000),
  /** Rank without live events when they cannot be read, instead of answering 503. */
  SERVE_WITHOUT_EVENTS: Flag.default(false),
  /** Timeout of a request's call to the object with a model's changed items, which waits up to 1.5 s for the bucket. */
  ITEMS_TIMEOUT_MS: whole(50, 20_000).default(5000),
  /** Longest time until a shard exports an event to the bucket, where the trainer finds it. */
  EVENT_EXPORT_SECONDS: whole(1, 3600).default(60),
  /** For how long an isolate counts calls before it sends the counts. */
  CALL_COUNT_SECONDS: whole(0, 20).default(5),
  /** Origins whose pages may call, separated by commas. Empty: none. */
  CORS_ORIGINS: z
    .string()
    .default("")
    .transform((text) => text.split(",").flatMap((origin) => origin.trim() || []))
    .pipe(z.array(Origin).max(100)),
  /** The fraction of requests whose line is logged. Answers of 500 and above, and all other events, are always logged. */
  LOG_SAMPLE_RATE: z.coerce.number().min(0).max(1).default(0.1),
  /** The period of both rate limits, for Retry-After. */
  RATE_LIMIT_SECONDS: whole(1, 3600).default(60),
});
export type Settings = z.infer<typeof Settings>;

const parsed = new WeakMap<object, Settings>();

/** The settings of a deployment, parsed once. Throws Error with the name of each wrong variable, never with its value. */
export function settingsOf(env: Bindings): Settings {
  const known = parsed.get(env);
  if (known) return known;
  const result = Settings.safeParse(env);
  if (!result.success) {
    const faults = result.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw new Error(`The Worker's variables are wrong. ${faults.join("; ")}`);
  }
  parsed.set(env, result.data);
  return result.data;
}
