/** The program of a scoring thread: one session, one history at a time. */
import { parentPort, workerData } from "node:worker_threads";
import { openScorer } from "./onnx-scorer.ts";
import { CLOSE, type ScorerAnswer, type ScorerRequest, type ScorerTask } from "./scorer-threads.ts";

const { exported, itemCount } = workerData as ScorerTask;
const opening = openScorer(exported, itemCount);

parentPort!.on("message", async (message: ScorerRequest | typeof CLOSE) => {
  if (message === CLOSE) return parentPort!.close();
  const { id, history } = message;
  const answer: ScorerAnswer = await opening
    .then((scorer) => scorer.score(history))
    .then(
      (scores) => ({ id, scores: scores.slice() }), // a copy, because the session's memory cannot be transferred
      (error: unknown) => ({ id, error: String(error) }),
    );
  parentPort!.postMessage(answer, "scores" in answer ? [answer.scores.buffer] : []);
});
