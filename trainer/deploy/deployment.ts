import type { Environment } from "../settings.ts";
import type { S3Options } from "../store/s3-request.ts";
import type { Cloudflare } from "./cloudflare-api.ts";
import type { DeployFile } from "./deploy-file.ts";

/** Names in wrangler.toml. */
export const WORKER = "shortlist-edge";
export const BUCKET = "shortlist-models";
/** The name of the trainer's API token for the bucket. */
export const TOKEN = "shortlist-trainer";

/** What the steps work on. */
export type Deployment = {
  readonly api: Cloudflare;
  readonly accountId: string;
  readonly file: DeployFile;
  readonly environment: Environment;
  readonly customer: string;
  readonly trainerUrl: string | undefined;
  readonly domain: string | undefined;
  readonly publicUrl: string | undefined;
  readonly random: (count: number) => Uint8Array;
  readonly nowMs: number;
};

/** One thing that a deployment needs. A step that finds it in order changes nothing. */
export type Step = {
  readonly name: string;
  /** What is already in order (`done`), or what `change` is going to do (`wanted`). */
  look(deployment: Deployment): Promise<{ readonly done: string } | { readonly wanted: string }>;
  /** Returns what was changed. */
  change(deployment: Deployment): Promise<string>;
};

/** A bucket in a jurisdiction has another endpoint, which SHORTLIST_S3_ENDPOINT names. */
export const r2Endpoint = ({ accountId, environment, file }: Deployment): string =>
  environment.SHORTLIST_S3_ENDPOINT ??
  file.values().SHORTLIST_S3_ENDPOINT ??
  `https://${accountId}.r2.cloudflarestorage.com`;

/** The bucket by the trainer's credentials; undefined while there are none. */
export function bucketOptions(deployment: Deployment): S3Options | undefined {
  const { SHORTLIST_S3_ACCESS_KEY_ID: accessKeyId, SHORTLIST_S3_SECRET_ACCESS_KEY: secretAccessKey } =
    deployment.file.values();
  if (!accessKeyId || !secretAccessKey) return undefined;
  return { endpoint: r2Endpoint(deployment), bucket: BUCKET, region: "auto", accessKeyId, secretAccessKey };
}
