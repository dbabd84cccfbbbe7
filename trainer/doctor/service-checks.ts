/** Checks of the service's parts and of the ways between them: bucket, clock, edge, trainer. */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { FORWARD_WINDOW_SECONDS } from "../../shared/forward-signature.ts";
import { StoreError } from "../store/object-store.ts";
import { s3Request } from "../store/s3-request.ts";
import { type Check, fault, type Outcome, ok, warning, withoutKey } from "./check.ts";
import type { Subject } from "./subject.ts";

const PROBE_KEY = "doctor/write-test";
/** A difference that calls survive, but that grows. */
const CLOCK_SECONDS_WARN = 5;

export const serviceChecks = (subject: Subject): Check[] => [
  { name: "bucket", run: () => bucket(subject) },
  { name: "clock", run: (signal) => clock(subject, signal) },
  { name: "edge", run: (signal) => edge(subject, signal) },
  { name: "trainer", run: (signal) => trainer(subject, signal) },
  { name: "edge to trainer", run: (signal) => edgeToTrainer(subject, signal) },
  { name: "egress address", run: (signal) => egress(subject, signal) },
];

async function bucket(subject: Subject): Promise<Outcome> {
  const { objectsFolder, store, settingsPlace } = subject;
  if (objectsFolder !== null) {
    const code = await access(objectsFolder, constants.R_OK | constants.W_OK).then(
      () => null,
      (error: NodeJS.ErrnoException) => error.code,
    );
    if (code === null) return ok(`${objectsFolder} can be written.`);
    if (code === "ENOENT")
      return warning(`${objectsFolder} does not exist yet.`, `${subject.startCommand} creates it.`);
    return fault(`${objectsFolder} cannot be written (${code}).`, "Give it to the user of the service.");
  }
  const remedy = `Check endpoint, bucket and its key in ${settingsPlace}: the key must read, write and list objects.`;
  try {
    await store.delete(PROBE_KEY);
    const written = await store.swap(PROBE_KEY, new TextEncoder().encode("written by npm run doctor"), null);
    const again = await store.swap(PROBE_KEY, new TextEncoder().encode("written twice"), null);
    await store.delete(PROBE_KEY);
    for await (const _ of store.list(PROBE_KEY)) break;
    if (written !== undefined && again === undefined) return ok("It reads, writes and lists, and keeps conditions.");
    const finding = "The store ignores the condition If-None-Match, so two trainers could overwrite each other.";
    return fault(finding, "Use a store with conditional writes, such as R2, S3 or a recent MinIO.");
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return fault(error.message, remedy);
  }
}

/** Compares with the clock of the bucket, or of whoever answers at the public address. */
async function clock({ bucket, publicUrl, edgeUrl }: Subject, signal: AbortSignal): Promise<Outcome> {
  const startedMs = Date.now();
  const date = await dateHeader().catch(() => undefined);
  if (date === undefined) return ok("No other machine was there to compare the clock with.");
  const nowMs = (startedMs + Date.now()) / 2;
  const seconds = Math.round((nowMs - Date.parse(date) - 500) / 1000); // the header has whole seconds
  const finding = `This machine's clock is ${Math.abs(seconds)} s ${seconds < 0 ? "behind" : "ahead"}.`;
  const remedy = "Synchronise the clock, for example with timedatectl set-ntp true.";
  if (Math.abs(seconds) >= FORWARD_WINDOW_SECONDS) return fault(finding, remedy);
  return Math.abs(seconds) >= CLOCK_SECONDS_WARN ? warning(finding, remedy) : ok("The clock is right.");

  async function dateHeader(): Promise<string | undefined> {
    if (bucket !== null) {
      const send = s3Request({ ...bucket, attempts: 1, deadlineMs: 4000, signal });
      const query = { "list-type": "2", "max-keys": "1" };
      return (await send({ method: "GET", key: "", query })).headers.get("date") ?? undefined;
    }
    if (publicUrl === edgeUrl) return undefined;
    return (await fetch(`${publicUrl}/health/live`, { signal })).headers.get("date") ?? undefined;
  }
}

