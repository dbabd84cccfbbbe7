import type { EdgeWorld } from "../fixtures/edge-world.ts";
import type { BenchContext, Figure } from "./bench.ts";
import { watchIsolate } from "./edge-scale-isolate.ts";

const SAMPLE_EVERY_MS = 500;
/** Longer than V8 leaves garbage uncollected, so a window's least sample is near what is alive. */
const WINDOW_MS = 30_000;
const WINDOWS_MIN = 4;
/** Caches are full after this time. */
const CACHES_FILL_MS = 60_000;
const GROWTH_MB_MAX = 10;

export type MemoryWatch = {
  /** The figures of the time since the watch began. Fails the bench when memory has grown. */
  end(): Figure[];
  /** What is alive now. To be called when all calls are over, since it holds up the thread. */
  live(): Promise<Figure>;
};

/**
 * The isolate's memory under load: JavaScript's heap, and the WASM heap as it was when a version was loaded last. Growth is the
 * difference between the least samples of the earlier and of the later windows, once caches are full.
 */
export async function watchMemory(edge: EdgeWorld, context: BenchContext): Promise<MemoryWatch> {
  const watch = await watchIsolate(edge, SAMPLE_EVERY_MS);
  const begin = performance.now();
  const windows: { readonly minute: number; readonly mb: number }[] = [];
  let mostMb = 0;
  /** The least sample since the last call. */
  const leastMb = () => {
    const [script, heap] = [watch.scriptMb(), heapMb(edge)];
    mostMb = Math.max(mostMb, script.most + heap);
    return script.least + heap;
  };
  const closeWindow = () => windows.push({ minute: (performance.now() - begin) / 60_000, mb: leastMb() });
  const timer = setInterval(closeWindow, WINDOW_MS);
  return {
    end() {
      clearInterval(timer);
      leastMb(); // an unfinished window counts for the most alone
      const most: Figure = { name: "load.memory.most", value: mostMb, unit: "MB" };
      const full = windows.slice(CACHES_FILL_MS / WINDOW_MS);
      if (full.length < WINDOWS_MIN) return [most];
      const middle = Math.floor(full.length / 2);
      const leastOf = (half: typeof full) => Math.min(...half.map(({ mb }) => mb));
      const [start, end] = [leastOf(full.slice(0, middle)), leastOf(full.slice(middle))];
      if (end - start > GROWTH_MB_MAX) context.fail(`memory grew from ${start.toFixed(0)} to ${end.toFixed(0)} MB`);
      return [
        { name: "load.memory.start", value: start, unit: "MB" },
        { name: "load.memory.end", value: end, unit: "MB" },
        { name: "load.memory.slope", value: slopeOf(full), unit: "MB/min" },
        most,
      ];
    },
    async live() {
      const value = (await watch.liveMb()) + heapMb(edge);
      watch.stop();
      return { name: "load.memory.live", value, unit: "MB" };
    },
  };
}

function heapMb(edge: EdgeWorld): number {
  const line = edge.log.findLast((text) => text.includes("version_loaded"));
  return line ? (JSON.parse(line) as { heap_bytes: number }).heap_bytes / 1e6 : 0;
}

/** The slope of the least-squares line. */
function slopeOf(points: readonly { readonly minute: number; readonly mb: number }[]): number {
  const mean = (of: (point: { minute: number; mb: number }) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [minute, mb] = [mean((point) => point.minute), mean((point) => point.mb)];
  const spread = mean((point) => (point.minute - minute) ** 2);
  return spread === 0 ? 0 : mean((point) => (point.minute - minute) * (point.mb - mb)) / spread;
}
