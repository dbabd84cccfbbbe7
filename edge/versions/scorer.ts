/**
 * Runs onnxruntime-web inside workerd. Only this file and weights-in-place.ts know how that works.
 *
 * workerd refuses to compile WebAssembly from bytes at run time. So the runtime's .wasm file is imported as a module, and handed to the
 * runtime while the first session is created. There is one thread and no proxy worker.
 *
 * The runtime keeps its arguments on one stack inside the WASM heap, so two calls must not interleave. Today a call consists only of
 * microtasks, which workerd finishes before it runs another request. The lock below guards against a later release of the runtime that
 * waits for other events. It polls, because a request hangs if it awaits a promise of another request that ends first.
 */
import wasmModule from "onnxruntime-web/ort-wasm-simd-threaded.wasm";
import { env, InferenceSession, Tensor } from "onnxruntime-web/wasm";
import { assert, FormatError } from "../../shared/assert.ts";
import { forEachConcurrently } from "../../shared/concurrently.ts";
import type { History } from "../../shared/snapshot.ts";
import { PIECE_BYTES, type Piece, wholeOf } from "../reading/pieces.ts";
import { growSparingly } from "./heap-growth.ts";
import { warmUpGraph } from "./warm-up-graph.ts";
import { weightPlaces } from "./weights-in-place.ts";

/** A loaded scoring graph. */
export type Scorer = {
  /** Float32Array(itemCount), higher is better. Never called with an empty history. */
  score(history: History): Promise<Float32Array>;
  /** The bytes of a weight file in the heap, valid until the next run. Absent if the runtime has them in another form. */
  readonly weightBytes?: ((path: string) => Uint8Array | undefined) | undefined;
  /** Returns the WASM memory to the runtime's allocator. The heap itself never shrinks. */
  release(): Promise<void>;
};

/** ONNX external data: `path` is the location that the graph names. */
export type Weights = {
  readonly path: string;
  readonly size: number;
  /** The bytes from first to last. Throws at the end if their digest is wrong. */
  readonly pieces: () => AsyncIterable<Piece>;
};

const LOCK_WAITS_MAX = 2000;
/** Files of one piece are read concurrently. Larger ones are read one after another, since each is read ahead anyway. */
const CONCURRENT_FILES = 3;
const isSmall = ({ size }: Weights) => size <= PIECE_BYTES;

/**
 * Opens a scoring graph. Weights are written to the runtime's heap piece by piece as they are read. Throws FormatError if its inputs or
 * outputs are not those of a scoring graph, and what reading the weights throws.
 */
export async function openScorer(graph: Uint8Array, weights: readonly Weights[], itemCount: number): Promise<Scorer> {
  const { session, weightBytes } = (await openInPlace(graph, weights)) ?? (await openWhole(graph, weights));
  const { inputNames, outputNames } = session;
  const unknown = inputNames.find((name) => name !== "items" && name !== "ages_days");
  if (unknown !== undefined || !outputNames.includes("scores")) {
    await exclusively(() => session.release());
    const found = `inputs ${JSON.stringify(inputNames)}, outputs ${JSON.stringify(outputNames)}`;
    throw new FormatError(
      `scoring graph: expected inputs among items, ages_days and the output scores; found ${found}`,
    );
  }
  return {
    score: (history) => exclusively(() => run(session, history, itemCount)),
    weightBytes,
    release: () => exclusively(() => session.release()),
  };
}

/** Size of the WASM heap in bytes. It grows as models are loaded and never shrinks. */
export const heapBytes = (): number => heap?.buffer.byteLength ?? 0;

/** Starts the runtime, so that the first session of a request costs 10 ms instead of 300. */
export async function warmUp(): Promise<void> {
  env.wasm.numThreads = 1;
  env.wasm.proxy = false;
  env.wasm.wasmBinary = new Uint8Array(8).buffer; // never read: `instantiate` is replaced below
  env.logLevel = "error";
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = instantiateImported as unknown as typeof instantiate;
  try {
    const scorer = await openScorer(warmUpGraph(), [], 2);
    const scores = await scorer.score({ items: [1 as never], agesDays: [0] });
    assert(scores.length === 2, "the warm-up graph scores two items");
    await scorer.release();
  } finally {
    WebAssembly.instantiate = instantiate;
  }
}

