/** Runs that new events cause. A model that waits for its first events, or has few, does not need a schedule. */
import { eventCount } from "../../../shared/events/event-store.ts";
import { connectorOf, EVENTS } from "../../../shared/model-spec.ts";
import { Problem } from "../../../shared/problem.ts";
import { errorForLog, type Log } from "../../log/log.ts";
import { NOT_ENOUGH_EVENTS } from "../../run/not-enough-events.ts";
import type { CustomerCaps } from "../../settings.ts";
import { cutOffOf, listEventFiles, type StoredEventFile } from "../../store/event-files.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import type { Database } from "../records/database.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import { isBusy, type Model } from "../records/model-transitions.ts";
import type { RunLedger } from "../records/run-ledger.ts";
import { scheduleRun } from "./model-actions.ts";
import type { RunWorkers } from "./run-workers.ts";

export type EventRunContext = {
  readonly database: Database;
  readonly store: ObjectStore;
  readonly registry: ModelRegistry;
  readonly ledger: RunLedger;
  readonly workers: Pick<RunWorkers, "wake">;
  readonly caps: CustomerCaps;
  readonly nowMs: () => number;
  readonly log: Log;
};

/** Below this count, a model trains whenever its events have doubled: about 13 runs in its life. */
const SMALL_EVENTS = 10_000;
export const LISTENING_MAX = 10_000;

/** Schedules a run of every model that has enough new events. The event files of a customer are listed only if a model may need one. */
export async function scheduleEventRuns(context: EventRunContext): Promise<void> {
  const { registry, store, workers, log } = context;
  const waiting = (await registry.listening(LISTENING_MAX)).filter(
    (model) => !isBusy(model) && mayBeDue(model, context),
  );
  for (const [customer, models] of Map.groupBy(waiting, (model) => model.customer))
    try {
      const files = await listEventFiles(store, customer);
      for (const model of models) if (isDue(model, files)) await schedule(model, context);
    } catch (error) {
      log({ event: "upkeep_failed", level: "error", customer, error: errorForLog(error) });
    }
  if (waiting.length > 0) workers.wake();
}

async function schedule(model: Model, context: EventRunContext): Promise<void> {
  try {
    await context.database.transaction((queries) => scheduleRun(context, model, queries));
  } catch (error) {
    if (!(error instanceof Problem && error.code === "rate_limited")) throw error; // it stays due until there is room
  }
}

const isStarved = ({ version, failure }: Model) => version === null && failure?.code === NOT_ENOUGH_EVENTS;
const isSmall = ({ spec, data }: Model) =>
  connectorOf(spec, spec.schema.interaction.source).type === EVENTS && (data?.events ?? 0) < SMALL_EVENTS;

/** Whether new events could make a run due. After a failure the model waits as long as after a run of its schedule. */
function mayBeDue(model: Model, { caps, nowMs }: EventRunContext): boolean {
  const { training, spec, version } = model;
  if (isStarved(model)) return true;
  if (version === null) return false;
  const waitedMs = nowMs() - Date.parse(training.startedAt ?? model.createdAt);
  const hasWaited = waitedMs >= caps.scheduleSecondsMin * 1000;
  return (isSmall(model) && training.state !== "FAILED") || (spec.train_after_events !== undefined && hasWaited);
}

function isDue(model: Model, files: readonly StoredEventFile[]): boolean {
  const { spec, data, training } = model;
  if (isStarved(model)) return files.some(({ modifiedMs }) => modifiedMs >= Date.parse(training.startedAt!));
  const known = data?.events ?? 0;
  const count = eventCount(cutOffOf(files).marks);
  const isDoubled = isSmall(model) && count >= 2 * known && count > known;
  return isDoubled || count - known >= (spec.train_after_events ?? Number.POSITIVE_INFINITY);
}
