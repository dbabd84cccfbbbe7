import { MEGABYTE } from "../../shared/memory-cost.ts";
import type { BuiltVersion } from "../../trainer/store/version-files.ts";
import { type EdgeOptions, type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { childProcesses } from "./edge-scale-process.ts";
import { HISTORY_MAX, type ScaleWorld } from "./edge-scale-world.ts";
import { type HttpCaller, httpCaller } from "./http-caller.ts";

/** A running Worker with a function that makes timed calls. */
export type TimedEdge = EdgeWorld & { readonly http: HttpCaller };

/** Makes a rank call with a query string or a body. Throws for any answer but 200. */
export type RankCall = (edge: TimedEdge, query: string, body?: object) => Promise<string[]>;

const MODEL_PATH = "/v0/models/scale";
/** The memory budget for a million items with similarity and three bytes of attributes, as edge/README.md gives it. */
export const CACHE_MEGABYTES = 118;
export const RECORD_MEGABYTES = 8;

/** Publishes a world into the bucket in that folder; returns the version and a way to make rank calls. */
export async function publishWorld(
  r2Directory: string,
  { dataset, exported }: ScaleWorld,
): Promise<{ built: BuiltVersion; call: RankCall }> {
  return withEdge({ r2Directory }, async (publisher) => {
    const edgeMemoryBytes = CACHE_MEGABYTES * MEGABYTE;
    const built = await publisher.publish({
      modelName: "scale",
      dataset,
      exported,
      historyMax: HISTORY_MAX,
      edgeMemoryBytes,
    });
    const { key } = await publisher.issueKey();
    return { built, call: (edge, query, body) => rankCall(edge, { key, query, body }) };
  });
}

/** Starts a Worker on the bucket in that folder for the duration of the work, with the data centre's cache as in production. */
export async function withEdge<T>(
  options: EdgeOptions,
  work: (edge: TimedEdge, pid: number | undefined) => Promise<T>,
): Promise<T> {
  const others = new Set(childProcesses());
  const edge = await startEdge({
    hasCache: true,
    ...options,
    vars: {
      POINTER_CACHE_SECONDS: 4,
      KEY_CACHE_SECONDS: 25,
      CACHE_MEGABYTES,
      RECORD_MEGABYTES,
      QUEUE_MS_MAX: 10_000,
      LOG_SAMPLE_RATE: 0.1, // as in production
      RANK_TIMEOUT_MS: 28_000, // a busy machine loads a million items slowly
      ...options.vars,
    },
  });
  const http = httpCaller(edge.workerUrl);
  try {
    return await work(
      { ...edge, http },
      childProcesses().find((pid) => !others.has(pid)),
    );
  } finally {
    http.close();
    await edge.stop();
  }
}

async function rankCall(
  edge: TimedEdge,
  { key, query, body }: { readonly key: string; readonly query: string; readonly body: object | undefined },
): Promise<string[]> {
  const call = body && "item_id" in body ? "similar_items" : "rank";
  const { status, text } = await edge.http.call(`${MODEL_PATH}/${call}${query}`, {
    headers: { "x-api-key": key },
    body,
  });
  if (status !== 200) throw new Error(`The edge answered ${status}: ${text} ${edge.log.slice(-3).join(" ")}`);
  const answer = JSON.parse(text) as unknown[] | { items: { item_id: unknown }[] };
  return (Array.isArray(answer) ? answer : answer.items.map(({ item_id }) => item_id)).map(String);
}
