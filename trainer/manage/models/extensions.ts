import { modelKey } from "../../../shared/manifest.ts";
import { errorForLog, type Log } from "../../log/log.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { modelExtender } from "./extend-model.ts";
import { repeat } from "./repeat.ts";

/** Extends live versions by new items in the background, one model at a time. */
export type Extensions = {
  /** The model's new items may have changed, or its live version has. Returns at once. */
  notice(model: ModelRef): void;
  /** An edge has just stored new items. They may take some seconds to reach the bucket, so the model is looked at for a while. */
  watch(model: ModelRef): void;
  /** Does what is left to do and ends. */
  finish(): Promise<void>;
  /** Ends. A later trainer does what is left. */
  stop(): Promise<void>;
};

const PAUSE_MS = 5000;
/** An edge repeats a write of the bucket within ten seconds. */
const WATCHED_MS = 20_000;

export type ExtensionsContext = { readonly store: ObjectStore; readonly nowMs: () => number; readonly log: Log };

export function startExtensions({ store, nowMs, log }: ExtensionsContext): Extensions {
  const stopping = new AbortController();
  const extend = modelExtender({ store, nowMs, signal: stopping.signal });
  const noticed = new Map<string, ModelRef>();
  const watched = new Map<string, { readonly model: ModelRef; readonly untilMs: number }>();

  const extendLogged = async (model: ModelRef) => {
    try {
      await extend(model);
    } catch (error) {
      if (stopping.signal.aborted) return;
      const about = { customer: model.customer, model_name: model.modelName };
      log({ event: "version_not_extended", level: "warning", ...about, error: errorForLog(error) });
    }
  };
  const work = async () => {
    for (const [key, { model, untilMs }] of [...watched]) {
      noticed.delete(key);
      await extendLogged(model);
      if (nowMs() >= untilMs && watched.get(key)?.untilMs === untilMs) watched.delete(key);
    }
    for (const [key, model] of noticed) {
      if (stopping.signal.aborted) return;
      noticed.delete(key);
      await extendLogged(model);
    }
  };
  const loop = repeat(work, { pauseMs: PAUSE_MS, failureEvent: "versions_not_extended", log });
  const refOf = ({ customer, modelName }: ModelRef) => ({ customer, modelName });
  return {
    notice(model) {
      noticed.set(modelKey(model), refOf(model));
      loop.wake();
    },
    watch(model) {
      watched.set(modelKey(model), { model: refOf(model), untilMs: nowMs() + WATCHED_MS });
      loop.wake();
    },
    async finish() {
      await loop.stop();
      await work();
    },
    async stop() {
      stopping.abort();
      await loop.stop();
    },
  };
}
