/** Starts and stops everything that the trainer's process contains: database, loops and management API. */
import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { type Settings, SettingsError } from "../settings.ts";
import { healthReporter } from "./health/health-report.ts";
import { managementApp } from "./http/app.ts";
import { callLimit, forwardVerifier, memoryNonces } from "./http/forwarded.ts";
import { healthRoute } from "./http/health-route.ts";
import { modelRoutes } from "./http/models-route.ts";
import { userRoutes } from "./http/users-route.ts";
import { startRemovals } from "./models/remove-model.ts";
import { startRunWorkers } from "./models/run-workers.ts";
import { startUpkeep } from "./models/upkeep.ts";
import { dryRunInProcess, dryRuns } from "./questions/dry-runs.ts";
import { evaluations } from "./questions/evaluations.ts";
import { backUp } from "./records/backup.ts";
import { performBatch } from "./runs/perform-batch.ts";
import { performRun } from "./runs/perform-run.ts";
import {
  type ClosingStep,
  closeInReverse,
  openServices,
  PART_STOP_SECONDS_MAX,
  type TrainerParts,
  waitAtMost,
} from "./services.ts";
import { openTelemetry } from "./telemetry.ts";

export type Trainer = {
  readonly port: number;
  /** Rejects when the database has failed and only a new process can go on. Never resolves. */
  readonly failed: Promise<never>;
  /** Hands runs back and closes everything. A second call waits for the first. */
  stop(): Promise<void>;
};

const UPKEEP_PAUSE_MS = 3000;
const RUNS_STOP_SECONDS_MAX = 15;
/** The time limit is below the edge's timeout for calls of the trainer (TRAINER_TIMEOUT_SECONDS, 30). */
const DRY_RUN_LIMITS = { atOnce: 2, seconds: 25, memoryMbMax: 1536 };

export async function startTrainer(parts: TrainerParts): Promise<Trainer> {
  const { log } = parts;
  const closing: ClosingStep[] = []; // performed in reverse order
  try {
    const { server, failed } = await open(parts, closing);
    let stopped: Promise<void> | undefined;
    return {
      port: (server.address() as AddressInfo).port,
      failed,
      stop() {
        stopped ??= closeInReverse(closing, log);
        return stopped;
      },
    };
  } catch (error) {
    await closeInReverse(closing, log);
    throw error;
  }
}

type Opened = { readonly server: Server; readonly failed: Promise<never> };

async function open(given: TrainerParts, closing: ClosingStep[]): Promise<Opened> {
  const telemetry = await openTelemetry(given);
  const parts = { ...given, log: telemetry.log };
  const { settings, store, nowMs, log } = parts;
  const { runs } = settings;
  const services = await openServices(parts, closing);
  const { database, ledger, folders, erasures, grants } = services;
  await telemetry.observe(database, closing);

  const stopping = new AbortController();
  const removals = startRemovals({ ...services, signal: stopping.signal });
  closing.push(() => waitAtMost(PART_STOP_SECONDS_MAX, removals.stop()));
  const workers = startRunWorkers({
    ledger,
    concurrency: runs.concurrency,
    perCustomer: settings.caps.runs,
    log,
    async perform(run, stop) {
      await performRun(run, services, stop);
      upkeep.wake(); // the model may have been changed during the run, and then needs another one
    },
  });
  closing.push(() => waitAtMost(RUNS_STOP_SECONDS_MAX, workers.handBack()));
  const batchWorkers = startRunWorkers({
    ledger: services.batches,
    concurrency: 1,
    perCustomer: 1,
    log,
    perform: (run, stop) => performBatch(run, services, stop),
  });
  closing.push(() => waitAtMost(RUNS_STOP_SECONDS_MAX, batchWorkers.handBack()));
  const context = { ...services, workers, removals };
  const upkeep = startUpkeep(context, UPKEEP_PAUSE_MS);
  closing.push(() => waitAtMost(PART_STOP_SECONDS_MAX, upkeep.stop()));

  const { seconds, memoryMbMax } = DRY_RUN_LIMITS;
  const dryRunParts = { program: parts.dryRunProgram, secondsMax: seconds + 5, memoryMbMax, log };
  const dryRun = dryRunInProcess({ settings, store, grants, folders, ...dryRunParts });
  const app = managementApp({
    routes: [
      ...modelRoutes({
        ...context,
        batchWorkers,
        forwardSecret: settings.forwardSecret,
        edgeUrl: settings.edgeUrl,
        edgeMemoryBytes: settings.runs.edgeMemoryBytes,
        dryRuns: dryRuns(dryRun, DRY_RUN_LIMITS),
        evaluations: evaluations(),
      }),
      ...userRoutes(erasures, nowMs),
      healthRoute(healthReporter({ ...services, settings })),
    ],
    backUp: () => backUp(undefined, { database, registry: services.registry, store, nowMs }),
    onNewItems: services.extensions.watch,
    verify: forwardVerifier({
      secret: settings.forwardSecret,
      nowMs,
      limit: callLimit(settings.caps.callsPerMinute, nowMs),
      addNonce: memoryNonces(nowMs),
    }),
    checkReady: async () => void (await database.query("select 1")),
    log,
    newId: randomUUID,
  });
  const server = await listen(app.fetch, settings, closing);
  // Before callers are waited for, since the signal that stops this process may have reached the processes of runs too.
  closing.push(() => {
    stopping.abort();
    void workers.handBack();
    void batchWorkers.handBack();
  });
  return { server, failed: database.failed };
}

function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  { host, port }: Settings,
  closing: ClosingStep[],
): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch, hostname: host, port }, () => resolve(server)) as Server;
    server.once("error", (cause: Error & { code?: string }) => {
      const isTaken = cause.code === "EADDRINUSE";
      const sentence = `Port ${port} of ${host} is in use: stop what listens there, or set SHORTLIST_TRAINER_PORT.`;
      reject(isTaken ? new SettingsError(sentence, { cause }) : cause);
    });
    server.requestTimeout = 30_000;
    closing.push(async () => {
      const closed = new Promise<void>((done) => server.close(() => done()));
      server.closeIdleConnections();
      const forced = setTimeout(() => server.closeAllConnections(), 2000);
      await closed;
      clearTimeout(forced);
    });
  });
}
