import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { History } from "../../../shared/snapshot.ts";
import type { ExportedModel } from "../model.ts";
import type { Scorer } from "./onnx-scorer.ts";

export type ScorerTask = { readonly exported: ExportedModel; readonly itemCount: number };
export type ScorerQuestion = { readonly id: number; readonly history: History };
export type ScorerAnswer = { readonly id: number } & (
  | { readonly scores: Float32Array<ArrayBuffer> }
  | { readonly error: string }
);

const PROGRAM = fileURLToPath(new URL("./scorer-worker.ts", import.meta.url).href);

type Waiting = { resolve(scores: Float32Array): void; reject(error: Error): void };

/** Of a thread, and of what its session makes of a byte of weights: measured 30 MB, and 1 to 1.3. The bytes given are shared. */
const THREAD_MB = 40;
const BYTES_OF_ONE = 1.5;

/** How many threads can be had for so many megabytes. */
export function threadsWithin(memoryMb: number, { weights }: ExportedModel): number {
  const weightMb = weights.reduce((sum, { bytes }) => sum + bytes.length, 0) / 1e6;
  return Math.max(0, Math.floor((memoryMb - weightMb) / (THREAD_MB + BYTES_OF_ONE * weightMb)));
}

/**
 * An exported model on some threads, each with a session of its own: `run` of onnxruntime-node holds up the thread that
 * calls it. Scores are the same as of one session.
 */
export function openScorerThreads(task: ScorerTask, threads: number): Scorer {
  const shared = { ...task, exported: { ...task.exported, weights: task.exported.weights.map(sharedBytes) } };
  const workers = Array.from({ length: threads }, () => openWorker(shared));
  return {
    score(history) {
      const idle = workers.reduce((best, worker) => (worker.waiting() < best.waiting() ? worker : best));
      return idle.score(history);
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };
}

function sharedBytes({ path, bytes }: ExportedModel["weights"][number]) {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return { path, bytes: shared };
}

function openWorker(task: ScorerTask) {
  const worker = new Worker(PROGRAM, { workerData: task });
  const waiting = new Map<number, Waiting>();
  let asked = 0;
  let failure: Error | undefined;
  const fail = (error: Error) => {
    failure = error;
    for (const one of waiting.values()) one.reject(error);
    waiting.clear();
  };
  worker.on("message", (answer: ScorerAnswer) => {
    const one = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ("scores" in answer) one?.resolve(answer.scores);
    else one?.reject(new Error(answer.error));
  });
  worker.on("error", fail);
  worker.on("exit", () => fail(failure ?? new Error("The thread that scores has ended.")));
  return {
    waiting: () => waiting.size,
    score: (history: History) =>
      new Promise<Float32Array>((resolve, reject) => {
        if (failure) return reject(failure);
        const id = asked++;
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, history } satisfies ScorerQuestion);
      }),
    close: () => worker.terminate(),
  };
}
