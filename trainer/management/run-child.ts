/**
 * A training run in a process of its own: whatever it does, it is bounded in memory and time, it can be stopped, and
 * it ends with exactly one outcome.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setPriority } from "node:os";
import type { Readable } from "node:stream";
import type { Failure, TrainingState } from "../../shared/model-record.ts";
import type { Stage } from "../stage-error.ts";
import type { RunMessage, TrainingJob } from "../training-run.ts";
import { residentMb } from "./process-memory.ts";
import { parseRunMessage } from "./run-message.ts";

export type ChildOptions = {
  /** The program's path. It gets the job as its first message and answers in `RunMessage`s. */
  readonly program: string;
  readonly job: TrainingJob;
  /** All that the process sees of the environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly memoryMbMax: number;
  readonly secondsMax: number;
  /** Between the polite request to end and the end. */
  readonly graceSeconds?: number;
  readonly signal: AbortSignal;
  /** Progress and data, in order. The final message becomes the outcome. */
  readonly onMessage: (message: RunMessage) => void;
};

type Final = Extract<RunMessage, { kind: "published" | "refused" | "failed" }>;

export type ChildResult = {
  /** `stopped`: by `signal`, or by a signal from outside that asked the process to end. */
  readonly outcome: Final | { readonly kind: "stopped" };
  readonly seconds: number;
  readonly peakMb: number;
  /** The last lines that the process wrote, for the operator's log: not cleaned of secrets. */
  readonly outputTail: string;
};

const MEMORY_CHECK_MS = 250;
const TAIL_CHARACTERS = 8192;
const STAGES: Readonly<Partial<Record<TrainingState, Stage>>> = {
  TRAINING: "training",
  EVALUATING: "evaluating",
  DEPLOYING: "deploying",
};

/** Runs the job to its end. Never rejects for what the process does. */
export async function runChild(options: ChildOptions): Promise<ChildResult> {
  const { job, signal, memoryMbMax, secondsMax, graceSeconds = 5 } = options;
  if (signal.aborted) return { outcome: { kind: "stopped" }, seconds: 0, peakMb: 0, outputTail: "" };
  const startedMs = performance.now();
  const child = startProcess(options);
  const watched = { stage: "fetching" as Stage, final: undefined as Final | undefined, ended: "" as "" | EndReason };
  const tail = tailOf(child);
  const end = (reason: EndReason, how: "SIGTERM" | "SIGKILL") => {
    watched.ended ||= reason;
    child.kill(how);
    if (how === "SIGTERM") timers.push(setTimeout(() => child.kill("SIGKILL"), graceSeconds * 1000));
  };
  const onAbort = () => end("stopped", "SIGTERM");
  const timers = [setTimeout(() => end("deadline", "SIGTERM"), secondsMax * 1000)];
  const memory = watchMemory(child, memoryMbMax, () => end("memory", "SIGKILL"));
  signal.addEventListener("abort", onAbort);
  child.on("message", (value) => {
    const message = parseRunMessage(value);
    if (message === undefined) return end("protocol", "SIGKILL");
    if (watched.final !== undefined) return;
    if (message.kind === "progress") watched.stage = STAGES[message.state] ?? "fetching";
    if (message.kind === "progress" || message.kind === "data") return options.onMessage(message);
    watched.final = message;
    // What is done is done: a process that does not end by itself is helped.
    timers.push(setTimeout(() => child.kill("SIGKILL"), graceSeconds * 1000));
  });
  child.send(job, () => {}); // a process that ends before it has read the job is told by its exit
  const exit = await exitOf(child);
  for (const timer of timers) clearTimeout(timer);
  signal.removeEventListener("abort", onAbort);
  const outputTail = tail();
  const facts: Facts = { ...watched, exit, heapExhausted: /heap out of memory|allocation failed/i.test(outputTail) };
  const { final } = watched;
  // A process that is ended may still say that it failed, by being ended; what it had published is published.
  const isTold = final !== undefined && !(final.kind === "failed" && watched.ended !== "");
  return {
    outcome: isTold ? final : outcomeOf(facts, { memoryMbMax, secondsMax }),
    seconds: (performance.now() - startedMs) / 1000,
    peakMb: memory.stop(),
    outputTail,
  };
}

type EndReason = "stopped" | "deadline" | "memory" | "protocol";
type Exit = { readonly code: number | null; readonly signal: string | null; readonly error: string | undefined };
type Facts = {
  readonly ended: "" | EndReason;
  readonly stage: Stage;
  readonly exit: Exit;
  readonly heapExhausted: boolean;
};

function startProcess({ program, environment, memoryMbMax }: ChildOptions): ChildProcess {
  const watch = new URL("./parent-watch.ts", import.meta.url).href;
  const child = fork(program, [], {
    execArgv: [`--max-old-space-size=${memoryMbMax}`, "--disable-warning=ExperimentalWarning", `--import=${watch}`],
    env: environment,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  try {
    if (child.pid !== undefined) setPriority(child.pid, 10); // management answers first
  } catch {
    // It ended already, or the system forbids it: the run is none the worse for it.
  }
  return child;
}

/** The exit, once everything that was sent before has arrived. */
async function exitOf(child: ChildProcess): Promise<Exit> {
  try {
    const disconnected = child.connected ? once(child, "disconnect") : undefined;
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    await disconnected;
    return { code, signal, error: undefined };
  } catch (error) {
    return { code: null, signal: null, error: error instanceof Error ? error.message : String(error) };
  }
}

function watchMemory(child: ChildProcess, memoryMbMax: number, exceed: () => void): { stop(): number } {
  let peakMb = 0;
  let busy = false;
  const timer = setInterval(async () => {
    if (busy || child.pid === undefined) return;
    busy = true;
    peakMb = Math.max(peakMb, (await residentMb(child.pid)) ?? 0);
    busy = false;
    if (peakMb > memoryMbMax) exceed();
  }, MEMORY_CHECK_MS);
  return {
    stop() {
      clearInterval(timer);
      return Math.round(peakMb);
    },
  };
}

function tailOf(child: ChildProcess): () => string {
  let tail = "";
  const keep = (stream: Readable | null) =>
    stream?.setEncoding("utf8").on("data", (text: string) => {
      tail = (tail + text).slice(-TAIL_CHARACTERS);
    });
  keep(child.stdout);
  keep(child.stderr);
  return () => tail;
}

/** The outcome of a process that ended without telling one. */
function outcomeOf(facts: Facts, limits: { readonly memoryMbMax: number; readonly secondsMax: number }) {
  const { ended, stage, exit, heapExhausted } = facts;
  const failed = (code: string, message: string, retryable: boolean): Final => {
    const failure: Omit<Failure, "at"> = { stage, code, message, retryable };
    return { kind: "failed", failure };
  };
  if (ended === "stopped") return { kind: "stopped" } as const;
  if (ended === "memory" || heapExhausted)
    return failed(
      "out_of_memory",
      `The run needed more than the ${limits.memoryMbMax} MB of memory it may use. Use less data, such as a shorter period in the query, or have the operator raise SHORTLIST_RUN_MEMORY_MB.`,
      false,
    );
  if (ended === "deadline")
    return failed(
      "deadline_exceeded",
      `The run was stopped after ${limits.secondsMax} seconds, the longest it may take. Use less data, or have the operator raise SHORTLIST_RUN_SECONDS.`,
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
