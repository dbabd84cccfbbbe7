/** The program of the thread that answers one question from large lists, which takes seconds. */
import { parentPort, workerData } from "node:worker_threads";
import { FormatError } from "../../../shared/assert.ts";
import { Problem } from "../../../shared/problem.ts";
import { answerQuestion } from "../../choose/report/answer-question.ts";
import { decodeDetail } from "../../choose/report/evaluation-detail.ts";
import type { EvaluationJob, EvaluationResult } from "./evaluations.ts";

function resultOf({ bytes, question }: EvaluationJob): EvaluationResult {
  try {
    return { kind: "answer", answer: answerQuestion(decodeDetail(bytes), question) };
  } catch (error) {
    if (error instanceof FormatError) return { kind: "unreadable", message: error.message };
    if (!(error instanceof Problem)) throw error;
    return { kind: "refused", code: error.code, detail: error.message, errors: error.errors };
  }
}

parentPort!.postMessage(resultOf(workerData as EvaluationJob));
