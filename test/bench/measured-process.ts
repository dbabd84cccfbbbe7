import { fork } from "node:child_process";
import { join } from "node:path";

/** What a measured process sends: lines of progress, and at the end what it measured. */
type Message<Measured> = { readonly said?: string; readonly measured?: Measured };

/** Runs a program of this folder in a process of its own, so that its memory and its collections are its own. */
export function measuredInProcess<Measured>(
  program: string,
  args: readonly string[],
  say: (line: string) => void,
): Promise<Measured> {
  return new Promise((resolve, reject) => {
    const child = fork(join(import.meta.dirname, program), args, { execArgv: ["--no-warnings"] });
    child.on("message", ({ said, measured }: Message<Measured>) => {
      if (said) say(said);
      if (measured) resolve(measured);
    });
    child.once("close", (code) => reject(new Error(`The measured process ended with code ${code}.`)));
  });
}
