/** `settings.json` in the folder of `npm run serve`: written by `npm run setup`, changed by the operator, readable by its owner only. */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { isAbsolute, join } from "node:path";
import * as z from "zod";
import { CustomerId } from "../../shared/key-record.ts";
import { UsageError } from "../expected-error.ts";

const port = z.int().min(1).max(65_535);

const FORMAT = 1;
const Formatted = z.looseObject({ format: z.int() });

export const ServeSettings = z.strictObject({
  /** Raised by a release whose folder the releases before it cannot open. */
  format: z.literal(FORMAT),
  /** Where the service listens. On 127.0.0.1, a proxy with a certificate stands before it. */
  host: z.string().default("127.0.0.1"),
  port,
  /** The address by which callers reach the service, if a proxy stands before it. */
  public_url: z.url({ protocol: /^https?$/ }).optional(),
  /** Prometheus reads `/metrics` here, on the same host. Null: no metrics. */
  metrics_port: port.nullable().default(null),
  /** The first customer. `npm run keys` adds others. */
  customer: CustomerId.default("main"),
  /** Folders that File connectors of the first customer may read; absolute. */
  data_roots: z.array(z.string().refine(isAbsolute, "must be an absolute path")).max(100).default([]),
  /** Processes that answer calls. */
  workers: z.int().min(1).max(64).default(Math.min(8, availableParallelism())),
  /** Where versions, keys and exported events are kept: this folder, or a bucket with conditional writes. */
  objects: z
    .discriminatedUnion("kind", [
      z.strictObject({ kind: z.literal("disk") }),
      z.strictObject({
        kind: z.literal("s3"),
        endpoint: z.url({ protocol: /^https?$/ }),
        bucket: z.string(),
        access_key_id: z.string(),
        secret_access_key: z.string(),
        region: z.string().default("auto"),
      }),
    ])
    .default({ kind: "disk" }),
  /** Variables of the trainer (manage/README.md) and of the Worker (edge/README.md). */
  environment: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
  /** Signs calls from the edge to the trainer. */
  forward_secret: z.string().min(32),
  /** Guards what the service's own processes ask each other. */
  internal_secret: z.string().min(32),
});
export type ServeSettings = z.infer<typeof ServeSettings>;

/** The folders and files of a service. */
export const placesIn = (dir: string) => ({
  settings: join(dir, "settings.json"),
  local: join(dir, "local.json"),
  objects: join(dir, "objects"),
  durable: join(dir, "durable"),
  trainer: join(dir, "trainer"),
  run: join(dir, "run"),
  /** Where the trainer of the running service is, for `npm run backup`. */
  running: join(dir, "run", "running.json"),
});

export const BUCKET = "shortlist-models";

/** Throws UsageError when the file is absent or wrong. */
export async function readServeSettings(dir: string): Promise<ServeSettings> {
  const path = placesIn(dir).settings;
  const text = await readFile(path, "utf8").catch((cause) => {
    throw new UsageError(`There is no ${path}: run npm run setup -- --dir ${dir} first.`, { cause });
  });
  const written = jsonOf(text);
  const format = Formatted.safeParse(written).data?.format ?? FORMAT;
  if (format > FORMAT)
    throw new UsageError(
      `A newer release has written ${dir} (format ${format}; this one knows ${FORMAT}): run that release, or restore an older backup.`,
    );
  const parsed = ServeSettings.safeParse(written);
  if (parsed.success) return parsed.data;
  const { path: field, message } = parsed.error.issues[0]!;
  throw new UsageError(`${path} is not right: ${field.join(".") || "the file"} ${message}.`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const newSecret = (): string => randomBytes(32).toString("hex");

export async function writeServeSettings(dir: string, settings: ServeSettings): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const path = placesIn(dir).settings;
  await writeFile(`${path}.new`, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
