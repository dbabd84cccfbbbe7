import { errorForLog, type Log } from "../../log/log.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import type { Attempt, Model, ModelEvent } from "../records/model-transitions.ts";
import type { PointerKeeper } from "./pointer-keeper.ts";
import type { ProgressMessage } from "./run-child.ts";

export type ProgressWriter = {
  write(message: ProgressMessage): void;
  /** Once the last message stands in the record. */
  end(): Promise<void>;
};

type Context = {
  readonly registry: ModelRegistry;
  readonly pointers: Pick<PointerKeeper, "settle">;
  readonly log: Log;
};

/**
 * Brings a run's messages into the record, in order. A process may tell faster than the database writes: of progress
 * only the newest is kept, so the record never lags and nothing piles up.
 */
export function progressWriter(attempt: Attempt, model: Model, { registry, pointers, log }: Context): ProgressWriter {
  const waiting = new Map<ProgressMessage["kind"], ModelEvent>(); // data first: it was told first
  const { runId, attempt: number } = attempt;
  let state: string | undefined;
  let writing: Promise<void> | undefined;

  const drain = async () => {
    for (let next = waiting.entries().next().value; next !== undefined; next = waiting.entries().next().value) {
      const [slot, event] = next;
      waiting.delete(slot);
      try {
        const changed = await registry.apply(model.customer, model.modelName, event);
        if (changed !== undefined && changed.training.state !== state) {
          state = changed.training.state;
          const about = { run_id: runId, attempt: number, customer: model.customer, model_name: model.modelName };
          log({ event: "run_state", level: "info", ...about, state });
          pointers.settle(model);
        }
      } catch (error) {
        log({ event: "progress_not_written", level: "warning", run_id: runId, error: errorForLog(error) });
      }
    }
    writing = undefined;
  };

  return {
    write(message) {
      waiting.set(message.kind, { ...message, runId, attempt: number });
      writing ??= drain();
    },
    async end() {
      await writing;
    },
  };
}
