/**
 * Answers questions about an evaluation from the lists behind its report, small lists in this process and large ones in another, and
 * measures scenarios on such lists, always in another process.
 */
import { fileURLToPath } from "node:url";
import { FormatError } from "../../../shared/assert.ts";
import type { EvaluationAnswer, EvaluationQuestion, ScenarioFigures } from "../../../shared/evaluation-report.ts";
import { Problem, type ProblemCode, type ProblemPart } from "../../../shared/problem.ts";
import type { Scenario } from "../../../shared/scenario.ts";
import { answerQuestion } from "../../choose/report/answer-question.ts";
import { decodeDetail } from "../../choose/report/evaluation-detail.ts";
import { askProcess } from "../processes/ask-process.ts";
import { onePerCustomer } from "./one-per-customer.ts";

type QuestionJob = { readonly kind: "question"; readonly bytes: Uint8Array; readonly question: EvaluationQuestion };
type ScenarioJob = {
  readonly kind: "scenario";
  /** The replay of the evaluation. */
  readonly bytes: Uint8Array;
  readonly scenario: Scenario;
  /** Limit on the time for lists. The figures are of the lists that were made by then. */
  readonly secondsMax: number;
};

/** The input of the process. */
export type EvaluationJob = QuestionJob | ScenarioJob;

/** The answer of the process. */
export type EvaluationResult =
  | { readonly kind: "answer"; readonly answer: EvaluationAnswer | ScenarioFigures }
  | { readonly kind: "unreadable"; readonly message: string }
  | {
      readonly kind: "refused";
      readonly code: ProblemCode;
      readonly detail: string;
      readonly errors: readonly ProblemPart[];
    };

/** A stored file of up to some hundred megabytes, which is read only when its turn has come. */
export type StoredFile = {
  readonly packedBytes: number;
  /** Throws FormatError when the file is gone. */
  read(): Promise<Uint8Array>;
};

export type Evaluations = {
  /**
   * Answers a question from the lists. Ends when `caller` aborts.
   *
   * @throws FormatError for lists that cannot be read; Problem unknown_attribute; for large lists also rate_limited while
   * another question of the customer is in progress, and overloaded while too many others are or after the time limit.
   */
  answer(lists: StoredFile, question: EvaluationQuestion, asker: Asker): Promise<EvaluationAnswer>;
  /** Measures a scenario on the evaluation's lists. Ends and throws as `answer` does for large lists. */
  measure(replay: StoredFile, scenario: Scenario, asker: Asker): Promise<ScenarioFigures>;
};

export type Asker = { readonly customer: string; readonly caller: AbortSignal };

export type EvaluationLimits = {
  readonly atOnce: number;
  readonly seconds: number;
  /** Size of unpacked lists up to which this process answers: starting another one would take longer. */
  readonly smallBytes: number;
};

/** The time limit is below the edge's timeout for calls of the trainer (TRAINER_TIMEOUT_SECONDS, 30). */
const EVALUATION_LIMITS: EvaluationLimits = { atOnce: 2, seconds: 25, smallBytes: 2 ** 17 };

/** Fraction of the time limit in which lists with a scenario are made; the rest is for reading, starting and intervals. */
const LIST_FRACTION = 0.6;
const RETRY_SECONDS = 5;
const HEAP_MB_MAX = 1024;
const PROGRAM = fileURLToPath(new URL("./evaluation-child.ts", import.meta.url).href);

export function evaluations({ atOnce, seconds, smallBytes }: EvaluationLimits = EVALUATION_LIMITS): Evaluations {
  const names = ["A large evaluation question", "large evaluation questions"] as const;
  const limited = onePerCustomer({ atOnce, retryAfterSeconds: RETRY_SECONDS, names });
  const inTurn = (makeJob: () => Promise<EvaluationJob>, { customer, caller }: Asker) => {
    const timeout = AbortSignal.timeout(seconds * 1000);
    return limited(customer, async () => {
      try {
        return answerOf(await inProcess(await makeJob(), AbortSignal.any([caller, timeout])));
      } catch (error) {
        if (caller.aborted) throw new Problem("invalid_parameter", "The caller did not wait for the answer.");
        if (!timeout.aborted) throw error;
        const detail = `The answer was not there within ${seconds} seconds.`;
        throw new Problem("overloaded", detail, { retryAfterSeconds: RETRY_SECONDS });
      }
    });
  };
  return {
    async answer(lists, question, asker) {
      const small = lists.packedBytes <= smallBytes ? await lists.read() : undefined;
      if (small && unpackedBytes(small) <= smallBytes) return answerQuestion(decodeDetail(small), question);
      const job = async () => ({ kind: "question" as const, bytes: small ?? (await lists.read()), question });
      return (await inTurn(job, asker)) as EvaluationAnswer;
    },
    async measure(replay, scenario, asker) {
      const job = async () => {
        return { kind: "scenario" as const, bytes: await replay.read(), scenario, secondsMax: LIST_FRACTION * seconds };
      };
      return (await inTurn(job, asker)) as ScenarioFigures;
    },
  };
}

/** The unpacked size, which a gzip file has in its last four bytes. Other files fail to decode soon after. */
const unpackedBytes = ({ buffer, byteOffset, length }: Uint8Array) =>
  length < 4 ? 0 : new DataView(buffer, byteOffset).getUint32(length - 4, true);

function answerOf(result: EvaluationResult): EvaluationAnswer | ScenarioFigures {
  if (result.kind === "answer") return result.answer;
  if (result.kind === "unreadable") throw new FormatError(result.message);
  throw new Problem(result.code, result.detail, { errors: result.errors });
}

/** It needs no further limits: the process has run the same model before, and the size of the lists is limited by what an edge can load. */
const inProcess = (job: EvaluationJob, signal: AbortSignal): Promise<EvaluationResult> =>
  askProcess(job, { program: PROGRAM, heapMbMax: HEAP_MB_MAX, name: "an evaluation", signal });
