import type { ModelStatus } from "../../shared/live-pointer.ts";
import { type ModelRef, setStatus } from "../publish/live-pointer-swap.ts";
import type { ObjectStore } from "../publish/object-store.ts";
import { errorForLog, type Log } from "./log.ts";

/**
 * Tells the edge the status of models that have no live version yet. In order and only the newest: a status that was
 * overtaken while the one before it was written is skipped, since R2 takes one write per second and object.
 */
export type StatusWriter = {
  /** Returns at once; a failure is logged, and the next status or the next run makes it good. */
  write(model: ModelRef, status: ModelStatus): void;
  /** Once everything asked for so far has been tried. */
  idle(): Promise<void>;
};

export function statusWriter(store: ObjectStore, nowMs: () => number, log: Log): StatusWriter {
  const wanted = new Map<string, { readonly model: ModelRef; readonly status: ModelStatus }>();
  const writing = new Map<string, Promise<void>>();

  const drain = async (key: string) => {
    for (let next = wanted.get(key); next !== undefined; next = wanted.get(key)) {
      wanted.delete(key);
      const { model, status } = next;
      try {
        await setStatus(store, model, { status, nowMs: nowMs() });
      } catch (error) {
        const about = { customer: model.customer, model_name: model.modelName, status };
        log({ event: "status_not_written", level: "warning", ...about, error: errorForLog(error) });
      }
    }
    writing.delete(key);
  };

  return {
    write({ customer, modelName }, status) {
      if (status === "ACTIVE") return; // said by whoever put the version live
      const key = `${customer}/${modelName}`;
      wanted.set(key, { model: { customer, modelName }, status });
      if (!writing.has(key)) writing.set(key, drain(key));
    },
    async idle() {
      while (writing.size > 0) await Promise.all(writing.values());
    },
  };
}
