import { createInterface } from "node:readline/promises";
import * as z from "zod";
import { LocalError } from "../local/local-error.ts";
import { s3Store } from "../store/s3-store.ts";
import { BUCKET, bucketOptions, type Deployment, TOKEN, WORKER } from "./deployment.ts";
import { deleteWorker } from "./wrangler.ts";

const Script = z.object({ id: z.string() });

/** Removes what the steps have made, the Worker first. Repeating it continues after a failure. */
export async function destroy(
  deployment: Deployment,
  { isDryRun, isConfirmed, print }: { isDryRun: boolean; isConfirmed: boolean; print: (line: string) => void },
): Promise<void> {
  const { api, accountId, environment, file } = deployment;
  print(`This removes from account ${accountId}, for ever:`);
  print(`- the Worker ${WORKER} with its Durable Objects: events of the last days, changed items, live counts`);
  print(`- the bucket ${BUCKET}: models, versions, API keys, scenarios, exported events, backups of the records`);
  print(`- the API token ${TOKEN}, after which the trainer cannot reach the bucket`);
  print(`${file.path} and the trainer's own folder stay.`);
  if (isDryRun) return;
  if (!isConfirmed) await confirm();

  const permission = "Workers Scripts Write";
  const asked = { path: `/accounts/${accountId}/workers/scripts`, purpose: "list the Workers", permission };
  const isThere = (await api.call(asked, z.array(Script))).some(({ id }) => id === WORKER);
  if (isThere) await deleteWorker(WORKER, accountId, environment);
  print(`worker: ${isThere ? "removed" : "was not there"}`);

  const path = `/accounts/${accountId}/r2/buckets/${BUCKET}`;
  const r2 = { path, permission: "Workers R2 Storage Write" };
  const found = await api.find({ ...r2, purpose: "look for the bucket" }, z.unknown());
  if (found !== undefined) {
    print(`bucket: ${await emptyBucket(deployment)} objects removed`);
    await api.call({ ...r2, method: "DELETE", purpose: `remove the bucket ${BUCKET}` }, z.unknown());
  }
  print(`bucket: ${found === undefined ? "was not there" : "removed"}`);

  const id = file.values().SHORTLIST_S3_ACCESS_KEY_ID;
  const tokens = { path: `/accounts/${accountId}/tokens/${id}`, permission: "Account API Tokens Write" };
  if (id) await api.find({ ...tokens, method: "DELETE", purpose: "remove the trainer's token" }, z.unknown());
  print(`token: ${id ? "removed" : "is not known"}`);
  const gone = { SHORTLIST_S3_ACCESS_KEY_ID: undefined, SHORTLIST_S3_SECRET_ACCESS_KEY: undefined };
  await file.change({ ...gone, SHORTLIST_API_KEY: undefined, SHORTLIST_EDGE_URL: undefined });
}

async function emptyBucket(deployment: Deployment): Promise<number> {
  const options = bucketOptions(deployment);
  if (!options)
    throw new LocalError(`${deployment.file.path} has no credentials to empty ${BUCKET}: do it in the dashboard.`);
  const store = s3Store(options);
  let count = 0;
  for await (const { key } of store.list("")) {
    await store.delete(key);
    count++;
  }
  return count;
}

async function confirm(): Promise<void> {
  if (!process.stdin.isTTY) throw new LocalError("Nothing was removed: give --yes, or answer on a terminal.");
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await terminal.question(`Type ${WORKER} to remove all of it: `);
    if (answer.trim() !== WORKER) throw new LocalError("Nothing was removed.");
  } finally {
    terminal.close();
  }
}
