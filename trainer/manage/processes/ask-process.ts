import { fork } from "node:child_process";
import { getCompileCacheDir } from "node:module";
import { dirname } from "node:path";

export type AskOptions = {
  /** The program of the process. It answers its first message with one message. */
  readonly program: string;
  readonly heapMbMax: number;
  /** What error texts call the process. */
  readonly name: string;
  readonly signal: AbortSignal;
};

/**
 * Asks a process that is started for this one question, and ends it. It is a process, because ending a thread while ONNX Runtime works in
 * it would end the whole trainer. Only for questions from bytes that the trainer wrote itself.
 */
export async function askProcess<Answer>(
  question: object,
  { program, heapMbMax, name, signal }: AskOptions,
): Promise<Answer> {
  signal.throwIfAborted();
  const execArgv = [`--max-old-space-size=${heapMbMax}`];
  const child = fork(program, {
    execArgv,
    env: compileCache(),
    serialization: "advanced",
    killSignal: "SIGKILL",
    signal,
  });
  try {
    return await new Promise<Answer>((resolve, reject) => {
      child.once("message", (answer) => resolve(answer as Answer));
      child.once("error", (error) => reject(signal.aborted ? signal.reason : error));
      child.once("exit", () => reject(new Error(`The process of ${name} ended without an answer.`)));
      child.send(question, (error) => error && reject(error));
    });
  } finally {
    child.kill("SIGKILL");
  }
}

/** The variable by which the process uses this process's compile cache, if there is one. It halves the time to start. */
function compileCache(): { readonly NODE_COMPILE_CACHE?: string } {
  const ofThisNode = getCompileCacheDir(); // one folder for each version of Node
  return ofThisNode === undefined ? {} : { NODE_COMPILE_CACHE: dirname(ofThisNode) };
}
