/** The steps of a deployment, in order. Each can be repeated. */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { LocalError } from "../local/local-error.ts";
import { issueKey } from "../store/key-store.ts";
import { StoreError } from "../store/object-store.ts";
import { s3Store } from "../store/s3-store.ts";
import { type Call, CloudflareError } from "./cloudflare-api.ts";
import { BUCKET, bucketOptions, type Deployment, r2Endpoint, type Step, TOKEN, WORKER } from "./deployment.ts";
import { deployWorker } from "./wrangler.ts";

const UPLOADS_KEPT_SECONDS = 7 * 24 * 3600;
const R2_TRIES = 5;
const R2_PAUSE_MS = 3000;

const Rule = z.looseObject({
  enabled: z.boolean(),
  conditions: z.looseObject({ prefix: z.string().optional() }).optional(),
  abortMultipartUploadsTransition: z.unknown().optional(),
});
const Lifecycle = z.looseObject({ rules: z.array(Rule).nullish() });
const bucketPath = ({ accountId }: Deployment) => `/accounts/${accountId}/r2/buckets/${BUCKET}`;

const bucket: Step = {
  name: "bucket",
  async look(deployment) {
    const asked = { path: bucketPath(deployment), purpose: `look for the bucket ${BUCKET}` };
    const found = await deployment.api.find({ ...asked, permission: "Workers R2 Storage Read" }, z.unknown());
    return found === undefined ? { wanted: `make ${BUCKET}` } : { done: `${BUCKET} is there` };
  },
  async change({ api, accountId }) {
    const path = `/accounts/${accountId}/r2/buckets`;
    const permission = "Workers R2 Storage Write";
    const purpose = `make the bucket ${BUCKET} (R2 must have been activated in the dashboard)`;
    await api.call({ method: "POST", path, body: { name: BUCKET }, purpose, permission }, z.unknown());
    return `made ${BUCKET}`;
  },
};

const abortsUploads = ({ enabled, conditions, abortMultipartUploadsTransition }: z.infer<typeof Rule>) =>
  enabled && !conditions?.prefix && abortMultipartUploadsTransition != null;

/** Unfinished uploads cost storage. A new bucket of R2 usually has the rule already. */
const lifecycle: Step = {
  name: "lifecycle rule",
  async look(deployment) {
    const rules = await lifecycleRules(deployment);
    if (rules.some(abortsUploads)) return { done: "unfinished uploads are removed" };
    return { wanted: "add a rule that removes uploads which are unfinished after seven days" };
  },
  async change(deployment) {
    const condition = { type: "Age", maxAge: UPLOADS_KEPT_SECONDS };
    const rule = { id: "shortlist-unfinished-uploads", enabled: true, conditions: { prefix: "" } };
    const added = { ...rule, abortMultipartUploadsTransition: { condition } };
    const body = { rules: [...(await lifecycleRules(deployment)), added] };
    const path = `${bucketPath(deployment)}/lifecycle`;
    const permission = "Workers R2 Storage Write";
    await deployment.api.call({ method: "PUT", path, body, purpose: "set the lifecycle", permission }, z.unknown());
    return "unfinished uploads are removed after seven days";
  },
};

async function lifecycleRules(deployment: Deployment) {
  const asked = { path: `${bucketPath(deployment)}/lifecycle`, purpose: "read the bucket's lifecycle" };
  const found = await deployment.api.find({ ...asked, permission: "Workers R2 Storage Read" }, Lifecycle);
  return found?.rules ?? [];
}

/** A trainer that runs already needs the same secret: give it as FORWARD_SECRET. */
const secret: Step = {
  name: "secret",
  async look({ file, environment }) {
    const { FORWARD_SECRET: known } = file.values();
    if (known && (environment.FORWARD_SECRET ?? known) === known) return { done: `FORWARD_SECRET is in ${file.path}` };
    return { wanted: `${environment.FORWARD_SECRET ? "take" : "make"} FORWARD_SECRET, which edge and trainer share` };
  },
  async change({ file, environment, random }) {
    const { FORWARD_SECRET: given } = environment;
    if (given !== undefined && given.length < 32)
      throw new LocalError("FORWARD_SECRET must have 32 characters or more.");
    await file.change({ FORWARD_SECRET: given ?? Buffer.from(random(32)).toString("hex") });
    return `${given ? "took" : "made"} FORWARD_SECRET, in ${file.path}; the trainer needs the same`;
  },
};

/** Wrangler uploads always: only Cloudflare knows what is different. The same source makes the same Worker. */
const worker: Step = {
  name: "worker",
  look: async ({ domain, trainerUrl, file }) => {
    const url = trainerUrl ?? file.values().TRAINER_URL;
    const where = domain ? ` on ${domain}` : "";
    return { wanted: `upload ${WORKER}${where}: code, Durable Objects, pages, secret; ${trainerText(url)}` };
  },
  async change(deployment) {
    const { file, accountId, environment, domain } = deployment;
    const trainerUrl = deployment.trainerUrl ?? file.values().TRAINER_URL;
    const variables = {
      LIKELY_CUSTOMER: file.values().SHORTLIST_OPERATOR ?? deployment.customer,
      ...(trainerUrl && { TRAINER_URL: trainerUrl }),
    };
    const secrets = { FORWARD_SECRET: file.values().FORWARD_SECRET! };
    await deployWorker({ accountId, variables, secrets, domain }, environment);
    if (trainerUrl) await file.change({ TRAINER_URL: trainerUrl });
    return `uploaded ${WORKER}; ${trainerText(trainerUrl)}`;
  },
};

const trainerText = (url: string | undefined) =>
  url ? `trainer at ${url}` : "no trainer yet: give --trainer-url URL once it runs";

