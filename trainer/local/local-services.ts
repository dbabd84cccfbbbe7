import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { startChild } from "./child-service.ts";
import { freePort, tryPort } from "./free-port.ts";
import { LocalError } from "./local-error.ts";
import { LOCAL_CUSTOMER } from "./local-state.ts";
import type { StartOptions } from "./start-flags.ts";

export type ServiceOptions = Pick<StartOptions, "state" | "edgePort" | "trainerPort"> & {
  /** Folders that the File connectors of the customer `local` may read. */
  readonly folders: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/** The running edge and trainer. */
export type LocalServices = Awaited<ReturnType<typeof startServices>>;

/** Default time budget for choosing a model, since a user is waiting. The environment can override it. */
const FIT_SECONDS = "45";

/** Starts edge and trainer, which share a new secret. If one of them fails, both are stopped. */
export async function startServices({ state, folders, ...options }: ServiceOptions) {
  const edgePort = await usablePort(options.edgePort, "--edge-port");
  const trainerPort = await usablePort(options.trainerPort, "--trainer-port");
  const [edgeUrl, trainerUrl] = [`http://127.0.0.1:${edgePort}`, `http://127.0.0.1:${trainerPort}`];
  await mkdir(join(state, "logs"), { recursive: true });
  const logOf = (name: string) => join(state, "logs", `${name}.log`);
  // Without the operator's bucket, the trainer uses the one of the local edge.
  const inherited = Object.entries(options.environment).filter(([name]) => !name.startsWith("SHORTLIST_S3_"));
  const environment = {
    NODE_COMPILE_CACHE: join(state, "compiled"), // makes later starts faster
    ...Object.fromEntries(inherited),
    FORWARD_SECRET: randomBytes(32).toString("hex"),
  };

  const edge = startChild({
    name: "edge",
    program: join(import.meta.dirname, "edge-process.ts"),
    args: [String(edgePort), join(state, "r2")],
    logPath: logOf("edge"),
    env: {
      ...environment,
      TRAINER_URL: trainerUrl,
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_LOG_PATH: join(state, "logs"),
      // The caller's location is not used, and looking it up takes time without a network.
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
    },
  });
  const trainer = startChild({
    name: "trainer",
    program: join(import.meta.dirname, "../main.ts"),
    flags: ["--liftoff-only"], // as in `npm run train`
    logPath: logOf("trainer"),
    env: {
      SHORTLIST_FIT_SECONDS: FIT_SECONDS,
      ...environment,
      SHORTLIST_STATE_DIR: join(state, "trainer"),
      SHORTLIST_TRAINER_HOST: "127.0.0.1",
      SHORTLIST_TRAINER_PORT: String(trainerPort),
      SHORTLIST_EDGE_URL: edgeUrl,
      SHORTLIST_FILE_ROOTS: JSON.stringify({ [LOCAL_CUSTOMER]: folders }),
      SHORTLIST_OPERATOR: LOCAL_CUSTOMER,
      DATABASE_URL: "",
    },
  });
  /** Rejects if edge or trainer exits unexpectedly; never resolves. */
  const failed = Promise.race([edge.failed, trainer.failed]);
  const stop = async (graceMs: number) => {
    await trainer.stop(graceMs); // first, since it publishes through the edge
    await edge.stop(graceMs);
  };
  try {
    await Promise.race([failed, Promise.all([edge.ready, trainer.ready])]);
    return { edgeUrl, trainerUrl, failed, stop };
  } catch (error) {
    await stop(0);
    throw error;
  }
}

/**
 * Returns `wanted`, or a free port for 0.
 *
 * @param flag The command line flag that sets this port, named in the error.
 * @throws LocalError if the port is in use or not allowed.
 */
async function usablePort(wanted: number, flag: string): Promise<number> {
  if (wanted === 0) return freePort();
  await tryPort(wanted).catch((cause: NodeJS.ErrnoException) => {
    const remedy = `choose another one with ${flag} PORT (0: any free port)`;
    throw new LocalError(`Port ${wanted} cannot be used (${cause.code}): ${remedy}.`, { cause });
  });
  return wanted;
}
