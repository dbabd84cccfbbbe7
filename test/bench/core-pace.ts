/**
 * How fast a core is, in time: virtual machines lose up to half of it to their neighbours, and it does not show as load. A process
 * of its own does the same piece of work ten times a second and tells what CPU time it took, waiting for the core not counted. And
 * for how long the host has kept the core for others altogether ("steal").
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { quantile } from "./bench.ts";
import { keepToCores } from "./keep-to-cores.ts";

const PROGRAM = new URL("core-pace-process.ts", import.meta.url).pathname;

export type Piece = {
  /** On the clock of performance.now() of who listens. */
  readonly atMs: number;
  /** CPU time of one piece of work. */
  readonly cpuMs: number;
  /** Since the machine was started. */
  readonly stolenMs: number;
};

type Time = { readonly fromMs: number; readonly toMs: number };

export type CorePace = {
  /** Ascending by time. */
  readonly pieces: readonly Piece[];
  stop(): void;
};

/** Watches one core, about half a percent of which it takes. */
export async function watchPace(core: string): Promise<CorePace> {
  const child = fork(PROGRAM, [core]);
  const pieces: Piece[] = [];
  child.on("message", (told: Omit<Piece, "atMs">) => pieces.push({ atMs: performance.now(), ...told }));
  await once(child, "message");
  keepToCores(child.pid!, core);
  return { pieces, stop: () => void child.kill() };
}

/**
 * The pace within some time, as a share of the usual one, the median of all: by the slowest second in it.
 * Undefined where there is nothing to compare.
 */
export function slowestPace(pieces: readonly Piece[], time: Time) {
  const bySecond = Map.groupBy(within(pieces, time), ({ atMs }) => Math.floor(atMs / 1000));
  if (bySecond.size === 0) return undefined;
  return median(pieces) / Math.max(...[...bySecond.values()].map(median));
}

/** For how long the host kept the core for others within some time. */
export function stolenMs(pieces: readonly Piece[], time: Time): number {
  const own = within(pieces, time);
  return own.length === 0 ? 0 : own.at(-1)!.stolenMs - own[0]!.stolenMs;
}

const within = (pieces: readonly Piece[], { fromMs, toMs }: Time) =>
  pieces.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);

const median = (pieces: readonly Piece[]) =>
  quantile(
    pieces.map(({ cpuMs }) => cpuMs),
    0.5,
  );
