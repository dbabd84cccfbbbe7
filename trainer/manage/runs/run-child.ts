/** A training run in a process of its own, which ends with exactly one outcome. */
import * as z from "zod";
import { clipped } from "../../../shared/clipped.ts";
import { CanaryState } from "../../../shared/experiment/canary.ts";
import { DataSummary, Failure, Progress, TrainingState } from "../../../shared/model-record.ts";
import { Quality, RefusedReport } from "../../../shared/run-record.ts";
import { accessTokenAnswer } from "../../read/connectors/bigquery/access-token.ts";
import type { LeaseAnswer, RunMessage, TrainingJob } from "../../run/training-run.ts";
import type { Stage } from "../../stage/stage-error.ts";
import { type ProcessEnd, type ProcessOptions, superviseProcess } from "../processes/supervised-process.ts";

export type ChildOptions = Omit<ProcessOptions, "input" | "onMessage" | "graceSeconds"> & {
  /** The program's first message. The program sends `RunMessage`s. */
  readonly job: TrainingJob;
  readonly graceSeconds?: number;
  /** Called for each message but the final one, which becomes the outcome. */
  readonly onMessage: (message: ProgressMessage) => void;
  /** Called when the process has removed what its job says is due. */
  readonly onErasedRemoved: () => void;
  /** Answers the process's question right before it publishes. */
  readonly ownsLease: () => Promise<boolean>;
};

export type ProgressMessage = Extract<RunMessage, { kind: "progress" | "data" }>;
type Final = Extract<RunMessage, { kind: "published" | "refused" | "failed" }>;

export type ChildResult = {
  /** `stopped`: by `signal`, or by a SIGTERM or SIGINT from outside. */
  readonly outcome: Final | { readonly kind: "stopped" };
  /** The method that was being tried when the process exceeded its memory. Without it the run may succeed. */
  readonly tooLarge: string | undefined;
  readonly seconds: number;
  readonly peakMb: number;
  readonly outputTail: string;
};

const GRACE_SECONDS = 5;
const OUT_OF_MEMORY = "out_of_memory";
const LESS_DATA = "Use less data, such as a shorter period in the query, or have the operator raise";
const STAGES: Readonly<Partial<Record<TrainingState, Stage>>> = {
  TRAINING: "training",
  EVALUATING: "evaluating",
  DEPLOYING: "deploying",
};

/** Runs the job to its end. Never rejects for what the process does. */
export async function runChild(options: ChildOptions): Promise<ChildResult> {
  const { job, signal, graceSeconds = GRACE_SECONDS } = options;
  if (signal.aborted)
    return { outcome: { kind: "stopped" }, tooLarge: undefined, seconds: 0, peakMb: 0, outputTail: "" };
  let stage: Stage = "fetching";
  let final: Final | undefined;
  let trying: string | undefined;
  const end = await superviseProcess({
    ...options,
    input: job,
    graceSeconds,
    onMessage(value, answer) {
      const message = parseRunMessage(value);
      if (message === undefined) return "wrong";
      if (message.kind === "owns_lease") {
        const { kind } = message;
        void options.ownsLease().then((owns_lease) => answer({ kind, owns_lease } satisfies LeaseAnswer));
        return "more";
      }
      if (message.kind === "erased_removed") {
        options.onErasedRemoved();
        return "more";
      }
      if (message.kind === "access_token") {
        void accessTokenAnswer(job.connectorSettings).then(answer);
        return "more";
      }
      if (message.kind === "trying") {
        trying = message.method;
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
  const sent = final as Final | undefined;
  // A process that is being ended may report this as its failure, which is not the cause. A publication is final.
  const isSent = sent !== undefined && !(sent.kind === "failed" && end.ended !== "");
  const { seconds, peakMb, outputTail } = end;
  const outcome = isSent ? sent : outcomeOf(end, stage, options);
  const isTooLarge = outcome.kind === "failed" && outcome.failure.code === OUT_OF_MEMORY;
  return { outcome, tooLarge: isTooLarge ? trying : undefined, seconds, peakMb, outputTail };
}

/** The outcome of a process that ended without sending one. */
function outcomeOf(end: ProcessEnd, stage: Stage, limits: ChildOptions) {
  const { ended, exit, heapExhausted } = end;
  const failed = (code: string, message: string, retryable: boolean): Final => {
    const failure: Omit<Failure, "at"> = { stage, code, message, retryable };
    return { kind: "failed", failure };
  };
  if (ended === "stopped") return { kind: "stopped" } as const;
  if (ended === "memory" || heapExhausted)
    return failed(
      OUT_OF_MEMORY,
      `The run needed more than ${limits.memoryMbMax} MB of memory. ${LESS_DATA} SHORTLIST_RUN_MEMORY_MB.`,
      false,
    );
  if (ended === "disk")
    return failed(
      "disk_budget_exceeded",
      `The run needed more than ${limits.disk.bytesMax} bytes of disk. ${LESS_DATA} SHORTLIST_RUN_DISK_BYTES, or free disk space.`,
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
      "The system ended the run's process, most likely because the trainer's machine ran out of memory. It is tried again.",
      true,
    );
  const how = exit.error ?? (exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`);
  return failed(
    "run_crashed",
    `The run's process ended without a result (${how}). The operator's log tells more.`,
    true,
  );
}

const TEXT_MAX = 4000;
const shortText = z.string().transform((text) => (text.length > TEXT_MAX ? `${clipped(text, TEXT_MAX)}…` : text));
const Metrics = z.looseObject({ method: z.string().max(100), baseline: z.record(z.string(), z.number()) });

const Message = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("progress"), state: TrainingState, progress: Progress }),
  z.object({ kind: z.literal("data"), data: DataSummary }),
  z.object({ kind: z.literal("trying"), method: z.string().max(100).optional() }),
  z.object({ kind: z.literal("erased_removed") }),
  z.object({ kind: z.literal("owns_lease") }),
  z.object({ kind: z.literal("access_token") }),
  z.object({
    kind: z.literal("published"),
    version: z.string().min(1).max(64),
    itemIdType: z.enum(["string", "integer"]),
    metrics: Metrics,
    quality: Quality.nullable(),
    canary: CanaryState.optional(),
    report: RefusedReport.optional(),
  }),
  z.object({
    kind: z.literal("refused"),
    reasons: z.array(shortText).max(100),
    quality: Quality.nullable(),
    report: RefusedReport,
  }),
  z.object({
    kind: z.literal("failed"),
    failure: Failure.omit({ at: true }).extend({ message: shortText }),
  }),
]);

/** A message of a run's process, or undefined when the value is no valid message. */
export function parseRunMessage(value: unknown): RunMessage | undefined {
  const parsed = Message.safeParse(value);
  return parsed.success ? (parsed.data as RunMessage) : undefined;
}
