import { mkdir } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { type ChildService, startChild } from "./child-service.ts";
import type { EdgeOptions } from "./edge-process.ts";
import { LocalError } from "./local-error.ts";
import { LOCAL_BUCKET, LOCAL_CUSTOMER, type LocalSecrets, localS3 } from "./local-state.ts";

export type ServiceOptions = {
  readonly state: string;
  readonly edgePort: number;
  readonly trainerPort: number;
  readonly secrets: LocalSecrets;
  /** Folders that the File connectors of the customer `local` may read. */
  readonly folders: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/** The running edge and trainer. */
export type LocalServices = {
  readonly edgeUrl: string;
  readonly trainerUrl: string;
  /** Rejects if edge or trainer exits unexpectedly; never resolves. */
  readonly failed: Promise<never>;
  /** Stops the trainer first, since it publishes through the edge. With `graceMs` 0 both are killed at once. */
  stop(graceMs: number): Promise<void>;
};

const ROOT = join(import.meta.dirname, "../..");
const READY_MS = 180_000; // generous for a busy machine; an exit is noticed at once
const POLL_MS = 50;
/**
 * `end-with-parent.ts`: a trainer that outlives its parent would block the database for the next start. `--liftoff-only` compiles
 * WebAssembly with V8's baseline compiler only. The embedded Postgres then starts with 0.8 s less CPU and 90 MB less memory, and
 * queries are as fast.
 */
const TRAINER_FLAGS = ["--import", new URL("./end-with-parent.ts", import.meta.url).href, "--liftoff-only"];
/** Default time budget for choosing a model, since a user is waiting. The environment can override it. */
const FIT_SECONDS = "60";

/** Starts edge and trainer. If one of them fails, both are stopped. */
export async function startServices(options: ServiceOptions): Promise<LocalServices> {
  const edgePort = await freePort(options.edgePort, "--edge-port");
  const trainerPort = await freePort(options.trainerPort, "--trainer-port");
  await mkdir(join(options.state, "logs"), { recursive: true });
  const [edgeUrl, trainerUrl] = [addressOf(edgePort), addressOf(trainerPort)];
  const children: ChildService[] = [];
  const waiting = new AbortController();
  const stop = async (graceMs: number) => {
    for (const child of children.toReversed()) await child.stop(graceMs);
  };
  try {
    // Both start at the same time; the trainer retries until its bucket answers.
    const edge = startEdge(options, { edgePort, trainerUrl });
    children.push(edge);
    const trainer = startTrainer(options, { edgeUrl, trainerPort });
    children.push(trainer);
    const failed = Promise.race([edge.failed, trainer.failed]);
    failed.catch(() => undefined);
    const ready = (name: ServiceName, url: string) =>
      Promise.race([answers(url, waiting.signal), late(name, logOf(options, name))]);
    // The message of the edge's process proves that no other program has taken its port meanwhile.
    const bothReady = Promise.all([
      edge.message(),
      ready("edge", `${edgeUrl}/health/live`),
      ready("trainer", `${trainerUrl}/health/ready`),
    ]);
    const [message] = await Promise.race([failed, bothReady]);
    if ((message as { url: string }).url !== edgeUrl)
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
  { state, secrets, environment }: ServiceOptions,
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
      NODE_COMPILE_CACHE: compileCache(state),
      ...environment,
      LOCAL_EDGE: JSON.stringify(edge),
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_LOG_PATH: join(state, "logs"),
      // The caller's location is not used, and looking it up takes time without a network.
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
    },
  });
}

function startTrainer(
  { state, secrets, folders, environment }: ServiceOptions,
  { edgeUrl, trainerPort }: { readonly edgeUrl: string; readonly trainerPort: number },
): ChildService {
  const s3 = localS3(edgeUrl, secrets);
  return startChild({
    name: "trainer",
    program: join(ROOT, "trainer/main.ts"),
    flags: TRAINER_FLAGS,
    cwd: ROOT,
    logPath: logOf({ state }, "trainer"),
    env: {
      SHORTLIST_FIT_SECONDS: FIT_SECONDS,
      NODE_COMPILE_CACHE: compileCache(state),
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

type ServiceName = "edge" | "trainer";
const logOf = ({ state }: Pick<ServiceOptions, "state">, name: ServiceName) => join(state, "logs", `${name}.log`);
const addressOf = (port: number) => `http://127.0.0.1:${port}`;

/** Folder of Node's compile cache, which makes later starts faster. */
const compileCache = (state: string) => join(state, "compiled");

/** Resolves once the address answers with success. */
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

/** Rejects when the service has not become ready in time. */
const late = (name: ServiceName, logPath: string) =>
  new Promise<never>((_, reject) =>
    setTimeout(
      () => reject(new LocalError(`The ${name} was not ready within ${READY_MS / 1000} s; its log is ${logPath}.`)),
      READY_MS,
    ).unref(),
  );

/**
 * Finds a loopback port on which nobody listens: `wanted`, or any port for 0.
 *
 * @param flag The command line flag that sets this port, named in the error.
 * @throws LocalError if the port is in use or not allowed.
 */
function freePort(wanted: number, flag: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const reason = cause.code === "EADDRINUSE" ? "is in use" : `cannot be listened on (${cause.code})`;
      const remedy = `stop the program that uses it, or choose another port with ${flag} PORT (0 takes any free one)`;
      reject(new LocalError(`Port ${wanted} ${reason}: ${remedy}.`, { cause }));
    });
    server.listen({ port: wanted, host: "127.0.0.1", exclusive: true }, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
