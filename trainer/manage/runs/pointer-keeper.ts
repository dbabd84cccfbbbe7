import { setTimeout as delay } from "node:timers/promises";
import { modelKey } from "../../../shared/manifest.ts";
import { errorForLog, type Log } from "../../log/log.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import { type AgreeContext, agree } from "./agree.ts";

/**
 * Keeps records and live pointers in agreement. One model at a time and only its newest state: what was overtaken while the one
 * before it was written is skipped, since R2 takes one write per second and object.
 */
export type PointerKeeper = {
  /** Returns at once. To be called whenever a record or a pointer has changed. */
  settle(model: ModelRef): void;
  /** Once all that was asked for this model has been tried, or after so long. */
  settled(model: ModelRef, waitMs: number): Promise<void>;
  /** Tries again what failed. */
  retry(): void;
  /** Once everything asked for so far has been tried. */
  idle(): Promise<void>;
};

export function pointerKeeper(context: AgreeContext & { readonly log: Log }): PointerKeeper {
  const wanted = new Map<string, ModelRef>();
  const failed = new Map<string, ModelRef>();
  const settling = new Map<string, Promise<void>>();

  const drain = async (key: string) => {
    for (let model = wanted.get(key); model !== undefined; model = wanted.get(key)) {
      wanted.delete(key);
      failed.delete(key);
      try {
        await agree(model, context);
      } catch (error) {
        failed.set(key, model);
        const about = { customer: model.customer, model_name: model.modelName };
        context.log({ event: "pointer_not_settled", level: "warning", ...about, error: errorForLog(error) });
      }
    }
    settling.delete(key);
  };
  const settle = ({ customer, modelName }: ModelRef) => {
    const key = modelKey({ customer, modelName });
    wanted.set(key, { customer, modelName });
    if (!settling.has(key)) settling.set(key, drain(key));
  };

  return {
    settle,
    async settled(model, waitMs) {
      const waited = new AbortController();
      await Promise.race([
        settling.get(modelKey(model)),
        delay(waitMs, undefined, { ref: false, signal: waited.signal }).catch(() => undefined),
      ]);
      waited.abort();
    },
    retry: () => {
      for (const model of failed.values()) settle(model);
    },
    async idle() {
      while (settling.size > 0) await Promise.all(settling.values());
    },
  };
}
