import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import {
  type ProcessOptions,
  residentMb,
  superviseProcess,
} from "../../../../trainer/manage/processes/supervised-process.ts";
import { freshFolder } from "../../../fixtures/trainer-state.ts";

/** Runs a program of these lines. */
async function supervise(lines: string, options: Partial<ProcessOptions> = {}) {
  const program = join(await freshFolder(), "program.mjs");
  await writeFile(program, lines);
  const received: unknown[] = [];
  const end = await superviseProcess({
    program,
    input: { hello: ["there"] },
    environment: {},
    memoryMbMax: 1000,
    disk: { folders: [], bytesMax: 1 },
    secondsMax: 20,
    graceSeconds: 0.2,
    signal: new AbortController().signal,
    onMessage: (value) => {
      received.push(value);
      return "more";
    },
    ...options,
  });
  return { ...end, received };
}
const ECHO = 'process.once("message", (input) => process.send(input, () => process.disconnect()));';

test("a program receives its input, and everything it sends arrives before its end", async () => {
  const flood = "for (let i = 0; i < 2000; i++) process.send({ i, padding: 'x'.repeat(1000) });";
  const { received, ended, exit } = await supervise(`${flood}${ECHO}`);
  expect(received).toHaveLength(2001);
  expect(received.at(-1)).toEqual({ hello: ["there"] });
  expect([ended, exit]).toEqual(["", { code: 0, signal: null, error: undefined }]);
});

test.skipIf(process.platform !== "linux")(
  "Linux ends a program before its supervisor when memory is short",
  async () => {
    const { received } = await supervise(`import { readFileSync } from "node:fs";
    process.once("message", () => {
      process.send(readFileSync("/proc/self/oom_score_adj", "utf8"), () => process.disconnect());
    });`);
    expect(received).toEqual(["1000\n"]);
  },
);

test("a program whose signal is aborted at the start is ended", async () => {
  const { ended } = await supervise("setInterval(() => {}, 1000);", { signal: AbortSignal.abort() });
  expect(ended).toBe("stopped");
});

test("after its last message a program that does not end is killed, and its further messages are ignored", async () => {
  const received: unknown[] = [];
  const endless = 'process.once("message", () => setInterval(() => process.send(process.uptime()), 10));';
  const { ended, exit } = await supervise(endless, {
    onMessage: (value) => {
      received.push(value);
      return "last";
    },
  });
  expect(received).toHaveLength(1);
  expect([ended, exit.signal]).toEqual(["", "SIGKILL"]);
});

test("a program ends with the process that supervises it", async () => {
  // The preloaded watch ends a process whose channel is closed. This program never receives its input.
  const { exit } = await supervise("process.disconnect(); setInterval(() => {}, 1000);");
  expect(exit).toMatchObject({ code: 0, signal: null });
});

test("the error of a program that does not parse is in its output", async () => {
  const { exit, outputTail } = await supervise("this is no program");
  expect(exit.code).toBe(1);
  expect(outputTail).toContain("SyntaxError");
});

/** Supervises a program in a process in which none can be started, and returns the exit's error. */
async function superviseWhere(trouble: string) {
  const program = join(await freshFolder(), "supervising.mts");
  const path = new URL("../../../../trainer/manage/processes/supervised-process.ts", import.meta.url).href;
  await writeFile(
    program,
    `import { openSync } from "node:fs";
     const { superviseProcess } = await import(${JSON.stringify(path)});
     ${trouble}
     const limits = { memoryMbMax: 100, disk: { folders: [], bytesMax: 1 }, secondsMax: 5, graceSeconds: 1 };
     const options = { program: "", input: {}, environment: {}, ...limits };
     const signal = new AbortController().signal;
     const { exit } = await superviseProcess({ ...options, signal, onMessage: () => "more" });
     await new Promise((done) => setTimeout(done, 50));
     process.stdout.write(exit.error);`,
  );
  const command = `ulimit -n 100 && exec "${process.execPath}" --no-warnings "${program}"`;
  return (await promisify(execFile)("sh", ["-c", command])).stdout;
}

test.each([
  ["Node was removed, as during an update,", 'process.execPath = "/gone/node";', "ENOENT"],
  [
    "no file can be opened any more",
    'try { for (;;) openSync("/dev/null", "r"); } catch { /* all are open */ }',
    "EMFILE",
  ],
])("where %s the exit has the reason, and the supervisor survives", async (_, trouble, reason) =>
  expect(await superviseWhere(trouble)).toContain(reason),
);

test.each([0, 20, 150, 600])("a program ends although its supervisor was killed after %i ms", async (afterMs) => {
  const folder = await freshFolder();
  const [program, supervisor] = [join(folder, "busy.mts"), join(folder, "killed.mts")];
  await writeFile(program, "await new Promise((done) => setTimeout(done, 50)); for (;;);");
  const path = new URL("../../../../trainer/manage/processes/supervised-process.ts", import.meta.url).href;
  await writeFile(
    supervisor,
    `import { superviseProcess } from ${JSON.stringify(path)};
     const limits = { memoryMbMax: 100, disk: { folders: [], bytesMax: 1 }, secondsMax: 60, graceSeconds: 1 };
     const options = { program: ${JSON.stringify(program)}, input: {}, environment: {}, ...limits };
     void superviseProcess({ ...options, signal: new AbortController().signal, onMessage: () => "more" });
     setTimeout(() => process.kill(process.pid, "SIGKILL"), ${afterMs});`,
  );
  await expect(promisify(execFile)(process.execPath, ["--no-warnings", supervisor])).rejects.toThrow();
  const processes = async () => (await promisify(execFile)("ps", ["-eo", "args"])).stdout;
  await expect.poll(processes, { timeout: 20_000, interval: 200 }).not.toContain(program);
});

test("the resident memory of this process is what Node reports; a process that has ended has none", async () => {
  const mb = (await residentMb(process.pid))!;
  expect(Math.abs(mb - process.memoryUsage().rss / 2 ** 20)).toBeLessThan(50);
  expect(await residentMb(2 ** 30)).toBe(undefined);
});
