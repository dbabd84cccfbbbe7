/** The parts of a service that commands beside `npm run serve` reach: its bucket, and its trainer while it runs. */
import { readFile } from "node:fs/promises";
import * as z from "zod";
import type { StoreAccess } from "../settings.ts";
import { directoryStore } from "../store/directory-store.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { s3Store } from "../store/s3-store.ts";
import { placesIn, type ServeSettings } from "./serve-settings.ts";

const Running = z.object({ trainer_url: z.url() });

/** The access to the operator's bucket; undefined if the bucket is the service's folder. */
export function bucketAccess({ objects }: ServeSettings): StoreAccess | undefined {
  if (objects.kind === "disk") return undefined;
  const { endpoint, bucket, region, access_key_id: accessKeyId, secret_access_key: secretAccessKey } = objects;
  return { endpoint, bucket, region, accessKeyId, secretAccessKey };
}

/** The bucket without the service's server in between: while it runs, others only read, or write keys. */
export function bucketOf(dir: string, settings: ServeSettings): ObjectStore {
  const access = bucketAccess(settings);
  return access ? s3Store(access) : directoryStore(placesIn(dir).objects);
}

/** Where the trainer of a running service is. Throws if the service has never run. */
export const trainerUrlOf = async (dir: string): Promise<string> =>
  Running.parse(JSON.parse(await readFile(placesIn(dir).running, "utf8"))).trainer_url;
