import { availableParallelism } from "node:os";
import { openScorer, type Scorer } from "./onnx-scorer.ts";
import { openScorerThreads, type ScorerTask, threadsWithin } from "./scorer-threads.ts";

export const SCORER_THREADS = Math.min(4, availableParallelism());
/** Histories scored before the pace is known. */
const SCORED_LEAST = 32;
/** Threads start in a fifth of that. */
const WORTH_MS = 1000;

/**
 * An exported model that is to score so many histories: on this thread, and where the rest of them would take more than a second, on
 * others, as many as `memoryMb` is enough for. Throws when the graph is not a valid one.
 */
export async function openSpreadingScorer(
  task: ScorerTask,
  histories: number,
  {
    memoryMb = Number.POSITIVE_INFINITY,
    threadsMax = SCORER_THREADS,
    worthMs = WORTH_MS,
    openThreads = openScorerThreads,
  } = {},
): Promise<Scorer> {
  const threads = Math.min(threadsMax, threadsWithin(memoryMb, task.exported));
  const own = await openScorer(task.exported, task.itemCount);
  let others: Scorer | undefined;
  let scored = 0;
  const begin = performance.now();
  const isWorthIt = () => {
    const ms = performance.now() - begin;
    return threads > 1 && scored >= SCORED_LEAST && (ms / scored) * (histories - scored) > worthMs;
  };
  return {
    async score(history) {
      // A thread that cannot have its session costs time, not the answer.
      if (others) return others.score(history).catch(() => own.score(history));
      const scores = await own.score(history);
      scored++;
      if (isWorthIt()) others ??= openThreads(task, threads);
      return scores;
    },
    async close() {
      await own.close();
      await others?.close();
    },
  };
}
