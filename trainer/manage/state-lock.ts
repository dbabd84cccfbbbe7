import { rm } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";

export type StateLock = { release(): void };

/** The state folder is another process's. */
export class StateLockedError extends Error {
  override readonly name = "StateLockedError";
}

/** What a full disk or a power failure left of the file. It was locked before it was read, so it is nobody's. */
const TORN = /not a valid DuckDB database file|Could not read enough bytes/;

/**
 * The state folder for this process alone, as long as it lives. The lock is the kernel's, on a file that DuckDB holds
 * open: however the process ends, it is free at once, and no file left behind can pretend otherwise.
 */
export async function lockState(stateDirectory: string): Promise<StateLock> {
  const path = join(stateDirectory, "trainer.lock");
  const open = () => DuckDBInstance.create(path, { threads: "1", memory_limit: "64MB" });
  try {
    const held = await open().catch(async (error: unknown) => {
      if (!TORN.test(String(error))) throw error;
      await rm(path, { force: true });
      return await open();
    });
    return { release: () => held.closeSync() };
  } catch (cause) {
    const holder = /PID (\d+)/.exec(String(cause))?.[1];
    if (holder === undefined) throw cause;
    const sentence = `Another trainer (process ${holder}) works in ${stateDirectory}`;
    throw new StateLockedError(`${sentence}: stop it, or give this one another SHORTLIST_STATE_DIR.`, { cause });
  }
}
