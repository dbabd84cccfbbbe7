import { errorForLog, type Log } from "../../log/log.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import type { Attempt, Model } from "../records/model-transitions.ts";
import type { RunLedger } from "../records/run-ledger.ts";
import type { PointerKeeper } from "./reconcile-records.ts";
import type { ProgressMessage } from "./run-child.ts";

export type ProgressWriter = {
  write(message: ProgressMessage): void;
  /** Resolves when the last message is in the record. */
  end(): Promise<void>;
};

type Context = {
  readonly registry: Pick<ModelRegistry, "apply">;
  readonly ledger: Pick<RunLedger, "note">;
  readonly pointers: Pick<PointerKeeper, "reconcile">;
  readonly log: Log;
};

/**
 * Writes a run's messages to the record, in order. A process may send faster than the database writes, so of the waiting
 * messages of one kind only the newest is kept.
 */
export function progressWriter(attempt: Attempt, model: Model, context: Context): ProgressWriter {
  const { registry, ledger, pointers, log } = context;
  const waiting = new Map<ProgressMessage["kind"], ProgressMessage>(); // in order of arrival
  const { runId, attempt: number } = attempt;
  let state: string | undefined;
  let writing: Promise<void> | undefined;

  const store = async (message: ProgressMessage): Promise<void> => {
    if (message.kind === "data" || message.state !== state) {
      const changed = await registry.apply(model.customer, model.modelName, { ...message, runId, attempt: number });
      if (message.kind === "progress" && changed !== undefined) {
        state = message.state;
        const about = { run_id: runId, attempt: number, customer: model.customer, model_name: model.modelName };
        log({ event: "run_state", level: "info", ...about, state });
        pointers.reconcile(model);
      }
    }
    if (message.kind === "progress") await ledger.note(attempt, message.progress);
  };
  const drain = async () => {
    for (let next = waiting.values().next().value; next !== undefined; next = waiting.values().next().value) {
      waiting.delete(next.kind);
      try {
        await store(next);
      } catch (error) {
        log({ event: "progress_not_written", level: "warning", run_id: runId, error: errorForLog(error) });
      }
    }
    writing = undefined;
  };

  return {
    write(message) {
      waiting.set(message.kind, message);
      writing ??= drain();
    },
    async end() {
      await writing;
    },
  };
}
