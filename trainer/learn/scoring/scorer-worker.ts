/** The program of a scoring thread: one session, one history at a time. */
import { workerData } from "node:worker_threads";
import type { History } from "../../../shared/snapshot.ts";
import { answerEach } from "../numerics/asked-thread.ts";
import { openScorer } from "./onnx-scorer.ts";
import type { ScorerTask } from "./scorer-threads.ts";

const { exported, itemCount } = workerData as ScorerTask;
const opening = openScorer(exported, itemCount);

answerEach(async (history: History) => {
  const scorer = await opening;
  const scores = (await scorer.score(history)).slice(); // a copy, because the session's memory cannot be transferred
  return { answer: scores, transfer: [scores.buffer] };
});
