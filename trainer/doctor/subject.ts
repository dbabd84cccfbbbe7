/** What the doctor examines: a folder of `npm run serve`, or a trainer and its edge at Cloudflare by their variables. */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { BUCKET, placesIn, readServeSettings } from "../serve/serve-settings.ts";
import { type Environment, readKeySettings, readSettings, type StoreAccess } from "../settings.ts";
import { directoryStore } from "../store/directory-store.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { s3Store } from "../store/s3-store.ts";

export type Subject = {
  /** The command that starts what does not run. */
  readonly startCommand: string;
  /** Where the settings are changed. */
  readonly settingsPlace: string;
  readonly stateFolder: string;
  readonly dataFolders: readonly string[];
  /** Files that only their owner may read. */
  readonly secretFiles: readonly string[];
  /** The port on which the service of this machine listens. Null: the edge is elsewhere. */
  readonly port: number | null;
  /** The bucket over the network. Null: a folder of this machine. */
  readonly bucket: StoreAccess | null;
  readonly objectsFolder: string | null;
  readonly store: ObjectStore;
  /** How this machine reaches the edge; without a slash at the end. */
  readonly edgeUrl: string;
  /** How callers reach the edge. */
  readonly publicUrl: string;
  /** Null: the service does not run, so nobody knows the port. */
  readonly trainerUrl: string | null;
  /** A key of the scope manage, if there is one. */
  readonly apiKey: string | undefined;
  readonly runMemoryMb: number;
  readonly diskReserveBytes: number;
  readonly backupHours: number;
  /** Null where no customer is given this machine's address. */
  readonly egressAddresses: readonly string[] | null;
};

const STORE_ATTEMPTS = { attempts: 2, deadlineMs: 4000 };
const Local = z.object({ api_key: z.string() });
const Running = z.object({ trainer_url: z.url() });

/** Throws LocalError and SettingsError. */
export async function serviceIn(dir: string): Promise<Subject> {
  const settings = await readServeSettings(dir);
  const places = placesIn(dir);
  const { objects, host, port } = settings;
  const bucket: StoreAccess | null =
    objects.kind === "disk"
      ? null
      : { ...objects, accessKeyId: objects.access_key_id, secretAccessKey: objects.secret_access_key };
  const edgeUrl = `http://${host === "0.0.0.0" ? "127.0.0.1" : host}:${port}`;
  const given = Object.entries(settings.environment).map(([name, value]) => [name, String(value)]);
  const access = bucket ?? { endpoint: edgeUrl, bucket: BUCKET, accessKeyId: "none", secretAccessKey: "none" };
  const trainer = readSettings({
    ...Object.fromEntries(given),
    FORWARD_SECRET: settings.forward_secret,
    SHORTLIST_EDGE_URL: settings.public_url ?? edgeUrl,
    SHORTLIST_S3_ENDPOINT: access.endpoint,
    SHORTLIST_S3_BUCKET: access.bucket,
    SHORTLIST_S3_ACCESS_KEY_ID: access.accessKeyId,
    SHORTLIST_S3_SECRET_ACCESS_KEY: access.secretAccessKey,
  });
  return {
    startCommand: `npm run serve -- --dir ${dir}`,
    settingsPlace: places.settings,
    stateFolder: dir,
    dataFolders: settings.data_roots,
    secretFiles: [places.settings, places.local],
    port,
    bucket,
    objectsFolder: bucket ? null : places.objects,
    store: bucket ? s3Store({ ...bucket, ...STORE_ATTEMPTS }) : directoryStore(places.objects),
    edgeUrl,
    publicUrl: (settings.public_url ?? edgeUrl).replace(/\/+$/, ""),
    trainerUrl: (await jsonIn(places.running, Running))?.trainer_url ?? null,
    apiKey: (await jsonIn(places.local, Local))?.api_key,
    runMemoryMb: trainer.runs.memoryMbMax,
    diskReserveBytes: trainer.runs.diskReserveBytes,
    backupHours: trainer.backupHours,
    egressAddresses: null,
  };
}

/** The trainer of these variables, and its edge. `SHORTLIST_API_KEY` is a key by which models are looked at. Throws SettingsError. */
export function trainerOf(environment: Environment): Subject {
  const settings = readSettings(environment);
  const { host, port, store: bucket, edgeUrl, runs } = settings;
  const roots = JSON.parse(environment.SHORTLIST_FILE_ROOTS || "{}") as Record<string, string[]>;
  return {
    startCommand: "npm run train",
    settingsPlace: "the trainer's variables",
    stateFolder: settings.stateDirectory,
    dataFolders: Object.values(roots).flat(),
    secretFiles: [],
    port: null,
    bucket,
    objectsFolder: null,
    store: s3Store({ ...bucket, ...STORE_ATTEMPTS }),
    edgeUrl,
    publicUrl: edgeUrl,
    trainerUrl: `http://${host === "0.0.0.0" ? "127.0.0.1" : host}:${port}`,
    apiKey: environment.SHORTLIST_API_KEY || undefined,
    runMemoryMb: runs.memoryMbMax,
    diskReserveBytes: runs.diskReserveBytes,
    backupHours: settings.backupHours,
    egressAddresses: readKeySettings(environment).egressAddresses,
  };
}

/** The content of a file; undefined if the file is absent or has another form. */
async function jsonIn<Value>(path: string, schema: z.ZodType<Value>): Promise<Value | undefined> {
  try {
    return schema.parse(JSON.parse(await readFile(path, "utf8")));
  } catch {
    return undefined;
  }
}
