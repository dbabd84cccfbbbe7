import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";

export type StateLock = { release(): void };

/** The state folder is another process's. */
export class StateLockedError extends Error {
  override readonly name = "StateLockedError";
}

/**
 * The state folder for this process alone, as long as it lives. The lock is the kernel's, on a file that DuckDB holds
 * open: however the process ends, it is free at once, and no file left behind can pretend otherwise.
 */
export async function lockState(stateDirectory: string): Promise<StateLock> {
  const path = join(stateDirectory, "trainer.lock");
  try {
    const held = await DuckDBInstance.create(path, { threads: "1", memory_limit: "64MB" });
    return { release: () => held.closeSync() };
  } catch (cause) {
    const holder = /PID (\d+)/.exec(String(cause))?.[1];
    if (holder === undefined) throw cause;
    const sentence = `Another trainer (process ${holder}) works in ${stateDirectory}`;
    throw new StateLockedError(`${sentence}: stop it, or give this one another SHORTLIST_STATE_DIR.`, { cause });
  }
}
