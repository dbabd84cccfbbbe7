import { describe, expect, test } from "vitest";
import { casesOfSplit } from "../../../../trainer/choose/evaluate/evaluation-cases.ts";
import { isSameChoice } from "../../../../trainer/choose/tries/candidate.ts";
import { bytesOf, fitCandidate, meanOf, runTrial, type TrialContext } from "../../../../trainer/choose/tries/trial.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { checkerboard, trainingData } from "../../../fixtures/checkerboard.ts";
import { ease } from "../../../fixtures/ease.ts";
import { TRIAL_CONTEXT } from "../../../fixtures/trial-context.ts";

const data = checkerboard(20);
const cases = casesOfSplit(
  data,
  trainingData(
    20,
    Array.from({ length: 20 }, (_, user) => [user]),
  ),
);
const reported: string[] = [];
const context: TrialContext = {
  ...TRIAL_CONTEXT,
  cutOffs: [1, 5],
  budget: { weightBytesMax: 1e6 },
  memoryMbMax: 1000,
  clock: () => performance.now() / 1000,
  progress: (share, detail) => reported.push(`${Math.round(100 * share)} ${detail}`),
};
const candidate = { method: ease as Method, params: { ...ease.grid(data)[0]!, lambda: 1 } };
const task = { data, secondsMax: 10, secondsHard: 20 };

test("a trial fits, exports and evaluates, and reports its progress", async () => {
  const trial = await runTrial(
    candidate,
    { ...task, cases, positions: Uint32Array.of(0, 3, 4), trainFraction: 1 },
    context,
  );
  expect(meanOf(trial.evaluation, "recall@1")).toBe(1);
  expect(trial.evaluation.positions.length).toBe(3);
  expect(trial.artifactBytes).toBe(bytesOf(trial.served));
  expect(trial.artifactBytes).toBeGreaterThan(100);
  expect(trial.fitSeconds).toBeGreaterThan(0);
  expect(reported.at(-1)).toBe("100 ease: ranking for 3 users");
});

/** A method that never ends, but for its signal. */
const endless: Method = {
  ...candidate.method,
  fit: (_data, _params, { signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
};
describe("a fit that does not end", () => {
  test("is stopped after its timeout, with an error that says so", () =>
    expect(fitCandidate({ ...candidate, method: endless }, { ...task, secondsHard: 0.05 }, context)).rejects.toThrow(
      "it was stopped after 0 s",
    ));
  test("ends with the run's reason when the run is aborted", async () => {
    const abort = new AbortController();
    const fit = fitCandidate({ ...candidate, method: endless }, task, { ...context, signal: abort.signal });
    abort.abort(new Error("deleted"));
    await expect(fit).rejects.toThrow("deleted");
  });
});
test("an evaluation that takes too long is stopped as well", async () => {
  const slow = {
    ...cases,
    caseAt(at: number) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30); // ms
      return cases.caseAt(at);
    },
  };
  const many = { ...task, cases: slow, positions: new Uint32Array(200), trainFraction: 1, secondsHard: 1 };
  await expect(runTrial(candidate, many, context)).rejects.toThrow("it was stopped after 1 s");
});

test("a failed fit throws its own error", () => {
  const failing: Method = { ...candidate.method, fit: () => Promise.reject(new Error("singular")) };
  return expect(fitCandidate({ ...candidate, method: failing }, task, context)).rejects.toThrow("singular");
});

const one = { method: "ease", params: { a: 1, b: 2 } };

test("equal settings in any order are one choice", () =>
  expect(isSameChoice(one, { method: "ease", params: { b: 2, a: 1 } })).toBe(true));
test.each([
  [undefined],
  [{ method: "item_knn", params: { a: 1, b: 2 } }],
  [{ method: "ease", params: { a: 1 } }],
  [{ method: "ease", params: { a: 1, b: 2, c: 0 } }],
  [{ method: "ease", params: { a: 1, b: 3 } }],
])("%j is another", (other) => expect(isSameChoice(one, other)).toBe(false));
