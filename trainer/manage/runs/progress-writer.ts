import { errorForLog, type Log } from "../../log/log.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import type { Attempt, Model, ModelEvent } from "../records/model-transitions.ts";
import type { PointerKeeper } from "./reconcile-records.ts";
import type { ProgressMessage } from "./run-child.ts";

export type ProgressWriter = {
  write(message: ProgressMessage): void;
  /** Resolves when the last message is in the record. */
  end(): Promise<void>;
};

type Context = {
  readonly registry: ModelRegistry;
  readonly pointers: Pick<PointerKeeper, "reconcile">;
  readonly log: Log;
};

/**
 * Writes a run's messages to the record, in order. A process may send faster than the database writes, so of the waiting
 * messages of one kind only the newest is kept.
 */
export function progressWriter(attempt: Attempt, model: Model, { registry, pointers, log }: Context): ProgressWriter {
  const waiting = new Map<ProgressMessage["kind"], ModelEvent>(); // in order of arrival
  const { runId, attempt: number } = attempt;
  let state: string | undefined;
  let writing: Promise<void> | undefined;

  const drain = async () => {
    for (let next = waiting.entries().next().value; next !== undefined; next = waiting.entries().next().value) {
      const [kind, event] = next;
      waiting.delete(kind);
      try {
        const changed = await registry.apply(model.customer, model.modelName, event);
        if (changed !== undefined && changed.training.state !== state) {
          state = changed.training.state;
          const about = { run_id: runId, attempt: number, customer: model.customer, model_name: model.modelName };
          log({ event: "run_state", level: "info", ...about, state });
          pointers.reconcile(model);
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
