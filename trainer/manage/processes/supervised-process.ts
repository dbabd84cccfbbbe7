/** A program in a process of its own: limited in memory and time, stoppable, and ended together with this process. */
import { type ChildProcess, execFile, fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setPriority } from "node:os";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { bytesIn, type DiskLimit } from "./disk-space.ts";

export type ProcessOptions = {
  /** The program's path. */
  readonly program: string;
  /** The program's first message, sent as JSON. */
  readonly input: object;
  /** The complete environment of the program. */
  readonly environment: Readonly<Record<string, string>>;
  readonly memoryMbMax: number;
  /** The folders that the program writes to, and the bytes that it may have in them together. */
  readonly disk: DiskLimit;
  readonly secondsMax: number;
  /** Time between SIGTERM and SIGKILL. */
  readonly graceSeconds: number;
  readonly signal: AbortSignal;
  /** Takes a message and may answer it. `last`: the program should end by itself now. `wrong`: the program is ended. */
  readonly onMessage: (value: unknown, answer: (value: object) => void) => "more" | "last" | "wrong";
};

export type ProcessEnd = {
  /** Why this process ended the program; empty when the program ended by itself. */
  readonly ended: "" | EndReason;
  readonly exit: Exit;
  readonly heapExhausted: boolean;
  readonly seconds: number;
  readonly peakMb: number;
  /** The end of the program's output, for the operator's log. It may contain secrets. */
  readonly outputTail: string;
};

export type EndReason = "stopped" | "deadline" | "memory" | "disk" | "protocol";
export type Exit = { readonly code: number | null; readonly signal: string | null; readonly error: string | undefined };

const MEMORY_CHECK_MS = 250;
const DISK_CHECK_MS = 500;
const TAIL_CHARACTERS = 8192;

/** Runs the program to its end. Never rejects because of the program. */
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
  const diskWatch = watchDisk(options.disk, () => end("disk", "SIGKILL"));
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  child.on("message", (value) => {
    if (isDone) return;
    const next = options.onMessage(value, (answer) => child.connected && child.send(answer, () => {}));
    if (next === "wrong") end("protocol", "SIGKILL");
    if (next !== "last") return;
    isDone = true;
    killLater(); // the result is there; a program that does not end by itself is killed
  });
  // If the program ends before it reads this, its exit is the result. If no pipe could be made, there is no channel.
  child.send?.(input, () => {});
  const exit = await exitOf(child);
  for (const timer of timers) clearTimeout(timer);
  clearInterval(diskWatch);
  signal.removeEventListener("abort", onAbort);
  const outputTail = tail();
  const heapExhausted = /heap out of memory|allocation failed/i.test(outputTail);
  const seconds = (performance.now() - startedMs) / 1000;
  return { ended, exit, heapExhausted, seconds, peakMb: memory.stop(), outputTail };
}

/**
 * For glibc (mallopt(3)): large arrays are given back to the system when they are freed, and threads do not keep heaps of their own. With
 * its defaults, freed arrays of up to 32 MB stay with the process and count as its memory.
 */
export const MALLOC = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "1000000", MALLOC_TRIM_THRESHOLD_: "8000000" };

function startProcess({ program, environment, memoryMbMax }: ProcessOptions): ChildProcess {
  const watch = new URL("./parent-watch.ts", import.meta.url).href;
  const child = fork(program, [], {
    execArgv: [
      `--max-old-space-size=${memoryMbMax}`,
      "--expose-gc",
      "--disable-warning=ExperimentalWarning",
      `--import=${watch}`,
    ],
    env: { ...environment, ...MALLOC, SHORTLIST_PARENT_PID: String(process.pid) },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  try {
    if (child.pid !== undefined) setPriority(child.pid, 10); // so that management calls are answered first
    // When the machine runs out of memory faster than it is checked, Linux ends this program rather than the trainer.
    if (process.platform === "linux") writeFileSync(`/proc/${child.pid}/oom_score_adj`, "1000");
  } catch {
    // The program has ended already, or the system forbids it. It works without.
  }
  return child;
}

/** The exit, once everything that was sent before has arrived. */
async function exitOf(child: ChildProcess): Promise<Exit> {
  try {
    const disconnected = child.connected ? once(child, "disconnect") : undefined;
    // Both are awaited together, since both reject when the process could not be started.
    const [closed] = await Promise.all([once(child, "close"), disconnected]);
    const [code, signal] = closed as [number | null, string | null];
    return { code, signal, error: undefined };
  } catch (error) {
    return { code: null, signal: null, error: error instanceof Error ? error.message : String(error) };
  }
}

function watchMemory(child: ChildProcess, memoryMbMax: number, exceed: () => void): { stop(): number } {
  let peakMb = 0;
  let isBusy = false;
  const timer = setInterval(async () => {
    if (isBusy || child.pid === undefined) return;
    isBusy = true;
    peakMb = Math.max(peakMb, (await residentMb(child.pid)) ?? 0);
    isBusy = false;
    if (peakMb > memoryMbMax) exceed();
  }, MEMORY_CHECK_MS);
  return {
    stop() {
      clearInterval(timer);
      return Math.round(peakMb);
    },
  };
}

function watchDisk({ folders, bytesMax }: DiskLimit, exceed: () => void): NodeJS.Timeout {
  let isBusy = false;
  return setInterval(async () => {
    if (isBusy) return;
    isBusy = true;
    if ((await bytesIn(folders)) > bytesMax) exceed();
    isBusy = false;
  }, DISK_CHECK_MS);
}

/** Resident memory of a process in MB; undefined when the process has ended or the system has no such figure. */
export async function residentMb(pid: number): Promise<number | undefined> {
  try {
    if (process.platform === "win32") return undefined;
    if (process.platform !== "linux") {
      const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)], { timeout: 2000 });
      return Number(stdout) / 1024;
    }
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
  } catch {
    return undefined;
  }
}

/** Keeps the end of the output. */
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
