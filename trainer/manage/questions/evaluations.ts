import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { FormatError } from "../../../shared/assert.ts";
import type { EvaluationAnswer, EvaluationQuestion } from "../../../shared/evaluation-report.ts";
import { Problem, type ProblemCode, type ProblemPart } from "../../../shared/problem.ts";
import { answerQuestion } from "../../choose/report/answer-question.ts";
import { decodeDetail } from "../../choose/report/evaluation-detail.ts";
import { onePerCustomer } from "../processes/one-per-customer.ts";

/** What the thread of an answer is given. */
export type EvaluationJob = { readonly bytes: Uint8Array; readonly question: EvaluationQuestion };

/** What it answers. */
export type EvaluationResult =
  | { readonly kind: "answer"; readonly answer: EvaluationAnswer }
  | { readonly kind: "unreadable"; readonly message: string }
  | {
      readonly kind: "refused";
      readonly code: ProblemCode;
      readonly detail: string;
      readonly errors: readonly ProblemPart[];
    };

/** A version's lists as they are stored: up to some hundred megabytes, so not read before there is a place for the answer. */
export type StoredLists = {
  readonly packedBytes: number;
  /** Throws FormatError when they are gone. */
  read(): Promise<Uint8Array>;
};

export type Evaluations = {
  /**
   * Answers a question from the lists. Ends when `caller` goes away.
   *
   * @throws FormatError for lists that are none; Problem unknown_attribute; for large files also rate_limited while the customer
   * has one under way, overloaded while too many others are or when the time is over.
   */
  answer(lists: StoredLists, question: EvaluationQuestion, asker: Asker): Promise<EvaluationAnswer>;
};

export type Asker = { readonly customer: string; readonly caller: AbortSignal };

export type EvaluationLimits = {
  readonly atOnce: number;
  readonly seconds: number;
  /** Lists of so many bytes, unpacked, are answered from in this thread: starting one takes longer. */
  readonly smallBytes: number;
};

/** Told before the edge gives up on its caller's behalf (TRAINER_TIMEOUT_SECONDS, 30). */
export const EVALUATION_LIMITS: EvaluationLimits = { atOnce: 2, seconds: 25, smallBytes: 2 ** 17 };

const RETRY_SECONDS = 5;
const HEAP_MB_MAX = 1024;
const PROGRAM = fileURLToPath(new URL("./evaluation-worker.ts", import.meta.url).href);

/** Answers from large lists are made in a thread of their own, so that every other call goes on meanwhile. */
export function evaluations({ atOnce, seconds, smallBytes }: EvaluationLimits = EVALUATION_LIMITS): Evaluations {
  const names = ["A large evaluation question", "large evaluation questions"] as const;
  const place = onePerCustomer({ atOnce, retryAfterSeconds: RETRY_SECONDS, names });
  return {
    async answer(lists, question, { customer, caller }) {
      const small = lists.packedBytes <= smallBytes ? await lists.read() : undefined;
      if (small && unpackedBytes(small) <= smallBytes) return answerQuestion(decodeDetail(small), question);
      const tooLate = AbortSignal.timeout(seconds * 1000);
      return place(customer, async () => {
        try {
          const bytes = small ?? (await lists.read());
          return answerOf(await inThread({ bytes, question }, AbortSignal.any([caller, tooLate])));
        } catch (error) {
          if (caller.aborted) throw new Problem("invalid_parameter", "The caller did not wait for the answer.");
          if (!tooLate.aborted) throw error;
          const detail = `The answer was not there within ${seconds} seconds.`;
          throw new Problem("overloaded", detail, { retryAfterSeconds: RETRY_SECONDS });
        }
      });
    },
  };
}

/** The length that a gzip file says of itself in its last bytes; what is none is refused soon anyway. */
const unpackedBytes = ({ buffer, byteOffset, length }: Uint8Array) =>
  length < 4 ? 0 : new DataView(buffer, byteOffset).getUint32(length - 4, true);

function answerOf(result: EvaluationResult): EvaluationAnswer {
  if (result.kind === "answer") return result.answer;
  if (result.kind === "unreadable") throw new FormatError(result.message);
  throw new Problem(result.code, result.detail, { errors: result.errors });
}

/**
 * A thread rather than a process as of dry runs: the bytes are our own, nothing but arithmetic is done with them, no secret or
 * native code is near, and a thread takes them as they are and can be ended at any moment.
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
