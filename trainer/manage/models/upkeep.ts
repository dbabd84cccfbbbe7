/**
 * What must happen without anybody asking: runs that are due, runs that lost their trainer, deletions that were
 * interrupted, and the sweeping of what nobody needs. Every step looks at rows and can be done twice.
 */

import { errorForLog, type Log } from "../../log/log.ts";
import type { Database } from "../records/database.ts";
import type { Erasures } from "../records/erasures.ts";
import { purgeIdempotencyKeys } from "../records/idempotency.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import type { Model } from "../records/model-transitions.ts";
import type { RunLedger } from "../records/run-ledger.ts";
import type { ModelFolders } from "../runs/model-folders.ts";
import type { PointerKeeper } from "../runs/pointer-keeper.ts";
import { scheduleRun } from "./model-actions.ts";
import { type Loop, repeat } from "./repeat.ts";
import type { RunWorkers } from "./run-workers.ts";
import { nextRunAt, soonerRunAt } from "./schedule.ts";

export type UpkeepContext = {
  readonly database: Database;
  readonly registry: ModelRegistry;
  readonly ledger: RunLedger;
  readonly workers: Pick<RunWorkers, "wake">;
  readonly pointers: PointerKeeper;
  readonly folders: ModelFolders;
  readonly erasures: Erasures;
  readonly nowMs: () => number;
  readonly log: Log;
};

const BATCH = 100;
const SWEEP_EVERY_MS = 3_600_000;
const SETTLED_AT_ONCE = 16;
const SETTLE_MS_MAX = 10_000;
const DAY_MS = 86_400_000;
/** A run leaves erased users out of the rows that it keeps; where none comes for so long, the rows go altogether. */
const ROWS_OF_ERASED_MS = 7 * DAY_MS;
/** What was kept so soon after an erasure may be of a run that began before it. */
const RUN_MS_MAX = DAY_MS;

export function startUpkeep(context: UpkeepContext, pauseMs: number): Loop {
  const stopping = new AbortController();
  let sweptMs = Number.NEGATIVE_INFINITY;
  let sweepSteps: readonly SweepStep[] = [];
  const turn = async () => {
    await scheduleDueRuns(context);
    if (performance.now() - sweptMs > SWEEP_EVERY_MS) {
      sweepSteps = SWEEP;
      sweptMs = performance.now();
    }
    sweepSteps = await sweep(sweepSteps, context, stopping.signal);
  };
  const loop = repeat(turn, { pauseMs, failureEvent: "upkeep_failed", log: context.log });
  return {
    wake: loop.wake,
    stop() {
      stopping.abort();
      return loop.stop();
    },
  };
}

/** One turn without the sweep. */
export async function scheduleDueRuns(context: UpkeepContext): Promise<void> {
  const { registry, nowMs, log } = context;
  for (const model of await registry.due(new Date(nowMs()).toISOString(), BATCH))
    try {
      await scheduleDueRun(model, context);
    } catch (error) {
      const about = { customer: model.customer, model_name: model.modelName };
      log({ event: "upkeep_failed", level: "error", ...about, error: errorForLog(error) });
    }
  context.workers.wake();
  context.pointers.retry();
  await context.erasures.settle();
}

async function scheduleDueRun(model: Model, context: UpkeepContext): Promise<void> {
  const { database, registry, nowMs } = context;
  const { customer, modelName, spec, createdAt } = model;
  await database.transaction(async (queries) => {
    const next = nextRunAt(spec.train_schedule, Date.parse(createdAt), nowMs());
    // If two trainers find the same model due, the second one's write meets a later revision and a run that waits.
    await registry.apply(customer, modelName, { kind: "due", nextRunAt: next }, queries);
    await scheduleRun(context, model, queries);
  });
}

type SweepStep = (context: UpkeepContext, signal: AbortSignal) => Promise<void>;

const SWEEP: readonly SweepStep[] = [
  ({ database }) => purgeIdempotencyKeys(database),
  ({ ledger }) => ledger.purge(),
  ({ erasures }) => erasures.restore(),
  async ({ erasures, folders, nowMs }) => {
    for (const { customer, erasedMs } of await erasures.lastBefore(nowMs() - ROWS_OF_ERASED_MS))
      await folders.removeRows(customer, erasedMs + RUN_MS_MAX);
  },
  ({ folders, registry }) => folders.sweep(() => registry.names()),
  bringForward,
  settlePointers,
];

/** The steps that failed, to be done again at the next turn. */
async function sweep(steps: readonly SweepStep[], context: UpkeepContext, signal: AbortSignal): Promise<SweepStep[]> {
  const failed: SweepStep[] = [];
  for (const step of steps)
    try {
      await step(context, signal);
    } catch (error) {
      failed.push(step);
      context.log({ event: "upkeep_failed", level: "error", error: errorForLog(error) });
    }
  return failed;
}

/** Schedules that a clock which was ahead has put off: else such a model would not be due before the clock is there again. */
async function bringForward({ registry, nowMs, log }: UpkeepContext, signal: AbortSignal): Promise<void> {
  for (const { customer, modelName } of await registry.names()) {
    if (signal.aborted) return;
    const model = await registry.find(customer, modelName);
    if (model === undefined) continue;
    const { spec, createdAt, training } = model;
    try {
      const times = { createdAtMs: Date.parse(createdAt), nowMs: nowMs() };
      const sooner = soonerRunAt(spec.train_schedule, training.nextRunAt, times);
      if (sooner !== undefined) await registry.apply(customer, modelName, { kind: "due", nextRunAt: sooner });
    } catch (error) {
      log({ event: "upkeep_failed", level: "error", customer, model_name: modelName, error: errorForLog(error) });
    }
  }
}

/** Every model's record and pointer, compared: a trainer may have died between writing the one and the other. */
async function settlePointers({ registry, pointers }: UpkeepContext, signal: AbortSignal): Promise<void> {
  const models = await registry.names();
  for (let at = 0; at < models.length && !signal.aborted; at += SETTLED_AT_ONCE)
    await Promise.all(
      models.slice(at, at + SETTLED_AT_ONCE).map((model) => {
        pointers.settle(model);
        return pointers.settled(model, SETTLE_MS_MAX);
      }),
    );
}
