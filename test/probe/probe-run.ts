import { randomUUID } from "node:crypto";
import * as z from "zod";
import { appendPooled } from "../../trainer/learn/neural/pooled-export.ts";
import { exportScores } from "../../trainer/learn/scoring/scoring-graph.ts";

/** A model to be opened: its graph in base64, its weights without content, and the memory of its catalog. */
export type MemoryRequest = {
  readonly graph: string;
  readonly weights: readonly { readonly path: string; readonly size: number }[];
  readonly itemCount: number;
  readonly scriptBytes: number;
};

const Clock = z.object({ computedMs: z.number(), waitedMs: z.number() });
const Cached = z.object({ isHit: z.boolean() });
const Memory = z.object({ heapBytes: z.number(), scriptBytes: z.number() });

export type ProbeReport = {
  /** The clock did not move while the Worker computed for tens of milliseconds. */
  readonly isFrozen: boolean;
  /** Of the calls after the first one. */
  readonly cacheHits: number;
  readonly cacheCalls: number;
  /** The memory of the model; or why it could not be opened. */
  readonly memory: { readonly heapBytes: number; readonly scriptBytes: number } | { readonly fault: string };
};

const CACHE_CALLS = 20;
const WIDTH = 64;
const WEIGHT_BYTES_MAX = 80 * 2 ** 20;
/** JavaScript memory of a catalog with integer ids and a few attributes. */
const SCRIPT_BYTES_PER_ITEM = 20;
const TIMEOUT_MS = 120_000;

/** Measures a probe that runs at this address. */
export async function probeAt(url: string, itemCount: number): Promise<ProbeReport> {
  const ask = async <Answer>(path: string, schema: z.ZodType<Answer>, init: RequestInit = {}) => {
    const answer = await fetch(url + path, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${(await answer.text()).slice(0, 200)}`);
    return schema.parse(await answer.json());
  };
  const { computedMs } = await ask("/clock", Clock);
  const id = randomUUID();
  const hits: boolean[] = [];
  for (let call = 0; call <= CACHE_CALLS; call++) hits.push((await ask(`/cache?id=${id}`, Cached)).isHit);
  const body = JSON.stringify(modelOf(itemCount));
  const memory = await ask("/memory", Memory, { method: "POST", body }).catch((error: unknown) => ({
    fault: String(error),
  }));
  const cacheHits = hits.slice(1).filter(Boolean).length;
  return { isFrozen: computedMs === 0, cacheHits, cacheCalls: CACHE_CALLS, memory };
}

/** The published pooled model with an item matrix of bytes, for this number of items. */
function modelOf(itemCount: number): MemoryRequest {
  const shape = { itemCount, width: WIDTH, length: 50, ordered: false };
  const parameters = new Map([
    ["item_table", { value: new Float32Array(itemCount * WIDTH).fill(0.1), dims: [itemCount, WIDTH] }],
    ["projection", { value: new Float32Array(WIDTH * WIDTH).fill(0.1), dims: [WIDTH, WIDTH] }],
    ["everyone", { value: new Float32Array(WIDTH), dims: [WIDTH] }],
  ]);
  const { graph, weights } = exportScores("pooled", itemCount, (builder, items, budget) =>
    appendPooled(builder, items, { shape, parameters }, budget),
  )({ weightBytesMax: WEIGHT_BYTES_MAX });
  return {
    graph: Buffer.from(graph).toString("base64"),
    weights: weights.map(({ path, bytes }) => ({ path, size: bytes.length })),
    itemCount,
    scriptBytes: SCRIPT_BYTES_PER_ITEM * itemCount,
  };
}

/** The report in sentences. */
export function linesOf({ isFrozen, cacheHits, cacheCalls, memory }: ProbeReport, itemCount: number): string[] {
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
  const held =
    "fault" in memory
      ? `cannot be opened: ${memory.fault}`
      : `take ${megabytes(memory.heapBytes)} of WASM and ${megabytes(memory.scriptBytes)} of JavaScript`;
  return [
    `Clocks: ${isFrozen ? "stand still while the Worker computes" : "run on while the Worker computes"}.`,
    `Cache: ${cacheHits} hits of ${cacheCalls}.`,
    `Memory: ${itemCount} items ${held}.`,
  ];
}