const address: Step = {
  name: "address",
  async look(deployment) {
    const url = await edgeUrl(deployment);
    const { SHORTLIST_EDGE_URL: known } = deployment.file.values();
    return known === url ? { done: url } : { wanted: `note ${url} in ${deployment.file.path}` };
  },
  async change(deployment) {
    const url = await edgeUrl(deployment);
    await deployment.file.change({ SHORTLIST_EDGE_URL: url });
    return url;
  },
};

async function edgeUrl({ api, accountId, publicUrl, domain, file }: Deployment): Promise<string> {
  const known = publicUrl ?? (domain ? `https://${domain}` : file.values().SHORTLIST_EDGE_URL);
  if (known) return known;
  const path = `/accounts/${accountId}/workers/subdomain`;
  const asked = { path, purpose: "read the account's workers.dev address", permission: "Workers Scripts Read" };
  const found = await api.find(asked, z.object({ subdomain: z.string() }));
  if (found) return `https://${WORKER}.${found.subdomain}.workers.dev`;
  throw new LocalError("The account has no workers.dev address: open Workers in the dashboard once, or give --domain.");
}

const PERMISSION = "Workers R2 Storage Bucket Item Write";
const BY_HAND = `In the dashboard (R2, API tokens) make one for ${BUCKET} with "Object Read & Write", set SHORTLIST_S3_ACCESS_KEY_ID and SHORTLIST_S3_SECRET_ACCESS_KEY, and run this again`;

const credentials: Step = {
  name: "R2 credentials",
  async look(deployment) {
    const { file, environment } = deployment;
    const { SHORTLIST_S3_ACCESS_KEY_ID: id, SHORTLIST_S3_ENDPOINT: endpoint } = file.values();
    if ((environment.SHORTLIST_S3_ACCESS_KEY_ID ?? id) !== id) return { wanted: "take the given ones" };
    if (!bucketOptions(deployment)) return { wanted: `make the API token ${TOKEN}, for this bucket only` };
    const isSame = endpoint === r2Endpoint(deployment);
    return isSame ? { done: `they are in ${file.path}` } : { wanted: "take the given endpoint" };
  },
  async change(deployment) {
    const { environment, file } = deployment;
    const { SHORTLIST_S3_ACCESS_KEY_ID: id, SHORTLIST_S3_SECRET_ACCESS_KEY: given } = environment;
    const known = bucketOptions(deployment);
    const isMade = !(id && given) && known === undefined;
    const own = known ? { id: known.accessKeyId, secret: known.secretAccessKey } : undefined;
    const pair = id && given ? { id, secret: given } : (own ?? (await makeToken(deployment)));
    await file.change({
      SHORTLIST_S3_ENDPOINT: r2Endpoint(deployment),
      SHORTLIST_S3_BUCKET: BUCKET,
      SHORTLIST_S3_ACCESS_KEY_ID: pair.id,
      SHORTLIST_S3_SECRET_ACCESS_KEY: pair.secret,
    });
    return isMade ? `made the API token ${TOKEN}, in ${file.path}` : `wrote the given ones to ${file.path}`;
  },
};

/** Cloudflare derives S3 credentials from a token: its id, and the SHA-256 of its value. */
async function makeToken({ api, accountId }: Deployment): Promise<{ id: string; secret: string }> {
  const path = `/accounts/${accountId}/tokens`;
  const common = { purpose: "make the trainer's R2 credentials", permission: "Account API Tokens Write" };
  const Group = z.object({ id: z.string(), name: z.string() });
  try {
    const groups = await api.call({ ...common, path: `${path}/permission_groups` }, z.array(Group));
    const group = groups.find(({ name }) => name === PERMISSION);
    if (!group) throw new LocalError(`There is no permission "${PERMISSION}" in this account. ${BY_HAND}.`);
    const resources = { [`com.cloudflare.edge.r2.bucket.${accountId}_default_${BUCKET}`]: "*" };
    const policies = [{ effect: "allow", permission_groups: [{ id: group.id }], resources }];
    const asked: Call = { ...common, method: "POST", path, body: { name: TOKEN, policies } };
    const { id, value } = await api.call(asked, z.object({ id: z.string(), value: z.string() }));
    return { id, secret: createHash("sha256").update(value).digest("hex") };
  } catch (error) {
    // The token of wrangler's login may not make tokens.
    if (error instanceof CloudflareError && [401, 403].includes(error.status))
      throw new LocalError(`${error.message} Or without it: ${BY_HAND}.`, { cause: error });
    throw error;
  }
}

const key: Step = {
  name: "API key",
  async look({ file, customer }) {
    if (file.values().SHORTLIST_API_KEY) return { done: `it is in ${file.path}` };
    return { wanted: `issue the first key, to the customer ${customer}` };
  },
  async change(deployment) {
    const { customer, nowMs, random, file } = deployment;
    const store = s3Store(bucketOptions(deployment)!);
    for (let tries = 1; ; tries++)
      try {
        const scopes = ["rank", "events", "manage"] as const;
        const issued = await issueKey(store, { customer, scopes, expiresAtMs: null, nowMs, random });
        await file.change({ SHORTLIST_API_KEY: issued.key, SHORTLIST_OPERATOR: customer });
        return `issued ${issued.record.key_id} to ${customer}; the key is in ${file.path}`;
      } catch (error) {
        // R2 learns of a new token after some seconds.
        const isNew = error instanceof StoreError && /: 40[13] /.test(error.message);
        if (!isNew || tries === R2_TRIES) throw error;
        await sleep(R2_PAUSE_MS);
      }
  },
};

export const STEPS: readonly Step[] = [bucket, lifecycle, secret, worker, address, credentials, key];
