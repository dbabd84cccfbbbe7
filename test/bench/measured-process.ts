import { fork } from "node:child_process";
import { join } from "node:path";

/** Messages of a measured process: progress lines, then the result. */
type Message<Measured> = { readonly said?: string; readonly measured?: Measured };

/** Runs a program of this folder in a separate process, so that memory and garbage collections are its own. */
export function measuredInProcess<Measured>(
  program: string,
  args: readonly string[],
  say: (line: string) => void,
  options: { readonly execArgv?: readonly string[]; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Measured> {
  return new Promise((resolve, reject) => {
    const child = fork(join(import.meta.dirname, program), args, {
      execArgv: ["--no-warnings", ...(options.execArgv ?? [])],
      env: { ...process.env, ...options.env },
    });
    child.on("message", ({ said, measured }: Message<Measured>) => {
      if (said) say(said);
      if (measured) resolve(measured);
    });
    child.once("close", (code) => reject(new Error(`The measured process ended with code ${code}.`)));
  });
}
