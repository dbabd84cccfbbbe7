/** Rank calls and other calls of the API as the public socket sees them: it has a real clock, which a Worker has not. */
import type { Meter } from "@opentelemetry/api";
import { CALL_SECONDS } from "../log/metrics.ts";
import type { Answered } from "./front-server.ts";

const RANK_PATH = /^\/v0\/models\/([A-Za-z0-9][A-Za-z0-9_.-]{0,62})\/(rank|similar_items)(?:\?|$)/;
/** Limit on the models that are named. Calls for others are counted without a name. */
const MODELS_MAX = 1000;

export function callCounter(meter: Meter): (answer: Answered) => void {
  const seconds = meter.createHistogram("shortlist_rank_seconds", {
    description: "Seconds from the request to the head of the answer, by model, strategy and status",
    advice: { explicitBucketBoundaries: CALL_SECONDS },
  });
  const calls = meter.createCounter("shortlist_calls", {
    description: "Calls of the API that are not rank calls, by status",
  });
  const models = new Set<string>();
  const named = (model: string, status: number) => {
    if (models.has(model)) return model;
    if (status >= 400 || models.size >= MODELS_MAX) return ""; // anybody can call a model that does not exist
    models.add(model);
    return model;
  };
  return ({ path, method, status, milliseconds, headers }) => {
    const [, model] = RANK_PATH.exec(path) ?? [];
    if (model === undefined) return calls.add(1, { method, status });
    const strategy = String(headers["x-rank-strategy"] ?? "");
    seconds.record(milliseconds / 1000, { model: named(model, status), strategy, status });
  };
}
