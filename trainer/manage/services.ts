/** Opens what a trainer needs for its work: the state folder, the database, and the records in it. */
import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { errorForLog, type Log } from "../log/log.ts";
import type { Settings } from "../settings.ts";
import { bucketGrants } from "../store/bucket-grants.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { startExtensions } from "./models/extensions.ts";
import { batches } from "./records/batches.ts";
import { openDatabase } from "./records/database.ts";
import { erasureDeadlines } from "./records/erasure-deadlines.ts";
import { erasures } from "./records/erasures.ts";
import { modelRegistry } from "./records/model-registry.ts";
import { runLedger } from "./records/run-ledger.ts";
import { modelFolders } from "./runs/model-folders.ts";
import { pointerKeeper } from "./runs/reconcile-records.ts";
import { lockState } from "./state-lock.ts";

export type TrainerParts = {
  readonly settings: Settings;
  readonly store: ObjectStore;
  /** The program of a run's process. */
  readonly program: string;
  /** The program of a dry run's process. */
  readonly dryRunProgram: string;
  readonly nowMs: () => number;
  readonly log: Log;
};

export type ClosingStep = () => Promise<void> | void;

/** When the trainer stops, it waits at most this long for each part that needs the bucket. The next start repeats its work. */
export const PART_STOP_SECONDS_MAX = 3;

/** @param closing Gets the steps that close the services, in the order in which they were opened. */
export async function openServices(parts: TrainerParts, closing: ClosingStep[]) {
  const { settings, store, nowMs, log } = parts;
  const { stateDirectory, runs } = settings;
  const lock = await lockState(stateDirectory);
  closing.push(() => lock.release());
  const database = await openDatabase(settings.databaseUrl, stateDirectory);
  closing.push(() => database.close());
  const registry = modelRegistry(database, nowMs);
  const ledger = runLedger(database, randomUUID(), runs.heartbeatSeconds);
  const queuedBatches = batches(database, randomUUID(), runs.heartbeatSeconds);
  if (database.isEmbedded) await Promise.all([ledger.releaseAll(), queuedBatches.releaseAll()]);
  const extensions = startExtensions({ store, nowMs, log });
  closing.push(() => waitAtMost(PART_STOP_SECONDS_MAX, extensions.stop()));
  const pointers = pointerKeeper({ store, registry, nowMs, log, onSettled: extensions.notice });
  closing.push(() => waitAtMost(PART_STOP_SECONDS_MAX, pointers.idle()));
  const folders = modelFolders(stateDirectory);
  const erased = erasures({ database, store, nowMs, newSalt: () => randomBytes(16).toString("hex"), log });
  const deadlines = erasureDeadlines({ database, nowMs, withinMs: settings.erasureMs, log });
  const grants = await bucketGrants(settings.store);
  closing.push(() => grants.close());
  const records = {
    database,
    registry,
    ledger,
    batches: queuedBatches,
    pointers,
    extensions,
    folders,
    erasures: erased,
    deadlines,
  };
  const { caps, backupHours, eventRetentionMs } = settings;
  return { ...parts, ...records, caps, backupHours, eventRetentionMs, grants };
}

/** Performs the steps, the last one first. A step that fails is logged, and the others are still performed. */
export async function closeInReverse(steps: ClosingStep[], log: Log): Promise<void> {
  for (const step of steps.splice(0).reverse())
    try {
      await step();
    } catch (error) {
      log({ event: "close_failed", level: "error", error: errorForLog(error) });
    }
}

export async function waitAtMost(seconds: number, work: Promise<void>): Promise<void> {
  await Promise.race([work, delay(seconds * 1000, undefined, { ref: false })]);
}
