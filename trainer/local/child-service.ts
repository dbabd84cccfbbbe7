import { type ChildProcess, fork } from "node:child_process";
import { createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { LocalError } from "./local-error.ts";

export type ChildOptions = {
  /** `edge` or `trainer`, as shown in messages. */
  readonly name: string;
  /** Path of the TypeScript file to run. */
  readonly program: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly logPath: string;
  /** Additional command line flags for Node. */
  readonly flags?: readonly string[];
};

/** The edge or the trainer, running in a separate process. */
export type ChildService = {
  readonly pid: number;
  /** The next IPC message of the process. Rejects if the process exits first. */
  message(): Promise<unknown>;
  /** Rejects with a LocalError if the process exits although nobody stopped it; never resolves. */
  readonly failed: Promise<never>;
  /** Sends SIGTERM and waits for `graceMs`, then kills the whole process group. With 0 it kills at once. */
  stop(graceMs: number): Promise<void>;
};

const TAIL_CHARACTERS = 4096;

/**
 * Starts a program in a separate process group. Ctrl-C then reaches only this process, which stops edge and trainer in
 * order. The program's output goes to a log file. If this process dies, the IPC channel closes and the program exits.
 */
export function startChild(options: ChildOptions): ChildService {
  const child = fork(options.program, [], {
    cwd: options.cwd,
    env: { ...options.env } as NodeJS.ProcessEnv,
    execPath: process.execPath,
    execArgv: ["--no-warnings", ...(options.flags ?? [])],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    detached: true,
  });
  const log = createWriteStream(options.logPath, { flags: "w", mode: 0o600 });
  child.stdout!.pipe(log, { end: false });
  child.stderr!.pipe(log, { end: false });

  let isStopping = false;
  const ended = new Promise<string>((resolve) => {
    child.once("close", (code, signal) => log.end(() => resolve(signal ?? `code ${code}`)));
    child.once("error", (error) => resolve(error.message));
  });
  const failed = ended.then(async (how): Promise<never> => {
    if (isStopping) return new Promise(() => {});
    const tail = await lastLine(options.logPath);
    throw new LocalError(
      `The ${options.name} stopped unexpectedly (${how})${tail && `: ${tail}`}; its log is ${options.logPath}.`,
    );
  });
  failed.catch(() => undefined); // an unobserved rejection must not crash this process

  return {
    pid: child.pid ?? -1,
    message: () => Promise.race([failed, new Promise<unknown>((resolve) => child.once("message", resolve))]),
    failed,
    async stop(graceMs) {
      isStopping = true;
      if (child.pid === undefined) return;
      if (isRunning(child) && graceMs > 0) {
        child.kill("SIGTERM");
        await Promise.race([ended, setTimeout(graceMs, undefined, { ref: false })]);
      }
      signalGroup(child.pid, "SIGKILL"); // also ends processes that the program has left behind
      await ended;
    },
  };
}

const isRunning = (child: ChildProcess) => child.exitCode === null && child.signalCode === null;

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // ESRCH: no process of the group is left
  }
}

/** The last error line of a log, else its last line; empty if there is none. */
async function lastLine(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch(() => "");
  const lines = text.slice(-TAIL_CHARACTERS).split("\n");
  const messages = lines.map((line) => line.trim()).filter((line) => line !== "" && !/^(at |Node\.js v|\})/.test(line));
  return (messages.findLast((line) => /error/i.test(line)) ?? messages.at(-1) ?? "").slice(0, 300);
}
