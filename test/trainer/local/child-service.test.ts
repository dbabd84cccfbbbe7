import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ChildService, startChild } from "../../../trainer/local/child-service.ts";

let directory: string;
const children: ChildService[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "child-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) await child.stop(0);
  await rm(directory, { recursive: true });
});

async function start(text: string): Promise<ChildService> {
  const program = join(directory, "program.ts");
  await writeFile(program, text);
  const child = startChild({
    name: "edge",
    program,
    env: { ...process.env, GREETING: "hello" },
    logPath: join(directory, "log"),
  });
  children.push(child);
  return child;
}
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
const gone = async (pid: number) => {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
};

test("forwards the program's messages and writes its output to the log", async () => {
  const child = await start(
    `console.log("working"); process.send!({ said: process.env.GREETING }); process.on("message", () => {});`,
  );
  expect(await child.ready).toEqual([{ said: "hello" }, undefined]);
  await child.stop(1000);
  expect(await readFile(join(directory, "log"), "utf8")).toBe("working\n");
});

test("an unexpected exit is reported in one sentence with the error and the log file", async () => {
  const child = await start(`throw new Error("no room left");`);
  const failure = (await child.failed.catch((error: Error) => error)) as Error;
  expect(failure.name).toBe("LocalError");
  expect(failure.message).toMatch(/^The edge stopped unexpectedly \(code 1\): .*Error: no room left \(log: .*log\)$/);
});

test("a requested stop is not a failure", async () => {
  const child = await start(
    `process.on("SIGTERM", () => process.exit(0)); process.send!("up"); setInterval(() => {}, 1000);`,
  );
  await child.ready;
  const failed = child.failed.then(
    () => "never",
    () => "failed",
  );
  await child.stop(10_000);
  expect(await Promise.race([failed, new Promise((resolve) => setTimeout(resolve, 20, "quiet"))])).toBe("quiet");
});

test("a program that ignores SIGTERM is killed with all processes it has started", async () => {
  const child = await start(`
    import { spawn } from "node:child_process";
    process.on("SIGTERM", () => {});
    const grandchild = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    process.send!(grandchild.pid);
    setInterval(() => {}, 1000);
  `);
  const [grandchild] = (await child.ready) as [number];
  expect(isAlive(grandchild)).toBe(true);
  await child.stop(50);
  await gone(grandchild);
});
