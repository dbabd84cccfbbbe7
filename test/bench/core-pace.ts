/**
 * How fast a core is, in time: virtual machines lose up to half of it to their neighbours, and it does not show as load. A process
 * of its own does the same piece of work ten times a second and tells what CPU time it took, waiting for the core not counted.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { quantile } from "./bench.ts";
import { keepToCores } from "./keep-to-cores.ts";

const PROGRAM = new URL("core-pace-process.ts", import.meta.url).pathname;

/** CPU time of one piece of work, and when, on the clock of performance.now() of who listens. */
export type Piece = { readonly atMs: number; readonly cpuMs: number };

export type CorePace = {
  /** Ascending by time. */
  readonly pieces: readonly Piece[];
  stop(): void;
};

/** Watches one core, about half a percent of which it takes. */
export async function watchPace(core: string): Promise<CorePace> {
  const child = fork(PROGRAM);
  const pieces: Piece[] = [];
  child.on("message", (cpuMs: number) => pieces.push({ atMs: performance.now(), cpuMs }));
  await once(child, "message");
  keepToCores(child.pid!, core);
  return { pieces, stop: () => void child.kill() };
}

/**
 * The pace within some time, as a share of the usual one, the median of all: by the slowest second in it.
 * Undefined where there is nothing to compare.
 */
export function slowestPace(pieces: readonly Piece[], { fromMs, toMs }: { fromMs: number; toMs: number }) {
  const bySecond = Map.groupBy(
    pieces.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs),
    ({ atMs }) => Math.floor(atMs / 1000),
  );
  if (bySecond.size === 0) return undefined;
  return median(pieces) / Math.max(...[...bySecond.values()].map(median));
}

const median = (pieces: readonly Piece[]) =>
  quantile(
    pieces.map(({ cpuMs }) => cpuMs),
    0.5,
  );
