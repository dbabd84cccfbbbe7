/** A thread that scores: one session of its own, one history at a time. */
import { parentPort, workerData } from "node:worker_threads";
import { openScorer } from "./onnx-scorer.ts";
import type { ScorerAnswer, ScorerQuestion, ScorerTask } from "./scorer-threads.ts";

const { exported, itemCount } = workerData as ScorerTask;
const opening = openScorer(exported, itemCount);

parentPort!.on("message", async ({ id, history }: ScorerQuestion) => {
  const answer: ScorerAnswer = await opening
    .then((scorer) => scorer.score(history))
    .then(
      (scores) => ({ id, scores: scores.slice() }), // the session's own memory cannot be given away
      (error: unknown) => ({ id, error: String(error) }),
    );
  parentPort!.postMessage(answer, "scores" in answer ? [answer.scores.buffer] : []);
});
