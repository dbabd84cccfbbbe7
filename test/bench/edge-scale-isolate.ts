import { once } from "node:events";
import * as z from "zod";
import type { EdgeWorld } from "../fixtures/edge-world.ts";

/** Memory of the Worker's isolate as reported by its debugger. The simulated bucket runs in other isolates. */
export type IsolateWatch = {
  /**
   * Lowest and highest JavaScript heap with buffers, without WASM, since the last call. The lowest is what remains
   * after a garbage collection.
   */
  scriptMb(): { readonly least: number; readonly most: number };
  /** The same right after a forced garbage collection. */
  liveMb(): Promise<number>;
  stop(): void;
};

const Target = z.looseObject({ id: z.string(), webSocketDebuggerUrl: z.string() });
const Usage = z.looseObject({ usedSize: z.number(), embedderHeapUsedSize: z.number(), backingStorageSize: z.number() });
const Answer = z.looseObject({ id: z.int().optional(), result: z.unknown() });
const USER_TARGET = "core:user:edge";

/** Samples every `everyMs`. The edge must be started with `isInspected`. */
export async function watchIsolate(edge: EdgeWorld, everyMs: number): Promise<IsolateWatch> {
  const url = await edge.inspectorUrl();
  const listed = await fetch(new URL("/json/list", url.href.replace(/^ws/, "http")));
  const target = z
    .array(Target)
    .parse(await listed.json())
    .find(({ id }) => id === USER_TARGET);
  if (!target) throw new Error(`The debugger knows no target ${USER_TARGET}.`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await once(socket, "open");
  let asked = 0;
  const waiting = new Map<number, (result: unknown) => void>();
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = Answer.parse(JSON.parse(String(data)));
    if (id !== undefined) waiting.get(id)?.(result);
  });
  const call = (method: string) =>
    new Promise<unknown>((resolve) => {
      const id = ++asked;
      waiting.set(id, (result) => {
        waiting.delete(id);
        resolve(result);
      });
      socket.send(JSON.stringify({ id, method }));
    });
  const usedMb = async () => {
    const used = Usage.parse(await call("Runtime.getHeapUsage"));
    return (used.usedSize + used.embedderHeapUsedSize + used.backingStorageSize) / 1e6;
  };
  let samples: number[] = [];
  const sample = async () => void samples.push(await usedMb());
  await sample();
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      await sample();
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  })();
  watching.catch(() => undefined); // the socket was closed
  return {
    scriptMb() {
      const taken = samples;
      samples = taken.slice(-1);
      return { least: Math.min(...taken), most: Math.max(...taken) };
    },
    async liveMb() {
      let isCollected = false;
      const collection = call("HeapProfiler.collectGarbage").finally(() => (isCollected = true));
      // workerd may leave the debugger waiting until a request comes.
      while (!isCollected) await (await edge.call("/health/live", { key: null })).arrayBuffer();
      await collection;
      return usedMb();
    },
    stop() {
      isOver = true;
      socket.close();
    },
  };
}
