/** A training run in a process of its own, which ends with exactly one outcome. */
import type { Failure, TrainingState } from "../../../shared/model-record.ts";
import type { LeaseAnswer, RunMessage, TrainingJob } from "../../run/training-run.ts";
import type { Stage } from "../../stage/stage-error.ts";
import { type ProcessEnd, type ProcessOptions, superviseProcess } from "../processes/supervised-process.ts";
import { parseRunMessage } from "./run-message.ts";

export type ChildOptions = Omit<ProcessOptions, "input" | "onMessage" | "graceSeconds"> & {
  /** The program gets the job as its first message and answers in `RunMessage`s. */
  readonly job: TrainingJob;
  readonly graceSeconds?: number;
  /** In order. The final message becomes the outcome. */
  readonly onMessage: (message: ProgressMessage) => void;
  /** Whether the run may still publish, asked right before it does. */
  readonly ownsLease: () => Promise<boolean>;
};

/** What a run tells before it ends. */
export type ProgressMessage = Extract<RunMessage, { kind: "progress" | "data" }>;
type Final = Extract<RunMessage, { kind: "published" | "refused" | "failed" }>;

export type ChildResult = {
  /** `stopped`: by `signal`, or by a signal from outside that asked the process to end. */
  readonly outcome: Final | { readonly kind: "stopped" };
  readonly seconds: number;
  readonly peakMb: number;
  readonly outputTail: string;
};

const GRACE_SECONDS = 5;
const LESS_DATA = "Use less data, such as a shorter period in the query, or have the operator raise";
const STAGES: Readonly<Partial<Record<TrainingState, Stage>>> = {
  TRAINING: "training",
  EVALUATING: "evaluating",
  DEPLOYING: "deploying",
};

/** Runs the job to its end. Never rejects for what the process does. */
export async function runChild(options: ChildOptions): Promise<ChildResult> {
  const { job, signal, memoryMbMax, secondsMax, graceSeconds = GRACE_SECONDS } = options;
  if (signal.aborted) return { outcome: { kind: "stopped" }, seconds: 0, peakMb: 0, outputTail: "" };
  let stage: Stage = "fetching";
  let final: Final | undefined;
  const end = await superviseProcess({
    ...options,
    input: job,
    graceSeconds,
    onMessage(value, answer) {
      const message = parseRunMessage(value);
      if (message === undefined) return "wrong";
      if (message.kind === "owns_lease") {
        void options.ownsLease().then((owns_lease) => answer({ owns_lease } satisfies LeaseAnswer));
        return "more";
      }
      if (message.kind === "progress") stage = STAGES[message.state] ?? "fetching";
      if (message.kind === "progress" || message.kind === "data") {
        options.onMessage(message);
        return "more";
      }
      final = message;
      return "last";
    },
  });
  const told = final as Final | undefined;
  // A process that is ended may still say that it failed, by being ended; what it had published is published.
  const isTold = told !== undefined && !(told.kind === "failed" && end.ended !== "");
  const { seconds, peakMb, outputTail } = end;
  return { outcome: isTold ? told : outcomeOf(end, stage, { memoryMbMax, secondsMax }), seconds, peakMb, outputTail };
}

/** The outcome of a process that ended without telling one. */
function outcomeOf(
  end: ProcessEnd,
  stage: Stage,
  limits: { readonly memoryMbMax: number; readonly secondsMax: number },
) {
  const { ended, exit, heapExhausted } = end;
  const failed = (code: string, message: string, retryable: boolean): Final => {
    const failure: Omit<Failure, "at"> = { stage, code, message, retryable };
    return { kind: "failed", failure };
  };
  if (ended === "stopped") return { kind: "stopped" } as const;
  if (ended === "memory" || heapExhausted)
    return failed(
      "out_of_memory",
      `The run needed more than ${limits.memoryMbMax} MB of memory. ${LESS_DATA} SHORTLIST_RUN_MEMORY_MB.`,
      false,
    );
  if (ended === "deadline")
    return failed(
      "deadline_exceeded",
      `The run was stopped after ${limits.secondsMax} seconds. ${LESS_DATA} SHORTLIST_RUN_SECONDS.`,
      false,
    );
  if (exit.signal === "SIGTERM" || exit.signal === "SIGINT") return { kind: "stopped" } as const;
  if (exit.signal === "SIGKILL" && ended === "")
    return failed(
      "killed",
      "The system ended the run's process, most likely for want of memory on the trainer. It is tried again.",
      true,
    );
  const how = exit.error ?? (exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`);
  return failed(
    "run_crashed",
    `The run's process ended without a result (${how}). The operator's log tells more.`,
    true,
  );
}
