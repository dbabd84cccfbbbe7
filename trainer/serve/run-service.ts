import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Scope } from "../../shared/key-record.ts";
import { freePort, tryPort } from "../local/free-port.ts";
import { LocalError } from "../local/local-error.ts";
import { callService } from "../local/service-client.ts";
import type { Log } from "../log/log.ts";
import { openMetrics, serveMetrics } from "../log/metrics.ts";
import { lockState } from "../manage/state-lock.ts";
import type { StoreAccess } from "../settings.ts";
import { issueKey } from "../store/key-store.ts";
import { openObjectServer } from "../store/object-server.ts";
import { s3Store } from "../store/s3-store.ts";
import { callCounter } from "./call-metrics.ts";
import { type FrontOptions, openFront } from "./front-server.ts";
import { type KeptRunning, keepRunning, type Program } from "./kept-running.ts";
import { BUCKET, placesIn, readServeSettings, type ServeSettings } from "./serve-settings.ts";
import { bucketAccess } from "./service-parts.ts";
import { bundleWorker, openBundle, type WorkerBundle } from "./worker-bundle.ts";
import { workerdConfig } from "./workerd-config.ts";

type World = { readonly print: (line: string) => void; readonly signal: AbortSignal };

const TRAINER_GRACE_MS = 20_000;
const WORKER_GRACE_MS = 3_000;
const SCRAPE_MS_MAX = 5_000;
/** The Worker's variables for a store and processes on this machine; `environment` of the settings replaces them. */
const WORKER_VARIABLES = { READ_TIMEOUT_MS: 5000 };

/**
 * Runs the service until the signal is aborted: bucket → Worker's processes → trainer → public socket → first key. Rejects with LocalError
 * if a part ends again and again.
 */
export async function runService(dir: string, { print, signal }: World): Promise<void> {
  const settings = await readServeSettings(dir);
  const places = placesIn(dir);
  for (const folder of [places.durable, places.run]) await mkdir(folder, { recursive: true, mode: 0o700 });
  await tryPort(settings.port).catch((cause: NodeJS.ErrnoException) => {
    throw new LocalError(`Port ${settings.port} cannot be used (${cause.code}): change it in ${places.settings}.`, {
      cause,
    });
  });
  const lock = await lockState(places.run);
  const closing: (() => unknown)[] = [() => lock.release()];
  try {
    const access = await storeAccess(dir, settings, closing);
    const bundle = await bundleOf(join(places.run, "edge"), print);
    const trainerPort = await freePort();
    const workers = await startWorkers({ dir, settings, access, bundle, trainerPort, print });
    closing.push(() => Promise.all(workers.programs.map((worker) => worker.stop(WORKER_GRACE_MS))));
    const metrics = await serviceMetrics(settings, { print, closing });
    const trainer = keepRunning(trainerProgram(dir, settings, { access, trainerPort, metrics }), print);
    closing.push(() => trainer.stop(TRAINER_GRACE_MS));
    const programs = [...workers.programs, trainer];
    const failed = Promise.race(programs.map((program) => program.failed));
    await Promise.race([failed, Promise.all(programs.map((program) => program.ready))]);
    const { host, port } = settings;
    const front = await openFront({ host, port, workers: workers.ports, pages: bundle.pages, ...metrics?.front });
    closing.push(() => front.close());
    await writeFile(places.running, JSON.stringify({ trainer_url: `http://127.0.0.1:${trainerPort}` }));
    await writeLocal(dir, { settings, access, signal });
    print(`Up on ${urlOf(settings)}. The first customer's key is in ${places.local}.`);
    await Promise.race([failed, signal.aborted || once(signal, "abort")]);
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

const urlOf = ({ public_url, host, port }: ServeSettings) =>
  public_url ?? `http://${host === "0.0.0.0" ? "127.0.0.1" : host}:${port}`;

/** The bucket: the operator's, or files in the service's folder behind a server of loopback. */
async function storeAccess(dir: string, settings: ServeSettings, closing: (() => unknown)[]): Promise<StoreAccess> {
  const access = bucketAccess(settings);
  if (access) return access;
  const accessKeyId = settings.internal_secret;
  const server = await openObjectServer({ folder: placesIn(dir).objects, bucket: BUCKET, accessKeyId });
  closing.push(() => server.close());
  return { endpoint: server.endpoint, bucket: BUCKET, accessKeyId, secretAccessKey: accessKeyId };
}

/** The bundle that the image contains, or a new one of this checkout. */
async function bundleOf(folder: string, print: World["print"]): Promise<WorkerBundle> {
  const made = process.env.SHORTLIST_EDGE_BUNDLE;
  if (made) return await openBundle(made);
  print("Building the Worker.");
  return await bundleWorker(folder);
}

type Workers = {
  readonly dir: string;
  readonly settings: ServeSettings;
  readonly access: StoreAccess;
  readonly bundle: WorkerBundle;
  readonly trainerPort: number;
  readonly print: (line: string) => void;
};

/** Starts the Worker's processes. The first one has the Durable Objects. */
async function startWorkers({ dir, settings, access, bundle, trainerPort, print }: Workers) {
  const places = placesIn(dir);
  const command = createRequire(import.meta.url)("workerd").default as string;
  const ports: number[] = [];
  while (ports.length < settings.workers) {
    const port = await freePort();
    if (port !== trainerPort && !ports.includes(port)) ports.push(port);
  }
  const programs: KeptRunning[] = [];
  for (const [i, port] of ports.entries()) {
    const path = join(places.run, `workerd-${i}.capnp`);
    const variables = {
      ...WORKER_VARIABLES,
      ...workerVariables(bundle, settings),
      TRAINER_URL: `http://127.0.0.1:${trainerPort}`,
      OBJECT_HOME: i === 0 ? "" : `http://127.0.0.1:${ports[0]}`,
    };
    const secrets = ["S3", "FORWARD_SECRET", "OBJECT_SECRET"];
    const durable = i === 0 ? places.durable : null;
    await writeFile(path, workerdConfig({ folder: places.run, bundle, port, durable, variables, secrets }), {
      mode: 0o600,
    });
    const env = {
      PATH: process.env.PATH,
      S3: JSON.stringify(access),
      FORWARD_SECRET: settings.forward_secret,
      OBJECT_SECRET: settings.internal_secret,
    };
    const name = `worker ${i}`;
    const program = { name, command, args: ["serve", path], env, port };
    programs.push(keepRunning(program, print));
  }
  return { ports, programs };
}

/** The settings' variables that wrangler.toml has too. */
const workerVariables = ({ vars }: WorkerBundle, { environment }: ServeSettings) =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => Object.hasOwn(vars, name)));

