import { expect, test } from "vitest";
import { qualityOf, refusedReport } from "../../../../shared/run-record.ts";
import { type ChildOptions, parseRunMessage, runChild } from "../../../../trainer/manage/runs/run-child.ts";
import type { RunMessage } from "../../../../trainer/run/training-run.ts";
import { REPORT } from "../../../fixtures/small-report.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";

const PROGRAM = new URL("../../../fixtures/trainer-scripted-run.ts", import.meta.url).pathname;

async function run(script: string, options: Partial<ChildOptions> = {}) {
  const messages: RunMessage[] = [];
  const result = await runChild({
    program: PROGRAM,
    job: { runId: "r", customer: "acme", spec: specOf("shop", script) } as never,
    environment: { PATH: process.env.PATH!, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE! },
    memoryMbMax: 2000,
    disk: { folders: [], bytesMax: 1 },
    secondsMax: 30,
    graceSeconds: 0.3,
    signal: new AbortController().signal,
    onMessage: (message) => messages.push(message),
    onErasedRemoved: () => undefined,
    ownsLease: () => Promise.resolve(true),
    ...options,
  });
  return { ...result, messages };
}
const failureOf = (result: Awaited<ReturnType<typeof run>>) => {
  expect(result.outcome.kind).toBe("failed");
  return result.outcome.kind === "failed" ? result.outcome.failure : undefined;
};

test("messages arrive in order, and the last one is the outcome", async () => {
  const { outcome, messages, peakMb } = await run("progress FETCHING\ndata\nprogress TRAINING\npublish v1");
  expect(messages.map((message) => (message.kind === "progress" ? message.state : message.kind))).toEqual([
    "FETCHING",
    "data",
    "TRAINING",
  ]);
  expect(outcome).toMatchObject({ kind: "published", version: "v1" });
  expect(peakMb).toBeGreaterThanOrEqual(0);
});

test("each question about the lease gets a new answer, and is no progress message", async () => {
  const answers = [true, false];
  const ownsLease = () => Promise.resolve(answers.shift()!);
  const { outputTail, messages, outcome } = await run("ask-lease\nask-lease\npublish v1", { ownsLease });
  expect(outputTail).toContain("owns_lease=true\nowns_lease=false");
  expect(messages).toEqual([]);
  expect(outcome).toMatchObject({ kind: "published" });
});

test("a refusal by the gate and a failure are outcomes", async () => {
  expect((await run("refuse")).outcome).toMatchObject({ kind: "refused", reasons: ["worse than popular"] });
  expect(failureOf(await run("fail no_positives"))).toMatchObject({ code: "no_positives", retryable: false });
});

test("the message of a crash names the exit code only; a crash is retryable", async () => {
  const result = await run("progress TRAINING\nsay some detail\nexit 3");
  const message = "The run's process ended without a result (exit code 3). The operator's log tells more.";
  expect(failureOf(result)).toEqual({ stage: "training", code: "run_crashed", message, retryable: true });
  expect(result.outputTail).toContain("some detail");
});

test("an end without a result is a crash", async () => {
  expect(failureOf(await run("progress FETCHING"))).toMatchObject({ code: "run_crashed" });
});

test("a program that does not exist is a crash", async () => {
  expect(failureOf(await run("wait", { program: "/no/such/program.ts" }))).toMatchObject({ code: "run_crashed" });
});

test("an invalid message ends the run", async () => {
  expect(failureOf(await run("junk\nwait"))).toMatchObject({ code: "run_crashed" });
});

test("native memory above the limit ends the run as out_of_memory", async () => {
  const failure = failureOf(await run("progress TRAINING\neat", { memoryMbMax: 300 }));
  expect(failure).toMatchObject({ stage: "training", code: "out_of_memory", retryable: false });
  expect(failure!.message).toContain("300 MB");
});

test("a heap above the limit ends the run as out_of_memory", async () => {
  expect(failureOf(await run("eat-heap", { memoryMbMax: 150 }))).toMatchObject({ code: "out_of_memory" });
});

test("a run that takes too long is ended, even one that ignores SIGTERM", async () => {
  for (const script of ["wait", "ignore-sigterm\nwait", "spin"])
    expect(failureOf(await run(script, { secondsMax: 1 }))).toMatchObject({
      code: "deadline_exceeded",
      message: expect.stringContaining("1 seconds"),
    });
});

test("a run that was stopped has the outcome stopped", async () => {
  const stop = new AbortController();
  const onMessage = () => stop.abort("cancelled");
  expect((await run("progress TRAINING\nwait", { signal: stop.signal, onMessage })).outcome).toEqual({
    kind: "stopped",
  });
  expect((await run("publish v1", { signal: stop.signal })).outcome).toEqual({ kind: "stopped" });
});

test("a version that was published before the end stays published", async () => {
  expect((await run("publish v1\nwait")).outcome).toMatchObject({ kind: "published", version: "v1" });
});

test("the process sees only the given environment", async () => {
  process.env.PLANTED = "planted";
  const { outputTail } = await run("env PLANTED\nenv GIVEN", { environment: { GIVEN: "yes" } });
  expect(outputTail).toContain("PLANTED=undefined\nGIVEN=yes");
});

test("only the end of a long output is kept", async () => {
  const script = `${"say ".padEnd(1000, "x")}\n`.repeat(60);
  const { outputTail } = await run(`${script}say the end`);
  expect(outputTail.length).toBeLessThanOrEqual(8192);
  expect(outputTail.trimEnd().slice(-100)).toMatch(/the end$/);
});

const FAILURE = { stage: "fetching", code: "no", message: "No.", retryable: false };

test("a valid message is returned unchanged", () => {
  const metrics = { method: "ease", "ndcg@10": 0.3, baseline: { "ndcg@10": 0.2 } };
  for (const message of [
    { kind: "failed", failure: FAILURE },
    { kind: "published", version: "v1", itemIdType: "string", metrics, quality: qualityOf(REPORT) },
    { kind: "refused", reasons: ["worse"], quality: null, report: refusedReport(REPORT) },
  ])
    expect(parseRunMessage(message)).toEqual(message);
});

test("a long text in a message is shortened", () => {
  const message = parseRunMessage({ kind: "failed", failure: { ...FAILURE, message: "x".repeat(10_000) } });
  expect(message?.kind === "failed" && message.failure.message).toHaveLength(4001);
});

test.each([
  [null],
  ["published"],
  [{ kind: "published" }],
  [{ kind: "published", version: "", metrics: {} }],
  [{ kind: "progress", state: "DANCING", progress: {} }],
  [{ kind: "failed", failure: { ...FAILURE, retryable: "no" } }],
  [{ kind: "unknown" }],
])("%j is no message", (value) => expect(parseRunMessage(value)).toBe(undefined));
