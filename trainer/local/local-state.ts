/**
 * The state folder of `npm start`:
 *
 *     local.json       addresses and API key of the service, for scripts
 *     secrets.json     the secret that edge and trainer share, and the credentials of the local bucket
 *     sources.json     the files of each model, to detect changes
 *     r2/  trainer/  data/  logs/  compiled/ (Node's compile cache)
 *
 * All JSON files have mode 0600 and never leave this machine.
 */
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { S3Options } from "../store/s3-request.ts";
import { LocalError } from "./local-error.ts";

const LocalService = z.looseObject({
  edge_url: z.url(),
  trainer_url: z.url(),
  api_key: z.string(),
  model_name: z.string(),
});
export type LocalService = z.infer<typeof LocalService>;

const LocalSecrets = z.strictObject({
  forward_secret: z.string().min(32),
  s3_access_key_id: z.string().min(16),
  s3_secret_access_key: z.string().min(32),
  /** API key of the customer `local`; null until it is issued. */
  api_key: z.string().nullable(),
});
export type LocalSecrets = z.infer<typeof LocalSecrets>;

const LocalSources = z.record(z.string(), z.strictObject({ fingerprint: z.string(), folders: z.array(z.string()) }));
/** Model name → fingerprint and folders of the files that the model was trained on. */
export type LocalSources = z.infer<typeof LocalSources>;

export const LOCAL_BUCKET = "shortlist-models";
export const LOCAL_CUSTOMER = "local";

/** Undefined if no service has been started with this state folder. */
export const readLocalService = (state: string) => readJson(join(state, "local.json"), LocalService);
export const writeLocalService = (state: string, service: LocalService) =>
  writeSecretJson(join(state, "local.json"), service);

export const readLocalSecrets = (state: string) => readJson(join(state, "secrets.json"), LocalSecrets);
export const writeLocalSecrets = (state: string, secrets: LocalSecrets) =>
  writeSecretJson(join(state, "secrets.json"), secrets);

/** Reads the secrets of this state folder; generates them at the first start. */
export async function ensureLocalSecrets(state: string): Promise<LocalSecrets> {
  const found = await readLocalSecrets(state);
  if (found) return found;
  const secrets = {
    forward_secret: randomBytes(32).toString("hex"),
    s3_access_key_id: randomBytes(16).toString("hex"),
    s3_secret_access_key: randomBytes(32).toString("hex"),
    api_key: null,
  };
  await writeLocalSecrets(state, secrets);
  return secrets;
}

export const readLocalSources = async (state: string): Promise<LocalSources> =>
  (await readJson(join(state, "sources.json"), LocalSources)) ?? {};
export const writeLocalSources = (state: string, sources: LocalSources) =>
  writeSecretJson(join(state, "sources.json"), sources);

/** S3 access to the bucket of the edge that runs on this machine. */
export const localS3 = (edgeUrl: string, secrets: LocalSecrets): S3Options => ({
  endpoint: new URL("/cdn-cgi/local/r2/s3", edgeUrl).href,
  bucket: LOCAL_BUCKET,
  accessKeyId: secrets.s3_access_key_id,
  secretAccessKey: secrets.s3_secret_access_key,
});

async function readJson<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.infer<Schema> | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new LocalError(`${path} cannot be read: ${(cause as Error).message}.`, { cause });
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new LocalError(`${path} is damaged: delete it, or start with another --state folder.`, { cause });
  }
}

/** Replaces the file atomically, so that a crash leaves either the old or the new content. */
async function writeSecretJson(path: string, value: unknown): Promise<void> {
  await mkdir(join(path, ".."), { recursive: true });
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await chmod(temporary, 0o600);
  await rename(temporary, path);
}
