import { availableParallelism } from "node:os";
import { openScorer, type Scorer } from "./onnx-scorer.ts";
import { openScorerThreads, type ScorerTask, threadsWithin } from "./scorer-threads.ts";

export const SCORER_THREADS = Math.min(4, availableParallelism());
/** Histories that are scored before the remaining time is estimated. */
const MEASURED_HISTORIES = 32;
/** Remaining time that is worth starting threads, which takes a fifth of it. */
const WORTH_MS = 1000;

/**
 * Opens an exported model that will score `histories` histories. It begins on this thread, and continues on others when the rest
 * would take more than a second, with as many threads as `memoryMb` allows. Throws when the graph is not valid.
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
  const local = await openScorer(task.exported, task.itemCount);
  let others: Scorer | undefined;
  let scored = 0;
  const begin = performance.now();
  const isWorthIt = () => {
    const ms = performance.now() - begin;
    return threads > 1 && scored >= MEASURED_HISTORIES && (ms / scored) * (histories - scored) > worthMs;
  };
  return {
    async score(history) {
      // If a thread cannot open its session, this thread scores instead.
      if (others) return others.score(history).catch(() => local.score(history));
      const scores = await local.score(history);
      scored++;
      if (isWorthIt()) others ??= openThreads(task, threads);
      return scores;
    },
    async close() {
      await local.close();
      await others?.close();
    },
  };
}
