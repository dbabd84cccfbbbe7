/**
 * Measures how fast a core is over time. Virtual machines lose up to half of it to their neighbours, which does not
 * show as load. A separate process repeats the same work ten times a second and reports its CPU time and the time that
 * the host took away ("steal").
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { quantile } from "./bench.ts";
import { keepToCores } from "./keep-to-cores.ts";

const PROGRAM = new URL("core-pace-process.ts", import.meta.url).pathname;

export type Piece = {
  /** performance.now() of the receiving process. */
  readonly atMs: number;
  readonly cpuMs: number;
  /** Since boot. */
  readonly stolenMs: number;
};

type Time = { readonly fromMs: number; readonly toMs: number };

export type CorePace = {
  /** Sorted by time. */
  readonly pieces: readonly Piece[];
  stop(): void;
};

/** Watches one core, at a cost of about half a percent of it. */
export async function watchPace(core: string): Promise<CorePace> {
  const child = fork(PROGRAM, [core]);
  const pieces: Piece[] = [];
  child.on("message", (piece: Omit<Piece, "atMs">) => pieces.push({ atMs: performance.now(), ...piece }));
  await once(child, "message");
  keepToCores(child.pid!, core);
  return { pieces, stop: () => void child.kill() };
}

/** The slowest second's pace within an interval, relative to the median of all. Undefined without samples. */
export function slowestPace(pieces: readonly Piece[], time: Time) {
  const bySecond = Map.groupBy(within(pieces, time), ({ atMs }) => Math.floor(atMs / 1000));
  if (bySecond.size === 0) return undefined;
  return median(pieces) / Math.max(...[...bySecond.values()].map(median));
}

/** Milliseconds that the host took away within an interval. */
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
