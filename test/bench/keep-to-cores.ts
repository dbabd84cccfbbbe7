import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

const CORES = availableParallelism(); // fewer, once this process is kept to some

/** As `taskset` of util-linux names cores. */
export const EVERY_CORE = `0-${CORES - 1}`;
/** What an isolate has to itself, and what is left for all others, as if they were on other machines. */
export const OWN_CORE = "0";
export const OTHER_CORES = CORES === 2 ? "1" : `1-${CORES - 1}`;

/** A thread that ends meanwhile makes `taskset` fail. */
const TRIES = 5;

/**
 * Keeps a process, its threads and what it starts from now on to some cores; with "main", its main thread alone.
 * @returns whether that could be done: where there is `taskset`, and more than one core.
 */
export function keepToCores(pid: number, cores: string, threads: "all" | "main" = "all"): boolean {
  if (CORES === 1) return false;
  const args = [...(threads === "all" ? ["-a"] : []), "-p", "-c", cores, String(pid)];
  const set = () => spawnSync("taskset", args, { stdio: "ignore" }).status === 0;
  return Array.from({ length: TRIES }).some(set);
}
