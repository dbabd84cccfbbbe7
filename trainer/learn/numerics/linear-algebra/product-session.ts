import { availableParallelism } from "node:os";
import ort from "onnxruntime-node";

const THREADS_MAX = 8;

/** A session for large products, on all cores up to eight unless told otherwise. */
export function openProductSession(
  graph: Uint8Array,
  threads = Math.min(THREADS_MAX, availableParallelism()),
): Promise<ort.InferenceSession> {
  return ort.InferenceSession.create(graph, {
    executionProviders: ["cpu"],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    // Threads that spin while they wait take the core from whoever shares the machine.
    extra: { session: { intra_op: { allow_spinning: "0" } } },
  });
}
