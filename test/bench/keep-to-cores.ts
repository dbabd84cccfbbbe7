import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

const CORES = availableParallelism(); // read at start, before this process is pinned

/** In the notation of `taskset` (util-linux). */
export const EVERY_CORE = `0-${CORES - 1}`;
/** The core reserved for the isolate, and the cores for everything else. */
export const OWN_CORE = "0";
export const OTHER_CORES = CORES === 2 ? "1" : `1-${CORES - 1}`;

/** `taskset` fails if a thread ends meanwhile. */
const TRIES = 5;

/**
 * Pins a process with its threads and future children to some cores; with "main", only its main thread. Returns false
 * without `taskset` or with a single core.
 */
export function keepToCores(pid: number, cores: string, threads: "all" | "main" = "all"): boolean {
  if (CORES === 1) return false;
  const args = [...(threads === "all" ? ["-a"] : []), "-p", "-c", cores, String(pid)];
  const set = () => spawnSync("taskset", args, { stdio: "ignore" }).status === 0;
  return Array.from({ length: TRIES }).some(set);
}
