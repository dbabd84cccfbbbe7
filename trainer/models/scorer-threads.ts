import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { History } from "../../shared/snapshot.ts";
import type { ExportedModel } from "./model.ts";
import type { Scorer } from "./onnx-scorer.ts";

export type ScorerTask = { readonly exported: ExportedModel; readonly itemCount: number };
export type ScorerQuestion = { readonly id: number; readonly history: History };
export type ScorerAnswer = { readonly id: number } & (
  | { readonly scores: Float32Array<ArrayBuffer> }
  | { readonly error: string }
);

const PROGRAM = fileURLToPath(new URL("./scorer-worker.ts", import.meta.url).href);

type Waiting = { resolve(scores: Float32Array): void; reject(error: Error): void };

/**
 * An exported model on some threads, each with a session and the weights of its own: `run` of onnxruntime-node holds up the thread that
 * calls it. Scores are the same as of one session.
 */
export function openScorerThreads(task: ScorerTask, threads: number): Scorer {
  const workers = Array.from({ length: threads }, () => openWorker(task));
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
