/**
 * What the doctor and the page Health look at on the trainer's machine and in the bucket. Each check is independent, bounded in time, and
 * has a remedy for what it finds.
 */
import { access, constants, statfs } from "node:fs/promises";
import { totalmem } from "node:os";
import { type Finding, type Found, fault, ok, warning } from "../../../shared/health.ts";
import { PRODUCT_VERSION } from "../../../shared/product.ts";
import type { StoreAccess } from "../../settings.ts";
import { s3Store } from "../../store/s3-store.ts";

export type Check = { readonly name: string; readonly run: (signal: AbortSignal) => Promise<Found> };

const CHECK_MS_MAX = 10_000;
const NODE_MIN = [22, 18] as const;
const GB = 1e9;
const DISK_WARNING = 10 * GB;
/** A run and the processes beside it need this much more than the run's limit. */
const BESIDE_RUN_MB = 1000;
const CLOCK_SECONDS_MAX = 30;
const HOUR_MS = 3_600_000;

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Runs all checks at once. One that fails or takes too long is a fault of its own. */
export const runChecks = (checks: readonly Check[]): Promise<Finding[]> =>
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

/** Which release this is, for questions to its makers. */
export const checkVersion: Check = {
  name: "version",
  run: async () => ok(`Shortlist ${PRODUCT_VERSION}`),
};
