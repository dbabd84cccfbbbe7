import { availableParallelism } from "node:os";
import type { History } from "../../../shared/snapshot.ts";
import type { ExportedModel } from "../model.ts";
import { openThread } from "../numerics/asked-thread.ts";
import { openScorer, type Scorer } from "./onnx-scorer.ts";

export type ScorerTask = { readonly exported: ExportedModel; readonly itemCount: number };
const PROGRAM = new URL("./scorer-worker.ts", import.meta.url).href;

export const SCORER_THREADS = Math.min(4, availableParallelism());
/** Starting threads takes a fifth of a second, which a second of scoring is worth. */
const WORTH_SECONDS = 1;

/**
 * Opens an exported model on several threads if `memoryMb` allows it and scoring all histories on one would take longer than
 * starting them. Throws when the graph is not valid.
 *
 * @param seconds Predicted time of scoring on one thread.
 */
export async function openSpreadingScorer(
  task: ScorerTask,
  seconds: number,
  memoryMb = Number.POSITIVE_INFINITY,
): Promise<Scorer> {
  const threads = Math.min(SCORER_THREADS, threadsWithin(memoryMb, task.exported));
  const isWorthIt = threads > 1 && seconds > WORTH_SECONDS;
  return isWorthIt ? openScorerThreads(task, threads) : openScorer(task.exported, task.itemCount);
}

/** Memory of one thread: a fixed part (measured 30 MB) and a multiple of the weights (measured 1 to 1.3). */
const THREAD_MB = 40;
const SESSION_BYTES_PER_WEIGHT_BYTE = 1.5;

/** Number of threads that fit into `memoryMb`. The weights themselves are shared and count once. */
export function threadsWithin(memoryMb: number, { weights }: ExportedModel): number {
  const weightMb = weights.reduce((sum, { bytes }) => sum + bytes.length, 0) / 1e6;
  return Math.max(0, Math.floor((memoryMb - weightMb) / (THREAD_MB + SESSION_BYTES_PER_WEIGHT_BYTE * weightMb)));
}

/** Opens an exported model on several threads, each with its own session. Scores are the same as those of one session. */
export function openScorerThreads(task: ScorerTask, threads: number): Scorer {
  const shared = { ...task, exported: { ...task.exported, weights: task.exported.weights.map(sharedBytes) } };
  const workers = Array.from({ length: threads }, () => openThread<History, Float32Array>(PROGRAM, shared));
  return {
    score(history) {
      const idle = workers.reduce((best, worker) => (worker.waiting() < best.waiting() ? worker : best));
      return idle.ask(history);
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };
}

function sharedBytes({ path, bytes }: ExportedModel["weights"][number]) {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return { path, bytes: shared };
}
