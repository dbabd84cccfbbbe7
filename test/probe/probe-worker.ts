/** A Worker that shows what the runtime around it does. It uses the edge's scorer, and nothing else of the edge. */
import { PIECE_BYTES } from "../../edge/reading/pieces.ts";
import { heapBytes, openScorer, warmUp } from "../../edge/versions/scorer.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import type { MemoryRequest } from "./probe-run.ts";

await warmUp();

const LOOPS = 5e7;
/** What the isolate holds, as a loaded version would. */
const held: unknown[] = [];

/** Whether the clock stands still while the Worker computes, and moves when it waits. */
async function clock() {
  const beforeMs = Date.now();
  for (let i = 0; i < LOOPS; i++);
  const computedMs = Date.now() - beforeMs;
  await scheduler.wait(5);
  return { computedMs, waitedMs: Date.now() - beforeMs - computedMs };
}

/** Whether the data centre's cache has the entry, which is written otherwise. */
async function cached(id: string) {
  const address = `https://probe.shortlist.invalid/${id}`;
  const isHit = (await caches.default.match(address)) !== undefined;
  const headers = { "cache-control": "public, max-age=60" };
  if (!isHit) await caches.default.put(address, new Response("probe", { headers }));
  return { isHit };
}

/** Opens a model of the given size and ranks with it. The weights are made here. */
async function memory({ graph, weights, itemCount, scriptBytes }: MemoryRequest) {
  async function* pieces(size: number) {
    for (let offset = 0; offset < size; offset += PIECE_BYTES)
      yield { offset, bytes: new Uint8Array(Math.min(PIECE_BYTES, size - offset)).fill(1) };
  }
  const files = weights.map(({ path, size }) => ({ path, size, pieces: () => pieces(size) }));
  const bytes = Uint8Array.from(atob(graph), (character) => character.charCodeAt(0));
  const scorer = await openScorer(bytes, files, itemCount);
  held.push(scorer, new Uint8Array(scriptBytes).fill(1));
  const scores = await scorer.score({ items: [1, 2, 3] as ItemIndex[], agesDays: [0, 0, 0] });
  return { heapBytes: heapBytes(), scriptBytes: scriptBytes + scores.byteLength };
}

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/clock") return Response.json(await clock());
    if (pathname === "/cache") return Response.json(await cached(searchParams.get("id") ?? ""));
    if (pathname === "/memory") return Response.json(await memory(await request.json()));
    return new Response(null, { status: 404 });
  },
};
