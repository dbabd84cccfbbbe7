/** What `npm run doctor` looks at. Each check is independent, bounded in time, and has a remedy for what it finds. */
import { access, constants, stat, statfs } from "node:fs/promises";
import { totalmem } from "node:os";
import { z } from "zod";
import { PRODUCT_VERSION } from "../../shared/product.ts";
import { tryPort } from "../local/free-port.ts";
import { callService, expectStatus } from "../local/service-client.ts";
import type { StoreAccess } from "../settings.ts";
import { s3Store } from "../store/s3-store.ts";

export type Finding = {
  readonly state: "ok" | "warning" | "fault";
  readonly finding: string;
  readonly remedy?: string;
};
export type Check = { readonly name: string; readonly run: (signal: AbortSignal) => Promise<Finding> };
export type Checked = Finding & { readonly name: string };

const CHECK_MS_MAX = 10_000;
const NODE_MIN = [22, 18] as const;
const GB = 1e9;
const DISK_WARNING = 10 * GB;
/** A run and the processes beside it need this much more than the run's limit. */
const BESIDE_RUN_MB = 1000;
const CLOCK_SECONDS_MAX = 30;
const HOUR_MS = 3_600_000;
const STALE_DAYS = 8;
const MODELS_MAX = 100;

/** Findings, each with its remedy. */
export const ok = (finding: string): Finding => ({ state: "ok", finding });
export const warning = (finding: string, remedy: string): Finding => ({ state: "warning", finding, remedy });
export const fault = (finding: string, remedy: string): Finding => ({ state: "fault", finding, remedy });
const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Runs all checks at once. One that fails or takes too long is a fault of its own. */
export const runChecks = (checks: readonly Check[]): Promise<Checked[]> =>
  Promise.all(
    checks.map(async ({ name, run }) => {
      const signal = AbortSignal.timeout(CHECK_MS_MAX);
      const late = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      const finding = await Promise.race([run(signal), late]).catch((error: unknown) =>
        fault(`could not be checked: ${reasonOf(error)}`, "Look at the log of the service."),
      );
      return { name, ...finding };
    }),
  );

export const checkNode: Check = {
  name: "node",
  run: async () => {
    const [major, minor] = process.versions.node.split(".").map(Number) as [number, number];
    const isNew = major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1]);
    if (isNew) return ok(`Node ${process.versions.node}`);
    return fault(
      `Node ${process.versions.node} is too old`,
      `Use Node ${NODE_MIN.join(".")} or newer; npm ci brings one.`,
    );
  },
};

export const checkMemory = (runMemoryMb: number): Check => ({
  name: "memory",
  run: async () => {
    const [haveMb, needMb] = [Math.round(totalmem() / 2 ** 20), runMemoryMb + BESIDE_RUN_MB];
    if (haveMb >= needMb) return ok(`${haveMb} MB, and a run may take ${runMemoryMb} MB`);
    const remedy = `Set SHORTLIST_RUN_MEMORY_MB to ${Math.max(512, haveMb - BESIDE_RUN_MB)} or less, or use a larger machine.`;
    return warning(`${haveMb} MB, but a run may take ${runMemoryMb} MB beside the service`, remedy);
  },
});

export const checkDisk = (folder: string, reserveBytes: number): Check => ({
  name: "disk",
  run: async () => {
    await access(folder, constants.W_OK);
    const { bavail, bsize } = await statfs(folder);
    const free = `${((bavail * bsize) / GB).toFixed(1)} GB free at ${folder}`;
    const remedy = "Free space, or move the folder to a larger disk.";
    if (bavail * bsize < reserveBytes) return fault(`${free}: no training starts`, remedy);
    return bavail * bsize < DISK_WARNING ? warning(free, remedy) : ok(free);
  },
});

/** The settings have secrets. */
export const checkSecrets = (path: string): Check => ({
  name: "secrets",
  run: async () => {
    const mode = (await stat(path)).mode & 0o777;
    if ((mode & 0o077) === 0) return ok(`only its owner can read ${path}`);
    return fault(`others can read ${path}, which has secrets`, `chmod 600 ${path}`);
  },
});

export const checkFolders = (folders: readonly string[]): Check => ({
  name: "data folders",
  run: async () => {
    const isReadable = (folder: string) =>
      access(folder, constants.R_OK | constants.X_OK).then(
        () => true,
        () => false,
      );
    const readable = await Promise.all(folders.map(isReadable));
    const missing = folders.filter((_, i) => !readable[i]);
    if (missing.length === 0) return ok(`${folders.length} readable`);
    return fault(
      `cannot be read: ${missing.join(", ")}`,
      "Create the folder, or take it out of data_roots in settings.json.",
    );
  },
});

/** A service that does not run needs its port; one that runs answers on it. */
export const checkPort = (port: number, isRunning: boolean): Check => ({
  name: "port",
  run: async () => {
    const code = await tryPort(port).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    );
    if (isRunning) return ok(`the service runs on port ${port}`);
    if (code === undefined) return ok(`port ${port} is free`);
    return fault(
      `port ${port} cannot be used (${code})`,
      "Stop the program that uses it, or change port in settings.json.",
    );
  },
});

export const checkBucket = (options: StoreAccess): Check => ({
  name: "bucket",
  run: async (signal) => {
    const startedMs = performance.now();
    await s3Store({ ...options, signal, attempts: 1 }).head("health");
    return ok(`${options.bucket} answers in ${Math.round(performance.now() - startedMs)} ms`);
  },
});

