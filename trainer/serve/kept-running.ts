import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { LocalError } from "../local/local-error.ts";

export type Program = {
  /** As shown in messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The port of loopback on which the program listens when it is ready. */
  readonly port: number;
};

/** A program that is started again when it ends. */
export type KeptRunning = {
  /** Resolves when the program listens for the first time. Rejects if it ends before. */
  readonly ready: Promise<void>;
  /** Rejects when the program ends again and again. Never resolves. */
  readonly failed: Promise<never>;
  /** How often it was started again. */
  restarts(): number;
  /** Asks the program to end (SIGTERM), and kills it after `graceMs`. */
  stop(graceMs: number): Promise<void>;
};

const READY_MS = 60_000;
const POLL_MS = 50;
const PAUSE_MS = 500;
/** More ends than this within the window mean that starting again does not help. */
const ENDS_MAX = 5;
const WINDOW_MS = 60_000;
/**
 * Runs a program that ends with this process, however that ends: the kernel then closes descriptor 3, and the watcher kills the program.
 * Otherwise a second start would meet two processes with the same Durable Objects.
 */
const WATCHED =
  '"$@" 3<&- & pid=$!; trap "kill -TERM $pid" TERM; { cat <&3 >/dev/null; kill -9 $pid 2>/dev/null; } & wait $pid; code=$?; wait $pid 2>/dev/null; exit $code';

export function keepRunning(program: Program, onRestart: (reason: string) => void = () => {}): KeptRunning {
  let child!: ChildProcess;
  let isStopping = false;
  let restarts = 0;
  const ends: number[] = [];
  const start = () => {
    child = spawn("sh", ["-c", WATCHED, "sh", program.command, ...program.args], {
      env: { ...program.env } as NodeJS.ProcessEnv,
      stdio: ["ignore", "inherit", "inherit", "pipe"], // its lines are the log of the service
      detached: true, // Ctrl-C reaches only this process, which stops its programs in order
    });
    return once(child, "exit");
  };
  let ended = start();
  const ready = listening(program, () => ended);
  const failed = (async (): Promise<never> => {
    for (;;) {
      const [code, signal] = (await ended) as [number | null, string | null];
      child.stdio[3]?.destroy();
      if (isStopping) return new Promise(() => {});
      const nowMs = performance.now();
      ends.push(nowMs);
      const how = `${program.name} ended (${signal ?? `code ${code}`})`;
      if (ends.filter((ms) => nowMs - ms < WINDOW_MS).length > ENDS_MAX) throw new LocalError(`${how}.`);
      onRestart(how);
      await setTimeout(PAUSE_MS);
      if (isStopping) return new Promise(() => {});
      restarts++;
      ended = start();
    }
  })();
  for (const promise of [ready, failed]) promise.catch(() => undefined); // an unobserved rejection must not end this process
  return {
    ready,
    failed,
    restarts: () => restarts,
    async stop(graceMs) {
      isStopping = true;
      child.kill("SIGTERM");
      await Promise.race([ended, setTimeout(graceMs, undefined, { ref: false })]);
      child.stdio[3]?.destroy();
      try {
        process.kill(-child.pid!, "SIGKILL");
      } catch {} // nothing of the process group is left
      await ended;
    },
  };
}

async function listening({ name, port }: Program, ended: () => Promise<unknown>): Promise<void> {
  let hasEnded = false;
  ended().then(() => {
    hasEnded = true;
  });
  for (const startedMs = performance.now(); performance.now() - startedMs < READY_MS; await setTimeout(POLL_MS)) {
    if (hasEnded) throw new LocalError(`${name} ended while it started: see the lines above.`);
    if (await accepts(port)) return;
  }
  throw new LocalError(`${name} was not ready within ${READY_MS / 1000} s.`);
}

function accepts(port: number): Promise<boolean> {
  const socket = connect({ port, host: "127.0.0.1" });
  return new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
  }).finally(() => socket.destroy());
}
