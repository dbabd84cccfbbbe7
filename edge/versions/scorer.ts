/**
 * onnxruntime-web inside workerd: with weights-in-place.ts the only file that knows how.
 *
 * workerd refuses to compile WebAssembly from bytes at run time, so the runtime's .wasm file is imported as a module and
 * handed over while the first session is created. One thread, no proxy worker.
 *
 * The runtime keeps its arguments on one stack inside the WASM heap, so two calls must not interleave. A call consists of
 * micro-tasks only, which workerd finishes before it turns to another request; the lock below keeps that true should a
 * release of the runtime ever wait for more. It polls, because a request must never await the promise of another one:
 * it would hang for ever when the other's request ends first.
 */
import wasmModule from "onnxruntime-web/ort-wasm-simd-threaded.wasm";
import { env, InferenceSession, Tensor } from "onnxruntime-web/wasm";
import { assert, FormatError } from "../../shared/assert.ts";
import type { History } from "../../shared/snapshot.ts";
import { type Piece, wholeOf } from "../reading/artifact-reader.ts";
import { eachOf } from "../reading/each-of.ts";
import { warmUpGraph } from "./warm-up-graph.ts";
import { places } from "./weights-in-place.ts";

/** A loaded scoring graph. */
export type Scorer = {
  /** Float32Array(itemCount), higher is better. Never called with an empty history. */
  score(history: History): Promise<Float32Array>;
  /** Gives the WASM memory back to the runtime; the heap itself never shrinks. */
  release(): Promise<void>;
};

/** ONNX external data: `path` is the location that the graph names. */
export type Weights = {
  readonly path: string;
  readonly size: number;
  /** The bytes from the first to the last. Throws at the end when they are not the file's. */
  readonly pieces: () => AsyncIterable<Piece>;
};

const LOCK_WAITS_MAX = 2000;
/** Files up to this size are read at the same time, larger ones one after another: each is read ahead by itself. */
const SMALL_BYTES = 2 * 1024 * 1024;
const FILES_AT_ONCE = 3;
const isSmall = ({ size }: Weights) => size <= SMALL_BYTES;

/**
 * Opens a scoring graph. Weights are written to where the runtime keeps them as they come. Throws FormatError when its
 * inputs or outputs are not those of a scoring graph, and what reading the weights throws.
 */
export async function openScorer(graph: Uint8Array, weights: readonly Weights[], itemCount: number): Promise<Scorer> {
  const session = (await openInPlace(graph, weights)) ?? (await openWhole(graph, weights));
  const { inputNames, outputNames } = session;
  const strange = inputNames.find((name) => name !== "items" && name !== "ages_days");
  if (strange !== undefined || !outputNames.includes("scores")) {
    await exclusively(() => session.release());
    const found = `inputs ${JSON.stringify(inputNames)}, outputs ${JSON.stringify(outputNames)}`;
    throw new FormatError(
      `scoring graph: expected inputs among items, ages_days and the output scores; found ${found}`,
    );
  }
  return {
    score: (history) => exclusively(() => run(session, history, itemCount)),
    release: () => exclusively(() => session.release()),
  };
}

/** Bytes of the WASM heap. It grows as models are loaded and never shrinks. */
export const heapBytes = (): number => heap?.buffer.byteLength ?? 0;

/** Starts the runtime, so that the first session of a request costs 10 ms instead of 300. */
export async function warmUp(): Promise<void> {
  env.wasm.numThreads = 1;
  env.wasm.proxy = false;
  env.wasm.wasmBinary = new Uint8Array(8).buffer; // never looked at: instantiate is replaced
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
  return { module: wasmModule, instance };
}

const valuesOf = (value: unknown): unknown[] => (typeof value === "object" && value ? Object.values(value) : []);

type ExternalData = { readonly path: string; readonly data: Uint8Array };

/** Without the runtime's second, pre-packed copies of matrices: those that are exported are read as they lie. */
function createSession(graph: Uint8Array, externalData: readonly ExternalData[]) {
  return InferenceSession.create(graph, {
    executionProviders: ["wasm"],
    logSeverityLevel: 3,
    externalData,
    // The warm-up has no weights: with the setting, the heap of a million items afterwards ends 19 MB larger.
    ...(externalData.length > 0 && { extra: { session: { disable_prepacking: "1" } } }),
  });
}

/** A session whose weights are in JavaScript until it exists. */
async function openWhole(graph: Uint8Array, weights: readonly Weights[]): Promise<InferenceSession> {
  const files = await Promise.all(
    weights.map(async (file) => ({ path: file.path, data: await wholeOf(file.size, file.pieces()) })),
  );
  const session = await exclusively(() => createSession(graph, files));
  for (const { data } of files) data.buffer.transfer(0);
  return session;
}

/** A session whose weights never are; undefined when the graph does not allow for it. */
async function openInPlace(graph: Uint8Array, weights: readonly Weights[]): Promise<InferenceSession | undefined> {
  const { fileOf, during, areKept, fill } = places();
  const empty = weights.map(({ path, size }) => ({ path, data: fileOf(path, size) }));
  const session = await exclusively(() => during(() => createSession(graph, empty)));
  try {
    if (areKept(heap!)) {
      const read = async ({ path, pieces }: Weights) => {
        for await (const { offset, bytes } of pieces()) fill(heap!, path, offset, bytes);
      };
      await eachOf(weights.filter(isSmall), FILES_AT_ONCE, read);
      await eachOf(
        weights.filter((file) => !isSmall(file)),
        1,
        read,
      );
      return session;
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
  assert(scores, "a run gives what it was asked for");
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
    assert(waits < LOCK_WAITS_MAX, "the runtime's lock is given back");
    await scheduler.wait(1);
  }
  isBusy = true;
  try {
    return await call();
  } finally {
    isBusy = false;
  }
}
