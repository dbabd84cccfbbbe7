/** The program of the process that answers one question from large lists or about a scenario, which takes seconds. */
import { FormatError } from "../../../shared/assert.ts";
import { Problem } from "../../../shared/problem.ts";
import { answerQuestion } from "../../choose/report/answer-question.ts";
import { decodeDetail } from "../../choose/report/evaluation-detail.ts";
import { measureScenario } from "../../choose/scenarios/measure-scenario.ts";
import { decodeReplay } from "../../choose/scenarios/replay.ts";
import type { EvaluationJob, EvaluationResult } from "./evaluations.ts";

async function answerOf(job: EvaluationJob) {
  if (job.kind === "question") return answerQuestion(decodeDetail(job.bytes), job.question);
  const endMs = performance.now() + job.secondsMax * 1000;
  return await measureScenario(decodeReplay(job.bytes), job.scenario, {
    signal: new AbortController().signal, // the parent kills this process
    memoryMbMax: 0, // no further threads
    isTimeUp: () => performance.now() > endMs,
  });
}

async function resultOf(job: EvaluationJob): Promise<EvaluationResult> {
  try {
    return { kind: "answer", answer: await answerOf(job) };
  } catch (error) {
    if (error instanceof FormatError) return { kind: "unreadable", message: error.message };
    if (!(error instanceof Problem)) throw error;
    return { kind: "refused", code: error.code, detail: error.message, errors: error.errors };
  }
}

process.once("message", async (job: EvaluationJob) => {
  process.send!(await resultOf(job));
});
process.once("disconnect", () => process.exit());
