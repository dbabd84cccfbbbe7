import { describe, expect, test } from "vitest";
import type { ItemId, ItemIndex } from "../../../../shared/ids.ts";
import {
  type EvaluateRequestsOptions,
  evaluate,
  evaluateRequests,
  listOf,
  timesShown,
} from "../../../../trainer/choose/evaluate/evaluate.ts";
import { casesOfSessions, casesOfSplit } from "../../../../trainer/choose/evaluate/evaluation-cases.ts";
import { METRICS, type MetricName } from "../../../../trainer/choose/evaluate/metrics.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import { checkerboard, trainingData } from "../../../fixtures/checkerboard.ts";
import { ease } from "../../../fixtures/ease.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

const { signal } = new AbortController();
const budget = { weightBytesMax: 1e7 };
const options = { cutOffs: [1, 3], signal };

/** A model that gives every item a fixed score, whatever the history. */
function fixed(...scores: number[]) {
  const linear = { itemCount: scores.length, terms: [], bias: Float32Array.from(scores) };
  const fitted = fittedLinear("fixed", {}, linear);
  return { exported: fitted.export(budget), historyMax: 10 };
}

const cases = casesOfSplit(trainingData(5, [[0], [1], []]), trainingData(5, [[3, 2], [4], [1]]));
const served = fixed(1, 2, 3, 5, 4);

test("each list is that of the exported scores without what was seen", async () => {
  const evaluation = await evaluate(cases, served, options);
  expect([0, 1, 2].map((i) => listOf(evaluation, i))).toEqual([
    [3, 4, 2],
    [3, 4, 2],
    [0, 1, 2],
  ]);
});
test("each metric is that of the list: recall of 3 in {3, 2} at 1 is ½, reciprocal rank of 4 at 3 is ½", async () => {
  const { values } = await evaluate(cases, served, options);
  expect([...values.get("recall@1")!]).toEqual([0.5, 0, 0]);
  expect([...values.get("mrr@3")!]).toEqual([1, 0.5, 0.5]);
  expect([...values.keys()].sort()).toEqual([
    "hr@1",
    "hr@3",
    "mrr@1",
    "mrr@3",
    "ndcg@1",
    "ndcg@3",
    "recall@1",
    "recall@3",
  ]);
});
test("the values are the metrics of the lists", async () => {
  const evaluation = await evaluate(cases, served, options);
  for (let i = 0; i < cases.count; i++) {
    const relevant = new Set<ItemIndex>(cases.caseAt(i).relevant);
    for (const [name, values] of evaluation.values) {
      const [metric, k] = name.split("@") as [MetricName, string];
      expect(values[i]).toBe(METRICS[metric](listOf(evaluation, i), relevant, Number(k)));
    }
  }
});
test("several requests: each has the list that it has alone, although boosts change scores", async () => {
  const filter = { kind: "and", of: [] } as const;
  const names = {
    version: "",
    itemCount: cases.itemCount,
    indexOf: () => undefined,
    idAt: String as never,
    compileFilter: () => (item: ItemIndex) => item === 0,
  };
  const request = { limit: 3, excludeSeen: true, filter: undefined };
  const boosted = { ...request, shaping: { boosts: [{ filter, by: 1.5 }] } }; // a second boost would make it the first
  const listsOf = async (...requests: (typeof request)[]) => {
    const evaluations = await evaluateRequests(cases, served, requests, { ...options, names });
    return evaluations.map((evaluation) => listOf(evaluation, 1));
  };
  const [plain, alone] = [...(await listsOf(request)), ...(await listsOf(boosted))];
  expect(alone).not.toEqual(plain);
  expect(await listsOf(boosted, request, boosted)).toEqual([alone, plain, alone]);
});
test("a session is sent in the request, and its items are shown again where they may be", async () => {
  const sessions = trainingData(5, [[3, 2, 1]]);
  type More = Partial<EvaluateRequestsOptions> & { excludeSeen?: boolean };
  const listsOf = async (repeats: boolean, { excludeSeen = true, ...more }: More = {}) => {
    const of = casesOfSessions(sessions, { repeats });
    const request = { limit: 3, excludeSeen, filter: undefined };
    const [evaluation] = await evaluateRequests(of, served, [request], { ...options, ...more });
    return [0, 1].map((i) => listOf(evaluation!, i));
  };
  const [once, again] = [
    [
      [4, 2, 1],
      [4, 1, 0],
    ],
    [
      [3, 4, 2],
      [3, 4, 2],
    ],
  ];
  expect([await listsOf(false), await listsOf(true)]).toEqual([once, again]);
  expect(await listsOf(false, { excludeSeen: false })).toEqual(once); // which is about users, and a session has none
  // Ids of a catalog instead of indices.
  const idAt = (item: ItemIndex) => `i${item}` as ItemId;
  const indexOf = (id: ItemId) => Number(String(id).slice(1)) as ItemIndex;
  const names = { version: "", itemCount: cases.itemCount, indexOf, idAt, compileFilter: () => () => true };
  expect(await listsOf(false, { names })).toEqual(once);
});
test("only some of the cases can be evaluated", async () => {
  const evaluation = await evaluate(cases, served, { ...options, positions: Uint32Array.of(1) });
  expect(evaluation.values.get("mrr@3")).toEqual(Float64Array.of(0.5));
});
test("with seen items shown", async () => {
  const evaluation = await evaluate(cases, fixed(9, 2, 3, 5, 4), { ...options, includeSeen: true });
  expect(listOf(evaluation, 0)).toEqual([0, 3, 4]);
});
test("a list ends where candidates end", async () => {
  const few = casesOfSplit(trainingData(2, [[0]]), trainingData(2, [[1]]));
  expect(listOf(await evaluate(few, fixed(1, 2), options), 0)).toEqual([1]);
});
test("how often each item was shown", async () => {
  const evaluation = await evaluate(cases, served, options);
  expect([...timesShown(evaluation, 5, 1)]).toEqual([1, 0, 0, 2, 0]);
  expect([...timesShown(evaluation, 5, 3)]).toEqual([1, 1, 3, 2, 2]);
});
test("a model whose scores are not numbers is refused, not measured", () =>
  expect(evaluate(cases, fixed(1, Number.NaN, 3, 4, 5), options)).rejects.toThrow("not all finite"));
test("an aborted evaluation ends with the reason", () =>
  expect(evaluate(cases, served, { ...options, signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow(
    "enough",
  ));

describe("through a real model", () => {
  test("EASE finds the one right item of everybody on the checkerboard", async () => {
    const data = checkerboard(20);
    const fitted = await ease.fit(data, { ...ease.grid(data)[0]!, lambda: 1 }, fitContext());
    const all = casesOfSplit(
      data,
      trainingData(
        20,
        Array.from({ length: 20 }, (_, user) => [user]),
      ),
    );
    const progress: number[] = [];
    const model = { exported: fitted.export(budget), historyMax: fitted.historyMax };
    const { values } = await evaluate(all, model, { ...options, progress: (share) => progress.push(share) });
    expect([...values.get("recall@1")!]).toEqual(new Array(20).fill(1));
    expect(progress.at(-1)).toBe(1);
  });
});
