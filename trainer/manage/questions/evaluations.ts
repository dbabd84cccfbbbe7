/** Answers questions about an evaluation from the lists behind its report: small lists in this thread, large ones in another. */
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { FormatError } from "../../../shared/assert.ts";
import type { EvaluationAnswer, EvaluationQuestion } from "../../../shared/evaluation-report.ts";
import { Problem, type ProblemCode, type ProblemPart } from "../../../shared/problem.ts";
import { answerQuestion } from "../../choose/report/answer-question.ts";
import { decodeDetail } from "../../choose/report/evaluation-detail.ts";
import { onePerCustomer } from "./one-per-customer.ts";

/** The input of the thread. */
export type EvaluationJob = { readonly bytes: Uint8Array; readonly question: EvaluationQuestion };

/** The answer of the thread. */
export type EvaluationResult =
  | { readonly kind: "answer"; readonly answer: EvaluationAnswer }
  | { readonly kind: "unreadable"; readonly message: string }
  | {
      readonly kind: "refused";
      readonly code: ProblemCode;
      readonly detail: string;
      readonly errors: readonly ProblemPart[];
    };

/** The stored lists of a version: up to some hundred megabytes, so they are read only when their turn has come. */
export type StoredLists = {
  readonly packedBytes: number;
  /** Throws FormatError when the lists are gone. */
  read(): Promise<Uint8Array>;
};

export type Evaluations = {
  /**
   * Answers a question from the lists. Ends when `caller` aborts.
   *
   * @throws FormatError for lists that cannot be read; Problem unknown_attribute; for large lists also rate_limited while
   * another question of the customer is in progress, and overloaded while too many others are or after the time limit.
   */
  answer(lists: StoredLists, question: EvaluationQuestion, asker: Asker): Promise<EvaluationAnswer>;
};

export type Asker = { readonly customer: string; readonly caller: AbortSignal };

export type EvaluationLimits = {
  readonly atOnce: number;
  readonly seconds: number;
  /** Size of unpacked lists up to which this thread answers: starting another one would take longer. */
  readonly smallBytes: number;
};

/** The time limit is below the edge's timeout for calls of the trainer (TRAINER_TIMEOUT_SECONDS, 30). */
export const EVALUATION_LIMITS: EvaluationLimits = { atOnce: 2, seconds: 25, smallBytes: 2 ** 17 };

const RETRY_SECONDS = 5;
const HEAP_MB_MAX = 1024;
const PROGRAM = fileURLToPath(new URL("./evaluation-worker.ts", import.meta.url).href);

export function evaluations({ atOnce, seconds, smallBytes }: EvaluationLimits = EVALUATION_LIMITS): Evaluations {
  const names = ["A large evaluation question", "large evaluation questions"] as const;
  const limited = onePerCustomer({ atOnce, retryAfterSeconds: RETRY_SECONDS, names });
  return {
    async answer(lists, question, { customer, caller }) {
      const small = lists.packedBytes <= smallBytes ? await lists.read() : undefined;
      if (small && unpackedBytes(small) <= smallBytes) return answerQuestion(decodeDetail(small), question);
      const timeout = AbortSignal.timeout(seconds * 1000);
      return limited(customer, async () => {
        try {
          const bytes = small ?? (await lists.read());
          return answerOf(await inThread({ bytes, question }, AbortSignal.any([caller, timeout])));
        } catch (error) {
          if (caller.aborted) throw new Problem("invalid_parameter", "The caller did not wait for the answer.");
          if (!timeout.aborted) throw error;
          const detail = `The answer was not there within ${seconds} seconds.`;
          throw new Problem("overloaded", detail, { retryAfterSeconds: RETRY_SECONDS });
        }
      });
    },
  };
}

/** The unpacked size, which a gzip file has in its last four bytes. Other files fail to decode soon after. */
const unpackedBytes = ({ buffer, byteOffset, length }: Uint8Array) =>
  length < 4 ? 0 : new DataView(buffer, byteOffset).getUint32(length - 4, true);

function answerOf(result: EvaluationResult): EvaluationAnswer {
  if (result.kind === "answer") return result.answer;
  if (result.kind === "unreadable") throw new FormatError(result.message);
  throw new Problem(result.code, result.detail, { errors: result.errors });
}

/**
 * A thread is enough here, where dry runs need a process: the trainer wrote the bytes itself, no native code or secret is
 * involved, and a thread can be ended at any time.
 */
async function inThread(workerData: EvaluationJob, signal: AbortSignal): Promise<EvaluationResult> {
  signal.throwIfAborted();
  const resourceLimits = { maxOldGenerationSizeMb: HEAP_MB_MAX };
  const worker = new Worker(PROGRAM, { workerData, resourceLimits, execArgv: [], env: {} });
  try {
    return await new Promise<EvaluationResult>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      worker.once("message", resolve);
      worker.once("error", reject);
      worker.once("exit", () => reject(new Error("The thread of an evaluation ended without an answer.")));
    });
  } finally {
    await worker.terminate();
  }
}