let heap: WebAssembly.Memory | undefined;
let isBusy = false;

async function instantiateImported(_bytes: unknown, imports: WebAssembly.Imports) {
  const instance = new WebAssembly.Instance(wasmModule, imports);
  const values = [imports, instance.exports].flatMap((of) => Object.values(of)).flatMap((of) => [of, ...valuesOf(of)]);
  heap = values.find((value): value is WebAssembly.Memory => value instanceof WebAssembly.Memory);
  if (heap) growSparingly(heap);
  return { module: wasmModule, instance };
}

const valuesOf = (value: unknown): unknown[] => (typeof value === "object" && value ? Object.values(value) : []);

type Opened = { readonly session: InferenceSession } & Pick<Scorer, "weightBytes">;

type ExternalData = { readonly path: string; readonly data: Uint8Array };

/** Turns off pre-packing, by which the runtime would keep a second copy of each matrix. */
function createSession(graph: Uint8Array, externalData: readonly ExternalData[]) {
  return InferenceSession.create(graph, {
    executionProviders: ["wasm"],
    logSeverityLevel: 3,
    externalData,
    // Not for the warm-up, which has no weights: with the setting there, a million items later need 19 MB more heap.
    ...(externalData.length > 0 && { extra: { session: { disable_prepacking: "1" } } }),
  });
}

/** Opens a session with all weights in JavaScript memory until it is open. */
async function openWhole(graph: Uint8Array, weights: readonly Weights[]): Promise<Opened> {
  const files = await Promise.all(
    weights.map(async (file) => ({ path: file.path, data: await wholeOf(file.size, file.pieces()) })),
  );
  const session = await exclusively(() => createSession(graph, files));
  for (const { data } of files) data.buffer.transfer(0);
  return { session };
}

/** Opens a session whose weights are never in JavaScript as a whole. Undefined if the graph does not allow it. */
async function openInPlace(graph: Uint8Array, weights: readonly Weights[]): Promise<Opened | undefined> {
  const { emptyFile, during, areKept, fill, bytesOf } = weightPlaces();
  const empty = weights.map(({ path, size }) => ({ path, data: emptyFile(path, size) }));
  const session = await exclusively(() => during(() => createSession(graph, empty)));
  try {
    if (areKept(heap!)) {
      const read = async ({ path, pieces }: Weights) => {
        for await (const { offset, bytes } of pieces()) fill(heap!, path, offset, bytes);
      };
      await forEachConcurrently(weights.filter(isSmall), CONCURRENT_FILES, read);
      for (const file of weights) if (!isSmall(file)) await read(file);
      return { session, weightBytes: (path) => bytesOf(heap!, path) };
    }
  } catch (error) {
    await exclusively(() => session.release());
    throw error;
  }
  await exclusively(() => session.release());
  return undefined;
}

async function run(session: InferenceSession, history: History, itemCount: number): Promise<Float32Array> {
  const dims = [history.items.length];
  const feeds: Record<string, Tensor> = {};
  for (const name of session.inputNames) {
    feeds[name] =
      name === "items"
        ? new Tensor("int32", Int32Array.from(history.items), dims)
        : new Tensor("float32", Float32Array.from(history.agesDays), dims);
  }
  const { scores } = await session.run(feeds, ["scores"]);
  assert(scores, "a run returns the output that it was called with");
  const { data } = scores;
  for (const tensor of [...Object.values(feeds), scores]) tensor.dispose();
  if (!(data instanceof Float32Array) || data.length !== itemCount) {
    throw new FormatError(
      `scoring graph: expected float32 scores [${itemCount}], found ${scores.type} [${data.length}]`,
    );
  }
  return data;
}

async function exclusively<T>(call: () => Promise<T>): Promise<T> {
  for (let waits = 0; isBusy; waits++) {
    assert(waits < LOCK_WAITS_MAX, "the runtime's lock is released in time");
    await scheduler.wait(1);
  }
  isBusy = true;
  try {
    return await call();
  } finally {
    isBusy = false;
  }
}
