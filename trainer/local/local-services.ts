import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type ChildService, startChild } from "./child-service.ts";
import type { EdgeOptions } from "./edge-process.ts";
import { freePort } from "./free-port.ts";
import { LocalError } from "./local-error.ts";
import { LOCAL_BUCKET, LOCAL_CUSTOMER, type LocalSecrets, localS3 } from "./local-state.ts";

export type ServicesOptions = {
  readonly state: string;
  readonly edgePort: number;
  readonly trainerPort: number;
  readonly secrets: LocalSecrets;
  /** Folders that the customer `local` may read. */
  readonly folders: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/** Edge and trainer, up and answering. */
export type LocalServices = {
  readonly edgeUrl: string;
  readonly trainerUrl: string;
  /** Rejects when a part ends by itself; never resolves. */
  readonly failed: Promise<never>;
  /** The trainer first, since it publishes through the edge; with `graceMs` 0 each is ended at once. */
  stop(graceMs: number): Promise<void>;
};

const ROOT = join(import.meta.dirname, "../..");
const READY_MS = 180_000; // a machine may be busy; a part that fails is noticed at once
const POLL_MS = 50;
/**
 * V8's quick compiler alone for WebAssembly: the embedded Postgres starts with .8 s less of CPU and takes 90 MB less. A query
 * takes as long after a thousand of them, less before.
 */
const QUICK_DATABASE = ["--liftoff-only"];
/** For choosing and fitting a model: somebody is waiting. The environment may say otherwise. */
const FIT_SECONDS = "60";

/** Brings up both parts. When one fails, nothing is left running. */
export async function startServices(options: ServicesOptions): Promise<LocalServices> {
  const edgePort = await freePort(options.edgePort, "--edge-port");
  const trainerPort = await freePort(options.trainerPort, "--trainer-port");
  await mkdir(join(options.state, "logs"), { recursive: true });
  const [edgeUrl, trainerUrl] = [addressOf(edgePort), addressOf(trainerPort)];
  const parts: ChildService[] = [];
  const waiting = new AbortController();
  const stop = async (graceMs: number) => {
    for (const part of parts.toReversed()) await part.stop(graceMs);
  };
  try {
    // Side by side: each takes some seconds to start, and a trainer tries again where its bucket does not answer yet.
    const edge = startEdge(options, { edgePort, trainerUrl });
    parts.push(edge);
    const trainer = startTrainer(options, { edgeUrl, trainerPort });
    parts.push(trainer);
    const failed = Promise.race([edge.failed, trainer.failed]);
    failed.catch(() => undefined);
    const ready = (name: Part, url: string) =>
      Promise.race([answers(url, waiting.signal), late(name, logOf(options, name))]);
    // That the edge's own process says so keeps a stranger, who took its port meanwhile, from being taken for it.
    const bothReady = Promise.all([
      edge.message(),
      ready("edge", `${edgeUrl}/health/live`),
      ready("trainer", `${trainerUrl}/health/ready`),
    ]);
    const [said] = await Promise.race([failed, bothReady]);
    if ((said as { url: string }).url !== edgeUrl)
      throw new LocalError(`Port ${edgePort} was taken while the edge started: start again.`);
    return { edgeUrl, trainerUrl, failed, stop };
  } catch (error) {
    await stop(0);
    throw error;
  } finally {
    waiting.abort();
  }
}

function startEdge(
  { state, secrets, environment }: ServicesOptions,
  { edgePort, trainerUrl }: { readonly edgePort: number; readonly trainerUrl: string },
): ChildService {
  const edge: EdgeOptions = {
    config: join(ROOT, "wrangler.toml"),
    port: edgePort,
    persist: join(state, "r2"),
    bucket: LOCAL_BUCKET,
    s3AccessKeyId: secrets.s3_access_key_id,
    s3SecretAccessKey: secrets.s3_secret_access_key,
    vars: { TRAINER_URL: trainerUrl },
    secrets: { FORWARD_SECRET: secrets.forward_secret },
  };
  return startChild({
    name: "edge",
    program: join(import.meta.dirname, "edge-process.ts"),
    cwd: ROOT,
    logPath: logOf({ state }, "edge"),
    env: {
      NODE_COMPILE_CACHE: compiledIn(state),
      ...environment,
      LOCAL_EDGE: JSON.stringify(edge),
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_LOG_PATH: join(state, "logs"),
      // Where a visitor comes from plays no part here, and asking for it takes time without a network.
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
    },
  });
}

function startTrainer(
  { state, secrets, folders, environment }: ServicesOptions,
  { edgeUrl, trainerPort }: { readonly edgeUrl: string; readonly trainerPort: number },
): ChildService {
  const s3 = localS3(edgeUrl, secrets);
  return startChild({
    name: "trainer",
    program: join(ROOT, "trainer/main.ts"),
    // A trainer whose parent is gone would keep the database from the next start.
    preload: [join(import.meta.dirname, "end-with-parent.ts")],
    flags: QUICK_DATABASE,
    cwd: ROOT,
    logPath: logOf({ state }, "trainer"),
    env: {
      SHORTLIST_FIT_SECONDS: FIT_SECONDS,
      NODE_COMPILE_CACHE: compiledIn(state),
      ...environment,
      SHORTLIST_STATE_DIR: join(state, "trainer"),
      SHORTLIST_TRAINER_HOST: "127.0.0.1",
      SHORTLIST_TRAINER_PORT: String(trainerPort),
      SHORTLIST_EDGE_URL: edgeUrl,
      SHORTLIST_S3_ENDPOINT: s3.endpoint,
      SHORTLIST_S3_BUCKET: s3.bucket,
      SHORTLIST_S3_ACCESS_KEY_ID: s3.accessKeyId,
      SHORTLIST_S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
      SHORTLIST_FILE_ROOTS: JSON.stringify({ [LOCAL_CUSTOMER]: folders }),
      FORWARD_SECRET: secrets.forward_secret,
      DATABASE_URL: "",
    },
  });
}

type Part = "edge" | "trainer";
const logOf = ({ state }: Pick<ServicesOptions, "state">, name: Part) => join(state, "logs", `${name}.log`);
const addressOf = (port: number) => `http://127.0.0.1:${port}`;

/** Where Node keeps what it has compiled: every later process of the same program starts in less time. */
const compiledIn = (state: string) => join(state, "compiled");

/** Once the address answers with success. */
async function answers(url: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const isUp = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(5000)]) }).then(
      (response) => response.ok,
      () => false,
    );
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

const late = (name: Part, logPath: string) =>
  new Promise<never>((_, reject) =>
    setTimeout(
      () => reject(new LocalError(`The ${name} was not ready within ${READY_MS / 1000} s; its log is ${logPath}.`)),
      READY_MS,
    ).unref(),
  );
