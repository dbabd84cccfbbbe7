import { fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { LocalError } from "./local-error.ts";

export type ChildOptions = {
  /** `edge` or `trainer`, as shown in messages. */
  readonly name: string;
  /** Path of the TypeScript file to run. */
  readonly program: string;
  readonly args?: readonly string[];
  /** Flags for Node. */
  readonly flags?: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logPath: string;
};

/** The edge or the trainer, running in a separate process. */
export type ChildService = {
  /** Resolves with the first IPC message of the process, which it sends when it is ready. */
  readonly ready: Promise<unknown>;
  /** Rejects with a LocalError if the process exits although nobody stopped it; never resolves. */
  readonly failed: Promise<never>;
  /** Sends SIGTERM and waits for `graceMs`, then kills the whole process group. */
  stop(graceMs: number): Promise<void>;
};

const READY_MS = 180_000; // generous for a busy machine; an exit is noticed at once

/**
 * Starts a program in a separate process group. Ctrl-C then reaches only this process, which stops edge and trainer in
 * order. If this process dies, the IPC channel closes and the program ends.
 */
export function startChild({ name, program, args = [], flags = [], env, logPath }: ChildOptions): ChildService {
  const log = openSync(logPath, "w", 0o600);
  const child = fork(program, args, {
    cwd: join(import.meta.dirname, "../.."),
    env: { ...env } as NodeJS.ProcessEnv,
    execArgv: ["--no-warnings", ...flags],
    stdio: ["ignore", log, log, "ipc"],
    detached: true,
  });
  closeSync(log);

  let isStopping = false;
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? `code ${code}`));
    child.once("error", (error) => resolve(error.message));
  });
  const failed = ended.then(async (how): Promise<never> => {
    if (isStopping) return new Promise(() => {});
    const lines = (await readFile(logPath, "utf8")).trimEnd().split("\n");
    const reason = lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1);
    throw new LocalError(`The ${name} stopped unexpectedly (${how}): ${reason} (log: ${logPath})`);
  });
  const ready = once(child, "message", { signal: AbortSignal.timeout(READY_MS) }).catch(() => {
    throw new LocalError(`The ${name} was not ready within ${READY_MS / 1000} s; its log is ${logPath}.`);
  });
  for (const promise of [failed, ready]) promise.catch(() => undefined); // an unobserved rejection must not crash this process

  return {
    ready,
    failed,
    async stop(graceMs) {
      isStopping = true;
      child.kill("SIGTERM");
      await Promise.race([ended, setTimeout(graceMs, undefined, { ref: false })]);
      try {
        process.kill(-child.pid!, "SIGKILL"); // also ends processes that the program has left behind
      } catch {} // no process of the group is left
      await ended;
    },
  };
}
