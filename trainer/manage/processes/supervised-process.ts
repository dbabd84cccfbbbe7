/**
 * A program in a process of its own: whatever it does, it is bounded in memory and time, it can be stopped, it ends
 * with this process, and it always comes to an end.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setPriority } from "node:os";
import type { Readable } from "node:stream";
import { residentMb } from "./process-memory.ts";

export type ProcessOptions = {
  /** The program's path. */
  readonly program: string;
  /** Its first message, as JSON. */
  readonly input: object;
  /** All that it sees of the environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly memoryMbMax: number;
  readonly secondsMax: number;
  /** Between the polite request to end and the end. */
  readonly graceSeconds: number;
  readonly signal: AbortSignal;
  /** Takes what it sends, and may answer. `last`: it should end by itself now. `wrong`: it is ended. */
  readonly onMessage: (value: unknown, answer: (value: object) => void) => "more" | "last" | "wrong";
};

export type ProcessEnd = {
  /** Why it was ended from here; empty when it ended by itself. */
  readonly ended: "" | EndReason;
  readonly exit: Exit;
  /** It ran out of JavaScript heap. */
  readonly heapExhausted: boolean;
  readonly seconds: number;
  readonly peakMb: number;
  /** The last lines that it wrote, for the operator's log: not cleaned of secrets. */
  readonly outputTail: string;
};

export type EndReason = "stopped" | "deadline" | "memory" | "protocol";
export type Exit = { readonly code: number | null; readonly signal: string | null; readonly error: string | undefined };

const MEMORY_CHECK_MS = 250;
const TAIL_CHARACTERS = 8192;

/** Runs the program to its end. Never rejects for what the process does. */
export async function superviseProcess(options: ProcessOptions): Promise<ProcessEnd> {
  const { input, signal, memoryMbMax, secondsMax, graceSeconds } = options;
  const startedMs = performance.now();
  const child = startProcess(options);
  const tail = tailOf(child);
  let ended: "" | EndReason = "";
  let isDone = false;
  const timers: NodeJS.Timeout[] = [];
  const killLater = () => timers.push(setTimeout(() => child.kill("SIGKILL"), graceSeconds * 1000));
  const end = (reason: EndReason, how: "SIGTERM" | "SIGKILL") => {
    ended ||= reason;
    child.kill(how);
    if (how === "SIGTERM") killLater();
  };
  const onAbort = () => end("stopped", "SIGTERM");
  timers.push(setTimeout(() => end("deadline", "SIGTERM"), secondsMax * 1000));
  const memory = watchMemory(child, memoryMbMax, () => end("memory", "SIGKILL"));
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  child.on("message", (value) => {
    if (isDone) return;
    const next = options.onMessage(value, (answer) => child.connected && child.send(answer, () => {}));
    if (next === "wrong") end("protocol", "SIGKILL");
    if (next !== "last") return;
    isDone = true;
    killLater(); // what is done is done: a process that does not end by itself is helped
  });
  // A process that ends before it has read this is told by its exit; one for which no pipe was left has no channel at all.
  child.send?.(input, () => {});
  const exit = await exitOf(child);
  for (const timer of timers) clearTimeout(timer);
  signal.removeEventListener("abort", onAbort);
  const outputTail = tail();
  const heapExhausted = /heap out of memory|allocation failed/i.test(outputTail);
  const seconds = (performance.now() - startedMs) / 1000;
  return { ended, exit, heapExhausted, seconds, peakMb: memory.stop(), outputTail };
}

function startProcess({ program, environment, memoryMbMax }: ProcessOptions): ChildProcess {
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
    // Waited for at once: a process that could not be started fails both.
    const [closed] = await Promise.all([once(child, "close"), disconnected]);
    const [code, signal] = closed as [number | null, string | null];
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
