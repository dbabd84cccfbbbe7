import { expect, test } from "vitest";
import { type ChildOptions, runChild } from "../../../../trainer/manage/runs/run-child.ts";
import type { RunMessage } from "../../../../trainer/run/training-run.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";

const PROGRAM = new URL("../../../fixtures/trainer-scripted-run.ts", import.meta.url).pathname;

async function run(script: string, options: Partial<ChildOptions> = {}) {
  const messages: RunMessage[] = [];
  const result = await runChild({
    program: PROGRAM,
    job: { runId: "r", customer: "acme", spec: specOf("shop", script) } as never,
    environment: { PATH: process.env.PATH! },
    memoryMbMax: 2000,
    secondsMax: 30,
    graceSeconds: 0.3,
    signal: new AbortController().signal,
    onMessage: (message) => messages.push(message),
    ownsLease: () => Promise.resolve(true),
    ...options,
  });
  return { ...result, messages };
}
const failureOf = (result: Awaited<ReturnType<typeof run>>) => {
  expect(result.outcome.kind).toBe("failed");
  return result.outcome.kind === "failed" ? result.outcome.failure : undefined;
};

test("what a run tells arrives in order, and its last word is the outcome", async () => {
  const { outcome, messages, peakMb } = await run("progress FETCHING\ndata\nprogress TRAINING\npublish v1");
  expect(messages.map((message) => (message.kind === "progress" ? message.state : message.kind))).toEqual([
    "FETCHING",
    "data",
    "TRAINING",
  ]);
  expect(outcome).toMatchObject({ kind: "published", version: "v1" });
  expect(peakMb).toBeGreaterThanOrEqual(0);
});

test("a run that asks whether it is held is answered, each time anew, and nobody else hears of it", async () => {
  const answers = [true, false];
  const ownsLease = () => Promise.resolve(answers.shift()!);
  const { outputTail, messages, outcome } = await run("ask-lease\nask-lease\npublish v1", { ownsLease });
  expect(outputTail).toContain("owns_lease=true\nowns_lease=false");
  expect(messages).toEqual([]);
  expect(outcome).toMatchObject({ kind: "published" });
});

test("a refusal by the gate and a failure are told as they are", async () => {
  expect((await run("refuse")).outcome).toMatchObject({ kind: "refused", reasons: ["worse than popular"] });
  expect(failureOf(await run("fail no_positives"))).toMatchObject({ code: "no_positives", retryable: false });
});

test("a crash names the exit code and no more, and may be tried again", async () => {
  const result = await run("progress TRAINING\nsay some detail\nexit 3");
  const message = "The run's process ended without a result (exit code 3). The operator's log tells more.";
  expect(failureOf(result)).toEqual({ stage: "training", code: "run_crashed", message, retryable: true });
  expect(result.outputTail).toContain("some detail");
});

test("an end without a result is a crash too", async () => {
  expect(failureOf(await run("progress FETCHING"))).toMatchObject({ code: "run_crashed" });
});

test("a program that is not there is a crash", async () => {
  expect(failureOf(await run("wait", { program: "/no/such/program.ts" }))).toMatchObject({ code: "run_crashed" });
});

test("what is no message ends the run", async () => {
  expect(failureOf(await run("junk\nwait"))).toMatchObject({ code: "run_crashed" });
});

test("native memory above the limit ends the run with its reason", async () => {
  const failure = failureOf(await run("progress TRAINING\neat", { memoryMbMax: 300 }));
  expect(failure).toMatchObject({ stage: "training", code: "out_of_memory", retryable: false });
  expect(failure!.message).toContain("300 MB");
});

test("a heap above the limit ends the run with the same reason", async () => {
  expect(failureOf(await run("eat-heap", { memoryMbMax: 150 }))).toMatchObject({ code: "out_of_memory" });
});

test("a run that takes too long is stopped, also one that ignores the request", async () => {
  for (const script of ["wait", "ignore-sigterm\nwait", "spin"])
    expect(failureOf(await run(script, { secondsMax: 1 }))).toMatchObject({
      code: "deadline_exceeded",
      message: expect.stringContaining("1 seconds"),
    });
});

test("a stopped run says so, whatever it said last", async () => {
  const stop = new AbortController();
  const onMessage = () => stop.abort("cancelled");
  expect((await run("progress TRAINING\nwait", { signal: stop.signal, onMessage })).outcome).toEqual({
    kind: "stopped",
  });
  expect((await run("publish v1", { signal: stop.signal })).outcome).toEqual({ kind: "stopped" });
});

test("what was published before the run was stopped is published", async () => {
  expect((await run("publish v1\nwait")).outcome).toMatchObject({ kind: "published", version: "v1" });
});

test("the process sees the environment it is given and no more", async () => {
  process.env.PLANTED = "planted";
  const { outputTail } = await run("env PLANTED\nenv GIVEN", { environment: { GIVEN: "yes" } });
  expect(outputTail).toContain("PLANTED=undefined\nGIVEN=yes");
});

test("of a flood of output only the end is kept", async () => {
  const script = `${"say ".padEnd(1000, "x")}\n`.repeat(60);
  const { outputTail } = await run(`${script}say the end`);
  expect(outputTail.length).toBeLessThanOrEqual(8192);
  expect(outputTail.trimEnd().slice(-100)).toMatch(/the end$/);
});