/** Both the address of this machine and that of callers. */
async function edge({ edgeUrl, publicUrl, startCommand, port }: Subject, signal: AbortSignal): Promise<Outcome> {
  const here = await statusOf(`${edgeUrl}/health/ready`, signal);
  if (typeof here === "string") {
    const remedy = port === null ? "Deploy the Worker, and check SHORTLIST_EDGE_URL." : `Start it: ${startCommand}.`;
    return fault(`The edge does not answer at ${edgeUrl} (${here}).`, remedy);
  }
  if (here === 503)
    return fault("The edge answers, but cannot read its bucket.", "Check its binding MODELS, or the bucket's key.");
  if (here !== 200) return fault(`Something else answers at ${edgeUrl} (${here}).`, "Check the edge's address.");
  if (publicUrl !== edgeUrl) {
    const outside = await statusOf(`${publicUrl}/health/ready`, signal);
    if (outside !== 200)
      return fault(`The public address ${publicUrl} does not lead to the edge (${outside}).`, "Check proxy and DNS.");
  }
  return ok(`It answers at ${publicUrl}.`);
}

async function trainer({ trainerUrl, startCommand }: Subject, signal: AbortSignal): Promise<Outcome> {
  const status = trainerUrl === null ? "never started" : await statusOf(`${trainerUrl}/health/ready`, signal);
  if (status === 200) return ok("It answers, and so does its database.");
  if (status === 503)
    return fault("The trainer answers, but its database does not.", "Check DATABASE_URL, and the trainer's log.");
  return fault(`The trainer does not answer (${status}).`, `Start it: ${startCommand}. Ranking goes on without it.`);
}

/** A call through the edge to the trainer and back. */
async function edgeToTrainer(subject: Subject, signal: AbortSignal): Promise<Outcome> {
  const { edgeUrl, apiKey, port } = subject;
  if (apiKey === undefined) return withoutKey(port !== null);
  const headers = { "x-api-key": apiKey };
  const status = await statusOf(`${edgeUrl}/v0/models?limit=1`, signal, headers);
  if (status === 200) return ok("The edge reaches the trainer, and both have the same secret.");
  if (status === 401 || status === 403)
    return fault(`The edge refuses the API key (${status}).`, "Issue another: npm run keys -- issue --customer NAME.");
  const place = port === null ? "TRAINER_URL and FORWARD_SECRET of the Worker" : "the log of npm run serve";
  const remedy = `Start the trainer; then check ${place}, and that both have the same FORWARD_SECRET.`;
  return fault(`The edge does not reach the trainer (${status}).`, remedy);
}

/** Customers let these addresses through their firewalls. Cloudflare says by which address it was called. */
async function egress({ egressAddresses, edgeUrl }: Subject, signal: AbortSignal): Promise<Outcome> {
  if (egressAddresses === null) return ok("The sources are reached from this machine.");
  const answer = await fetch(`${edgeUrl}/cdn-cgi/trace`, { signal }).catch(() => undefined);
  const address = /^ip=(\S+)$/m.exec((await answer?.text().catch(() => "")) ?? "")?.[1];
  const remedy = `Set SHORTLIST_EGRESS_ADDRESSES to ${address ?? "the address of this machine"}, and tell the customers.`;
  if (egressAddresses.length === 0) return warning("No egress address is set, so keys are printed without.", remedy);
  if (address === undefined) return ok(`Set to ${egressAddresses.join(", ")}; nobody was there to confirm it.`);
  if (egressAddresses.includes(address)) return ok(`${address}, as set.`);
  return warning(`Calls leave from ${address}, which SHORTLIST_EGRESS_ADDRESSES does not name.`, remedy);
}

/** The answer's status, or why there is none. */
async function statusOf(url: string, signal: AbortSignal, headers: Record<string, string> = {}) {
  try {
    const response = await fetch(url, { headers, signal });
    await response.body?.cancel();
    return response.status;
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } };
    return cause?.code ?? message;
  }
}
