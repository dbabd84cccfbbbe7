/**
 * What must happen without anybody asking: runs that are due, runs that lost their trainer, deletions that were
 * interrupted, and the sweeping of what nobody needs. Every step looks at rows and can be done twice.
 */

import { modelKey } from "../../../shared/manifest.ts";
import { errorForLog, type Log } from "../../log/log.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import type { Database } from "../records/database.ts";
import type { Erasures } from "../records/erasures.ts";
import { purgeIdempotencyKeys } from "../records/idempotency.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import type { Model } from "../records/model-transitions.ts";
import type { Run, RunLedger } from "../records/run-ledger.ts";
import type { ModelFolders } from "../runs/model-folders.ts";
import type { PointerKeeper } from "../runs/pointer-keeper.ts";
import { scheduleRun } from "./model-actions.ts";
import { nextRunAt, soonerRunAt } from "./schedule.ts";
import type { WorkQueue } from "./work-queue.ts";

export type UpkeepContext = {
  readonly database: Database;
  readonly registry: ModelRegistry;
  readonly ledger: RunLedger;
  readonly training: WorkQueue<Run>;
  readonly deletion: WorkQueue<ModelRef>;
  readonly pointers: PointerKeeper;
  readonly folders: ModelFolders;
  readonly erasures: Erasures;
  readonly nowMs: () => number;
  readonly log: Log;
};

export type Upkeep = {
  /** Looks now rather than at the next turn. */
  soon(): void;
  stop(): Promise<void>;
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

/** Looks at once, and then again after every pause. */
export function startUpkeep(context: UpkeepContext, pauseMs: number): Upkeep {
  let timer: NodeJS.Timeout | undefined;
  let turn: Promise<void> | undefined;
  let again = false;
  const stopping = new AbortController();
  let sweptMs = Number.NEGATIVE_INFINITY;
  let toSweep: readonly SweepStep[] = [];

  const look = async () => {
    clearTimeout(timer);
    try {
      await tend(context);
      if (performance.now() - sweptMs > SWEEP_EVERY_MS) {
        toSweep = SWEEP;
        sweptMs = performance.now();
      }
      toSweep = await sweep(toSweep, context, stopping.signal);
    } catch (error) {
      context.log({ event: "upkeep_failed", level: "error", error: errorForLog(error) });
    }
    turn = undefined;
    if (stopping.signal.aborted) return;
    if (again) soon();
    else timer = setTimeout(soon, pauseMs);
  };
  const soon = () => {
    again = turn !== undefined;
    if (!again && !stopping.signal.aborted) turn = look();
  };
  soon();
  return {
    soon,
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await turn;
    },
  };
}

/** One turn: everything that waits is queued. */
export async function tend(context: UpkeepContext): Promise<void> {
  const { registry, ledger, training, deletion, nowMs } = context;
  for (const model of await registry.pending(new Date(nowMs()).toISOString(), BATCH))
    try {
      await tendModel(model, context);
    } catch (error) {
      const about = { customer: model.customer, model_name: model.modelName };
      context.log({ event: "upkeep_failed", level: "error", ...about, error: errorForLog(error) });
    }
  for (const run of await ledger.waiting(BATCH)) await training.enqueue(modelKey(run), run);
  training.wake();
  deletion.wake();
  context.pointers.retry();
  await context.erasures.settle();
}

async function tendModel(model: Model, context: UpkeepContext): Promise<void> {
  const { database, registry, deletion } = context;
  const { customer, modelName, spec, createdAt } = model;
  if (model.status === "DESTROYING") {
    await deletion.enqueue(modelKey(model), { customer, modelName });
    return;
  }
  await database.transaction(async (queries) => {
    const next = nextRunAt(spec.train_schedule, Date.parse(createdAt), context.nowMs());
    // Of two trainers that find the model due, the second one's write meets a later revision and a run that waits.
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