/** Signatures are refused by clocks that differ. The bucket tells its own. */
export const checkClock = (url: string, nowMs: () => number): Check => ({
  name: "clock",
  run: async (signal) => {
    const { headers } = await fetch(url, { method: "HEAD", signal });
    const date = headers.get("date");
    if (date === null) return ok("not compared, since the bucket tells no time");
    const seconds = Math.round((nowMs() - Date.parse(date)) / 1000);
    if (Math.abs(seconds) <= CLOCK_SECONDS_MAX) return ok(`within ${Math.abs(seconds)} s of the bucket's`);
    return fault(
      `${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the bucket's`,
      "Let the machine keep its time by NTP.",
    );
  },
});

export const checkHealth = (name: string, url: string): Check => ({
  name,
  run: async (signal) => {
    const remedy = "Start the service, and look at its log.";
    const answer = await fetch(`${url}/health/ready`, { signal }).catch((error: unknown) => reasonOf(error));
    if (typeof answer === "string") return fault(`${url} does not answer: ${answer}`, remedy);
    return answer.ok ? ok(`${url} is ready`) : fault(`${url} is not ready: ${await answer.text()}`, remedy);
  },
});

/** The records are saved to the bucket every `hours`. */
export const checkBackup = (options: StoreAccess, hours: number, nowMs: () => number): Check => ({
  name: "backup",
  run: async (signal) => {
    const remedy = "Run npm run backup, and look for backup_failed in the trainer's log.";
    if (hours === 0) return warning("records are not saved (SHORTLIST_BACKUP_HOURS is 0)", "Set it to 24.");
    let newestMs = 0;
    for await (const { modifiedMs } of s3Store({ ...options, signal, attempts: 1 }).list("backups/"))
      newestMs = Math.max(newestMs, modifiedMs);
    if (newestMs === 0) return warning("records were never saved", remedy);
    const age = (nowMs() - newestMs) / HOUR_MS;
    const finding = `records were saved ${age.toFixed(1)} hours ago`;
    return age > 2 * hours ? warning(finding, remedy) : ok(finding);
  },
});

type Called = {
  readonly edgeUrl: string;
  readonly apiKey: string;
  /** Where the key is from, for the remedy. */
  readonly keyPlace: "local.json" | "SHORTLIST_API_KEY";
};

/** What is looked at of a model's record, whose other fields may be of another release. */
const Checkable = z.object({
  model_name: z.string(),
  trained_at: z.string().nullable(),
  data: z.object({ to: z.string().nullable() }).nullable(),
  failure: z.object({ message: z.string() }).nullable(),
});

const KEY_REMEDY = {
  "local.json": "Delete local.json and start the service again.",
  SHORTLIST_API_KEY: "Issue another with npm run keys, and set it.",
};

/** The first customer's key, and what its models say about their sources and their age. */
export const checkModels = ({ edgeUrl, apiKey, keyPlace }: Called, nowMs: () => number): Check => ({
  name: "models",
  run: async (signal) => {
    const answer = await callService({ edgeUrl, apiKey, signal }, "GET", `/v0/models?limit=${MODELS_MAX}`);
    if (answer.status === 401) return fault(`the key of ${keyPlace} is not valid`, KEY_REMEDY[keyPlace]);
    const { models } = expectStatus(answer, 200) as { models: unknown[] };
    const records = models.map((model) => Checkable.parse(model));
    const failing = records.filter(({ failure }) => failure !== null);
    if (failing.length > 0) {
      const [{ model_name, failure }] = failing as [(typeof failing)[0]];
      const others = failing.length > 1 ? `, and ${failing.length - 1} more` : "";
      return fault(
        `the last training of ${model_name} failed: ${failure!.message}${others}`,
        "See failure in the model's record.",
      );
    }
    const days = (time: string | null | undefined) => (time ? (nowMs() - Date.parse(time)) / (24 * HOUR_MS) : 0);
    const stale = records.filter(({ trained_at, data }) => Math.max(days(trained_at), days(data?.to)) > STALE_DAYS);
    if (stale.length === 0) return ok(`${records.length} without a failure, none older than ${STALE_DAYS} days`);
    const names = stale.map(({ model_name }) => model_name).join(", ");
    return warning(
      `older than ${STALE_DAYS} days, or with older data: ${names}`,
      "Set train_schedule, and look at the source.",
    );
  },
});

/** Which release this is, for questions to its makers. */
export const checkVersion: Check = {
  name: "version",
  run: async () => ok(`Shortlist ${PRODUCT_VERSION}`),
};

const Health = z.looseObject({ version: z.string().max(50).optional() });

/** Whether the running parts are of this release. Neighbouring releases work together, so a difference is a warning. */
export const checkVersions = (urls: Readonly<Record<string, string>>): Check => ({
  name: "versions",
  run: async (signal) => {
    const parts = Object.entries(urls).map(async ([part, url]) => {
      const answer = await fetch(`${url}/health/live`, { signal }).catch(() => undefined);
      if (answer === undefined) return undefined; // another check says so
      const health = Health.safeParse(await answer.json().catch(() => undefined));
      return { part, version: (health.success && health.data.version) || "an older release" };
    });
    const found = (await Promise.all(parts)).filter((part) => part !== undefined);
    const text = found.map(({ part, version }) => `${part} ${version}`).join(", ");
    const differing = found.filter(({ version }) => version !== PRODUCT_VERSION);
    if (differing.length === 0) return ok(text || "nothing answers that could be compared");
    const names = differing.map(({ part }) => part).join(" and ");
    return warning(
      `${text}; here ${PRODUCT_VERSION}`,
      `Bring ${names} to the release of this folder: deploy it, or start it again.`,
    );
  },
});
