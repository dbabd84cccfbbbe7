/** Checks of what grows old: models, backups, credentials. */
import { once } from "node:events";
import { connect } from "node:tls";
import { z } from "zod";
import { KeyRecord } from "../../shared/key-record.ts";
import { StoreError, storedJson } from "../store/object-store.ts";
import { type Check, fault, type Outcome, ok, warning, withoutKey } from "./check.ts";
import type { Subject } from "./subject.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const EXPIRES_SOON_MS = 14 * DAY_MS;
/** A trainer with a queue may start a run this late. */
const LATE_MS = 2 * HOUR_MS;
/** So many of the newest keys are looked at. */
const KEYS_MAX = 500;

export const ageChecks = (subject: Subject, nowMs: number): Check[] => [
  { name: "models", run: (signal) => models(subject, nowMs, signal) },
  { name: "backup", run: () => untilStoreError(() => backup(subject, nowMs)) },
  { name: "api keys", run: () => untilStoreError(() => apiKeys(subject, nowMs)) },
  { name: "bucket credentials", run: async () => bucketCredentials(subject) },
  { name: "certificate", run: (signal) => certificate(subject, nowMs, signal) },
];

const ModelList = z.object({
  models: z.array(
    z.looseObject({
      model_name: z.string(),
      failure: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
      training: z.looseObject({ state: z.string(), next_run_at: z.string().nullable() }),
    }),
  ),
});

/** Models whose last run failed, such as by refused credentials of a source, or whose next run is overdue. */
async function models({ edgeUrl, apiKey, port }: Subject, nowMs: number, signal: AbortSignal): Promise<Outcome> {
  if (apiKey === undefined) return withoutKey(port !== null);
  const answer = await fetch(`${edgeUrl}/v0/models?limit=100`, { headers: { "x-api-key": apiKey }, signal }).catch(
    () => undefined,
  );
  const list = ModelList.safeParse(await answer?.json().catch(() => undefined));
  if (!list.success) return warning("The models cannot be read.", "See the findings about edge and trainer.");
  for (const { model_name, failure } of list.data.models)
    if (failure) {
      const finding = `The last run of ${model_name} failed (${failure.code}): ${failure.message}`;
      return fault(finding, "Correct its source, credentials or specification, then POST …/train.");
    }
  const isLate = ({ training: { state, next_run_at } }: z.infer<typeof ModelList>["models"][number]) =>
    (state === "IDLE" || state === "SCHEDULED") && next_run_at !== null && Date.parse(next_run_at) < nowMs - LATE_MS;
  const late = list.data.models.find(isLate);
  if (late)
    return warning(
      `${late.model_name} should have been trained at ${late.training.next_run_at}.`,
      "Check the trainer's log, free disk, and SHORTLIST_CONCURRENCY: the queue may be longer than the schedules.",
    );
  return ok(`${list.data.models.length} models, none failed or overdue.`);
}

async function backup({ store, backupHours, settingsPlace }: Subject, nowMs: number): Promise<Outcome> {
  if (backupHours === 0)
    return warning("Regular backups are off.", `Set SHORTLIST_BACKUP_HOURS to 24 in ${settingsPlace}.`);
  let newestMs = 0;
  for await (const { modifiedMs } of store.list("backups/")) newestMs = Math.max(newestMs, modifiedMs);
  const remedy = "Start the trainer, which makes backups, and read its log; npm run backup makes one now.";
  if (newestMs === 0) return warning("There is no backup of the records yet.", remedy);
  const hours = Math.round((nowMs - newestMs) / HOUR_MS);
  const finding = `The newest backup of the records is ${hours} hours old.`;
  return hours > 2 * backupHours ? fault(finding, remedy) : ok(finding);
}

async function apiKeys({ store }: Subject, nowMs: number): Promise<Outcome> {
  let count = 0;
  for await (const { key } of store.list("keys/")) {
    if (++count > KEYS_MAX) break;
    const found = await store.get(key);
    const record = KeyRecord.safeParse(found && storedJson(found.bytes));
    if (!record.success || record.data.revoked_at !== null || record.data.expires_at === null) continue;
    const { expires_at, key_id, customer } = record.data;
    const leftMs = Date.parse(expires_at) - nowMs;
    if (leftMs > 0 && leftMs < EXPIRES_SOON_MS)
      return warning(
        `The key ${key_id} of ${customer} expires at ${expires_at}.`,
        `npm run keys -- issue --customer ${customer}, and replace it where it is used.`,
      );
  }
  return ok(count === 0 ? "There are no keys yet." : "None expires within 14 days.");
}

function bucketCredentials({ bucket, settingsPlace }: Subject): Outcome {
  if (bucket?.sessionToken === undefined) return ok("They do not expire by themselves.");
  const finding = "The trainer uses temporary credentials (SHORTLIST_S3_SESSION_TOKEN) and stops when they expire.";
  return warning(finding, `Put a permanent access key of the bucket into ${settingsPlace}.`);
}

/** The certificate of the address that callers use. */
async function certificate({ publicUrl }: Subject, nowMs: number, signal: AbortSignal): Promise<Outcome> {
  const { protocol, hostname, port } = new URL(publicUrl);
  if (protocol !== "https:") return ok("The address has none.");
  const socket = connect({
    host: hostname,
    port: Number(port || 443),
    servername: hostname,
    rejectUnauthorized: false,
  });
  try {
    await once(socket, "secureConnect", { signal });
    const validTo = Date.parse(socket.getPeerCertificate().valid_to);
    const finding = `The certificate of ${hostname} is valid until ${new Date(validTo).toISOString()}.`;
    const remedy = "Renew it: check the proxy's log, and that ports 80 and 443 reach the proxy.";
    if (validTo < nowMs) return fault(finding, remedy);
    return validTo < nowMs + EXPIRES_SOON_MS ? warning(finding, remedy) : ok(finding);
  } catch (error) {
    return warning(`No certificate could be read: ${(error as Error).message}`, "Check proxy and DNS.");
  } finally {
    socket.destroy();
  }
}

async function untilStoreError(check: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return warning("Not checked: the bucket cannot be read.", "See the finding about the bucket.");
  }
}
