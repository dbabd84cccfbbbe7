import { fork } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import type { S3Options } from "../../trainer/store/s3-request.ts";
import type { LoadCall } from "./load-check.ts";

/** The served world, without its seed. */
export const WORLD = { label: "load", itemCount: 20_000, userCount: 5000, weightBytesMax: 24 * 2 ** 20 };

export type ToJudge =
  | { readonly kind: "publish"; readonly which: number }
  /** The path of the answers, one a line. */
  | { readonly kind: "judge"; readonly file: string };
/** An answer as a line of JSON. The body is a ranked list. */
export type Answer = { readonly version: string; readonly call: LoadCall; readonly body: string };
export type FromJudge =
  | { readonly kind: "ready" | "judged" }
  | { readonly kind: "published"; readonly fault: string | null }
  | { readonly kind: "fault"; readonly fault: string };

export type Judge = {
  readonly pid: number;
  /** Makes a version of one of two worlds live, one at a time. Throws Error. */
  publish(which: number): Promise<void>;
  /** Keeps an answer, to be checked at the end. */
  judge(answer: Answer): void;
  /** The faults that were found. */
  readonly faults: readonly string[];
  /** Checks every answer, and ends the process. */
  end(): Promise<void>;
};

const PROGRAM = new URL("load-judge-process.ts", import.meta.url).pathname;

/**
 * Publishes and checks in a process of its own with low priority. Answers are kept in a file, since hundreds of thousands in memory
 * would cost garbage collection on the core of the calls.
 */
export async function startJudge(s3: S3Options, workDirectory: string): Promise<Judge> {
  await mkdir(workDirectory, { recursive: true });
  const child = fork(PROGRAM, [JSON.stringify(s3), workDirectory]);
  const file = join(workDirectory, "answers.jsonl");
  const answers = createWriteStream(file);
  const faults: string[] = [];
  child.on("message", (message: FromJudge) => void (message.kind === "fault" && faults.push(message.fault)));
  const send = (message: ToJudge) => void child.send(message);
  const ended = once(child, "exit").then(() => {
    throw new Error("The judging process ended before its time.");
  });
  ended.catch(() => undefined);
  const received = async (kind: FromJudge["kind"]): Promise<FromJudge> => {
    const { promise, resolve } = Promise.withResolvers<FromJudge>();
    const listen = (message: FromJudge) => void (message.kind === kind && resolve(message));
    child.on("message", listen);
    try {
      return await Promise.race([promise, ended]);
    } finally {
      child.off("message", listen);
    }
  };
  await received("ready");
  return {
    pid: child.pid!,
    async publish(which) {
      send({ kind: "publish", which });
      const answer = await received("published");
      if (answer.kind === "published" && answer.fault !== null) throw new Error(answer.fault);
    },
    judge: (answer) => void answers.write(`${JSON.stringify(answer)}\n`),
    faults,
    async end() {
      answers.end();
      await finished(answers);
      send({ kind: "judge", file });
      await received("judged");
    },
  };
}
