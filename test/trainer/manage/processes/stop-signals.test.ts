import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";

const MODULE = JSON.stringify(new URL("../../../../trainer/manage/processes/stop-signals.ts", import.meta.url).href);
/** Prints its process id, and the reason of each stop; it goes on until a second signal. */
const PROGRAM = `
  import { onStop } from ${MODULE};
  onStop((reason) => console.log(reason));
  setInterval(() => {}, 1000);
  console.log(process.pid);
`;
let pid = 0;
const kill = (signal: NodeJS.Signals) => {
  try {
    process.kill(pid, signal);
  } catch {} // it has ended
};
afterEach(() => kill("SIGKILL"));

/** Starts the program below a shell, as npm does. */
async function start(environment: Record<string, string>): Promise<{ shell: ChildProcess; next(): Promise<string> }> {
  const line = '"$NODE" --no-warnings --input-type=module-typescript -e "$PROGRAM"; exit $?';
  const env = { NODE: process.execPath, PROGRAM, ...environment };
  const shell = spawn("/bin/sh", ["-c", line], { env, stdio: ["ignore", "pipe", "ignore"] });
  const next = async () => String((await once(shell.stdout!, "data"))[0]).trim();
  pid = Number(await next());
  return { shell, next };
}

test("a signal stops once, and another one later exits at once", async () => {
  const { shell, next } = await start({});
  kill("SIGINT");
  expect(await next()).toBe("SIGINT");
  const ended = once(shell, "close");
  while (shell.exitCode === null) {
    kill("SIGTERM");
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 300))]);
  }
  expect(shell.exitCode).toBe(130);
});

test("a signal that only reaches npm's shell stops the program below it", async () => {
  const { shell, next } = await start({ npm_lifecycle_event: "start" });
  shell.kill("SIGTERM");
  expect(await next()).toBe("npm has ended");
});

test("without npm, a program outlives its shell", async () => {
  const { shell, next } = await start({});
  shell.kill("SIGTERM");
  await once(shell, "exit");
  const quiet = new Promise((resolve) => setTimeout(resolve, 1200, "nothing"));
  expect(await Promise.race([next(), quiet])).toBe("nothing");
});
