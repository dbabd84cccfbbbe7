import { fileURLToPath } from "node:url";
import { parentPort, Worker } from "node:worker_threads";

/** A thread that answers requests, because `run` of onnxruntime-node blocks the calling thread. */
export type AskedThread<Request, Answer> = {
  /** Requests without an answer. */
  waiting(): number;
  /** Rejects with the error of this request, and once the thread has ended. */
  ask(request: Request): Promise<Answer>;
  /** Rejects what is waiting and ends the thread. */
  close(): Promise<void>;
};

/** The message after which a thread ends. */
const CLOSE = "close";

type Numbered<Request> = { readonly id: number; readonly request: Request };
type Answered<Answer> = { readonly id: number } & ({ readonly answer: Answer } | { readonly error: string });

/** @param program The URL of the file that the thread runs. It calls `answerEach`, and finds `data` as `workerData`. */
export function openThread<Request, Answer>(program: string, data: unknown): AskedThread<Request, Answer> {
  const worker = new Worker(fileURLToPath(program), { workerData: data });
  const waiting = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();
  let requestCount = 0;
  let failure: Error | undefined;
  const fail = (error: Error) => {
    failure = error;
    for (const one of waiting.values()) one.reject(error);
    waiting.clear();
  };
  worker.on("message", (message: Answered<Answer>) => {
    const one = waiting.get(message.id);
    waiting.delete(message.id);
    if ("answer" in message) one?.resolve(message.answer);
    else one?.reject(new Error(message.error));
  });
  worker.on("error", fail);
  const end = () => fail(failure ?? new Error("The thread has ended."));
  const exited = new Promise<void>((resolve) => worker.on("exit", () => resolve(end())));
  return {
    waiting: () => waiting.size,
    ask: (request) =>
      new Promise((resolve, reject) => {
        if (failure) return reject(failure);
        const id = requestCount++;
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, request } satisfies Numbered<Request>);
      }),
    // A thread that is terminated while ONNX Runtime works ends the whole process, so it ends by itself after its session's run.
    close() {
      end();
      worker.postMessage(CLOSE);
      return exited;
    },
  };
}

/** An answer, and its arrays whose memory the thread gives away. */
type Given<Answer> = { readonly answer: Answer; readonly transfer: readonly ArrayBuffer[] };

/** In the program of a thread: answers every request. An error answers only its own. */
export function answerEach<Request, Answer>(answerOf: (request: Request) => Promise<Given<Answer>>): void {
  parentPort!.on("message", async (message: Numbered<Request> | typeof CLOSE) => {
    if (message === CLOSE) return parentPort!.close();
    const { id, request } = message;
    const send = (answered: Answered<Answer>, transfer: readonly ArrayBuffer[] = []) =>
      parentPort!.postMessage(answered, transfer);
    await answerOf(request).then(
      ({ answer, transfer }) => send({ id, answer }, transfer),
      (error: unknown) => send({ id, error: String(error) }),
    );
  });
}
