import { z } from "zod";
import { READ_LOCK_MS } from "./reading/single-flight.ts";

/** What wrangler.toml binds. Variables arrive as text or, from TOML, as numbers and booleans. */
export type Bindings = {
  readonly MODELS: R2Bucket;
  /** Requests by API key. */
  readonly RATE_LIMIT?: RateLimit;
  /** Reads of unknown API keys by client address. */
  readonly UNKNOWN_KEY_LIMIT?: RateLimit;
  /** Secret, shared with the trainer. */
  readonly FORWARD_SECRET?: string;
  readonly [variable: string]: unknown;
};

const Flag = z.union([z.boolean(), z.stringbool()]);
const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
/** As browsers send it (RFC 6454): any other form of it would equal none. */
const Origin = z
  .url({ protocol: /^https?$/ })
  .refine(
    (text) => URL.canParse(text) && new URL(text).origin === text,
    "must be an origin, such as https://shop.example",
  )
  .or(z.literal("*"));

/** The operator's settings: what each means stands in edge/README.md. */
const Variables = z.object({
  TRAINER_URL: z
    .url({ protocol: /^https?$/ })
    .or(z.literal(""))
    .default(""),
  FORWARD_SECRET: z.string().min(16).or(z.literal("")).default(""),
  TRAINER_TIMEOUT_SECONDS: whole(1, 120).default(30),
  /** Memory for loaded versions, JavaScript and WASM together; an isolate has 128. */
  CACHE_MEGABYTES: whole(16, 120).default(80),
  /** Cache for recent user records, within what versions leave of CACHE_MEGABYTES; 0 disables it. */
  RECORD_MEGABYTES: whole(0, 64).default(8),
  /** A read of R2 that takes longer has failed. Six of them, one after another, end before a call's lease of its version. */
  READ_TIMEOUT_MS: whole(50, 6000).default(5000),
  /** Limit on all that a rank call waits for; beyond it the answer is 503. */
  RANK_TIMEOUT_MS: whole(500, 28_000).default(13_000),
  POINTER_CACHE_SECONDS: whole(0, 5).default(4),
  KEY_CACHE_SECONDS: whole(0, 30).default(25),
  CONCURRENT_RANKS_MAX: whole(1, 1000).default(256),
  /** The estimated CPU time of the rank calls that wait in one isolate, in an overload. See edge/admission/admission.ts. */
  QUEUE_MS_MAX: whole(1, 10_000).default(140),
  /** Rank without the seen filter when the user record cannot be read, instead of answering 503. */
  SERVE_UNFILTERED: Flag.default(false),
  /** Origins whose pages may call, separated by commas; empty: none. */
  CORS_ORIGINS: z
    .string()
    .default("")
    .transform((text) => text.split(",").flatMap((origin) => origin.trim() || []))
    .pipe(z.array(Origin).max(100)),
  /** The period of both rate limits, for Retry-After. */
  RATE_LIMIT_SECONDS: whole(1, 3600).default(60),
});
const Settings = Variables.refine(
  (settings) => !settings.SERVE_UNFILTERED || settings.RANK_TIMEOUT_MS >= 2 * settings.READ_TIMEOUT_MS + READ_LOCK_MS,
  {
    path: ["RANK_TIMEOUT_MS"],
    error:
      "must be at least twice READ_TIMEOUT_MS and a second with SERVE_UNFILTERED: a record is tried twice before it is done without",
  },
);
export type Settings = z.infer<typeof Settings>;

const parsed = new WeakMap<object, Settings>();

/** The settings of a deployment, parsed once. Throws Error that names each wrong variable, never its value. */
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
