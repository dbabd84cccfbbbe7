/** For commands beside the trainer that read or change its records. */
import { readSettings } from "../settings.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { s3Store } from "../store/s3-store.ts";
import { type Database, openDatabase } from "./records/database.ts";
import { type ModelRegistry, modelRegistry } from "./records/model-registry.ts";
import { lockState } from "./state-lock.ts";

export type Records = {
  readonly database: Database;
  readonly registry: ModelRegistry;
  readonly store: ObjectStore;
  readonly nowMs: () => number;
};

/** Opens the records of the trainer of this environment for `work`. An embedded database is refused while its trainer runs. */
export async function withRecords<T>(work: (records: Records) => Promise<T>): Promise<T> {
  const { stateDirectory, databaseUrl, store } = readSettings();
  const lock = databaseUrl === null ? await lockState(stateDirectory) : undefined;
  const database = await openDatabase(databaseUrl, stateDirectory);
  try {
    return await work({
      database,
      registry: modelRegistry(database, Date.now),
      store: s3Store(store),
      nowMs: Date.now,
    });
  } finally {
    await database.close();
    lock?.release();
  }
}
