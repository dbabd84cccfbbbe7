import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { UsageError } from "../expected-error.ts";

export type StateLock = { release(): void };

/** Another process uses the state folder. */
export class StateLockedError extends UsageError {
  override readonly name = "StateLockedError";
}

/** DuckDB's errors for a lock file that a full disk or a power failure has damaged. They come after the lock was taken. */
const DAMAGED = /not a valid DuckDB database file|Could not read enough bytes/;

/**
 * Locks the state folder for this process, and creates it if needed. DuckDB keeps the lock file open, and the lock is the
 * kernel's: it is free as soon as the process ends, however it ends, and a file that is left behind locks nothing.
 */
export async function lockState(stateDirectory: string): Promise<StateLock> {
  await mkdir(stateDirectory, { recursive: true, mode: 0o700 });
  const path = join(stateDirectory, "trainer.lock");
  const open = () => DuckDBInstance.create(path, { threads: "1", memory_limit: "64MB" });
  try {
    const lock = await open().catch(async (error: unknown) => {
      if (!DAMAGED.test(String(error))) throw error;
      await rm(path, { force: true });
      return await open();
    });
    return { release: () => lock.closeSync() };
  } catch (cause) {
    const owner = /PID (\d+)/.exec(String(cause))?.[1];
    if (owner === undefined) throw cause;
    const sentence = `Another trainer (process ${owner}) works in ${stateDirectory}`;
    throw new StateLockedError(`${sentence}: stop it, or choose another state folder.`, { cause });
  }
}