type ServiceMetrics = { readonly trainerPort: number; readonly front: Pick<FrontOptions, "onAnswer"> };

/** Answers `/metrics` on the port of the settings, with the trainer's metrics and those of the public socket; undefined: no metrics. */
async function serviceMetrics(
  { host, metrics_port: port }: ServeSettings,
  { print, closing }: Pick<World, "print"> & { readonly closing: (() => unknown)[] },
): Promise<ServiceMetrics | undefined> {
  if (port === null) return undefined;
  const metrics = await openMetrics();
  const trainerPort = await freePort();
  const ofTrainer = async () => {
    const answer = await fetch(`http://127.0.0.1:${trainerPort}/metrics`, {
      signal: AbortSignal.timeout(SCRAPE_MS_MAX),
    });
    return await answer.text();
  };
  const log: Log = (entry) => print(JSON.stringify(entry));
  const server = await serveMetrics({ host, port, texts: [metrics.text, ofTrainer], log });
  closing.push(() => server.close());
  return { trainerPort, front: { onAnswer: callCounter(metrics.meter) } };
}

type TrainerAccess = {
  readonly access: StoreAccess;
  readonly trainerPort: number;
  readonly metrics: ServiceMetrics | undefined;
};

function trainerProgram(
  dir: string,
  settings: ServeSettings,
  { access, trainerPort, metrics }: TrainerAccess,
): Program {
  const places = placesIn(dir);
  const { customer, data_roots, environment } = settings;
  const given = Object.entries(environment).map(([name, value]) => [name, String(value)]);
  return {
    name: "trainer",
    command: process.execPath,
    args: ["--no-warnings", "--liftoff-only", join(import.meta.dirname, "../main.ts")],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      SHORTLIST_FILE_ROOTS: JSON.stringify({ [customer]: data_roots }),
      SHORTLIST_OPERATOR: customer,
      ...Object.fromEntries(given),
      FORWARD_SECRET: settings.forward_secret,
      SHORTLIST_EDGE_URL: urlOf(settings),
      SHORTLIST_STATE_DIR: places.trainer,
      SHORTLIST_TRAINER_HOST: "127.0.0.1",
      SHORTLIST_TRAINER_PORT: String(trainerPort),
      SHORTLIST_S3_ENDPOINT: access.endpoint,
      SHORTLIST_S3_BUCKET: access.bucket,
      SHORTLIST_S3_ACCESS_KEY_ID: access.accessKeyId,
      SHORTLIST_S3_SECRET_ACCESS_KEY: access.secretAccessKey,
      ...(metrics && { SHORTLIST_METRICS_PORT: String(metrics.trainerPort) }),
      ...(access.region && { SHORTLIST_S3_REGION: access.region }),
    },
    port: trainerPort,
  };
}

type Local = { readonly settings: ServeSettings; readonly access: StoreAccess; readonly signal: AbortSignal };

/** Writes local.json. The key stays the same as long as the operator keeps the file and the key is valid. */
async function writeLocal(dir: string, { settings, access, signal }: Local): Promise<void> {
  const path = placesIn(dir).local;
  const known = await readFile(path, "utf8").then(
    (text) => (JSON.parse(text) as { api_key?: string }).api_key,
    () => undefined,
  );
  const edgeUrl = urlOf(settings);
  const isValid = async (apiKey: string) => {
    const service = { edgeUrl: `http://127.0.0.1:${settings.port}`, apiKey, signal };
    return (await callService(service, "GET", "/v0/models?limit=1")).status === 200;
  };
  const issue = async () => {
    const request = { customer: settings.customer, scopes: Scope.options, expiresAtMs: null };
    const store = s3Store({ ...access, signal });
    return (await issueKey(store, { ...request, nowMs: Date.now(), random: randomBytes })).key;
  };
  const api_key = known !== undefined && (await isValid(known)) ? known : await issue();
  await writeFile(`${path}.new`, `${JSON.stringify({ edge_url: edgeUrl, api_key }, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
