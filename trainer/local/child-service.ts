import { type ChildProcess, fork } from "node:child_process";
import { createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { LocalError } from "./local-error.ts";

export type ChildOptions = {
  /** As people call it: `edge`, `trainer`. */
  readonly name: string;
  /** The program, a TypeScript file, by its path. */
  readonly program: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly logPath: string;
  /** Modules loaded before the program, by their paths. */
  readonly preload?: readonly string[];
  /** Further flags of Node. */
  readonly flags?: readonly string[];
};

/** A part of the service in a process of its own. */
export type ChildService = {
  readonly pid: number;
  /** The next message that the process sends over IPC. Rejects when it ends first. */
  message(): Promise<unknown>;
  /** Rejects with a LocalError when the process ends without having been stopped; never resolves. */
  readonly failed: Promise<never>;
  /** Asks it to end and waits; after `graceMs`, or at once when that is 0, ends it and everything it has started. */
  stop(graceMs: number): Promise<void>;
};

const TAIL_BYTES = 4096;

/**
 * Starts a program in a process group of its own, so that Ctrl-C at the terminal reaches only us and we end the parts
 * in order. Its output goes to a log file. When we die, its IPC channel closes, which tells it to end.
 */
export function startChild(options: ChildOptions): ChildService {
  const child = fork(options.program, [], {
    cwd: options.cwd,
    env: { ...options.env } as NodeJS.ProcessEnv,
    execPath: process.execPath,
    execArgv: [
      "--no-warnings",
      ...(options.preload ?? []).flatMap((path) => ["--import", pathToFileURL(path).href]),
      ...(options.flags ?? []),
    ],
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
      `The ${options.name} ended by itself (${how})${tail && `: ${tail}`}; its log is ${options.logPath}.`,
    );
  });
  failed.catch(() => undefined); // whoever waits is told; nobody waiting is not a crash

  return {
    pid: child.pid ?? -1,
    message: () => Promise.race([failed, new Promise<unknown>((resolve) => child.once("message", resolve))]),
    failed,
    async stop(graceMs) {
      isStopping = true;
      if (child.pid === undefined) return;
      if (isRunning(child) && graceMs > 0) {
        child.kill("SIGTERM");
        await Promise.race([ended, timer(graceMs)]);
      }
      signalGroup(child.pid, "SIGKILL"); // whatever it has started and left behind goes too
      await ended;
    },
  };
}

const isRunning = (child: ChildProcess) => child.exitCode === null && child.signalCode === null;

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // ESRCH: the whole group has ended
  }
}

/** Does not keep the process alive. */
const timer = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());

/** The last line of a log that says something; empty when there is none. */
async function lastLine(path: string): Promise<string> {
  const file = await open(path, "r").catch(() => undefined);
  if (file === undefined) return "";
  try {
    const { size } = await file.stat();
    const length = Math.min(size, TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(new Uint8Array(length), 0, length, size - length);
    const lines = new TextDecoder().decode(buffer.subarray(0, bytesRead)).split("\n");
    const telling = lines
      .map((line) => line.trim())
      .filter((line) => line !== "" && !/^(at |Node\.js v|\})/.test(line));
    const named = telling.findLast((line) => /Error: /.test(line)) ?? telling.findLast((line) => /error/i.test(line));
    return (named ?? telling.at(-1) ?? "").slice(0, 300);
  } finally {
    await file.close();
  }
}
