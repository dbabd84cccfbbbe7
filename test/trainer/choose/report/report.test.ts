import { beforeAll, expect, test } from "vitest";
import { CANDIDATES_MAX, EvaluationReport } from "../../../../shared/evaluation-report.ts";
import { decide } from "../../../../trainer/choose/decide/decide.ts";
import { restrictedTo } from "../../../../trainer/choose/evaluate/evaluation-figures.ts";
import { evaluationDetail } from "../../../../trainer/choose/report/evaluation-detail.ts";
import { buildReport, positivesOf, type ReportInput } from "../../../../trainer/choose/report/report.ts";
import { planSplit } from "../../../../trainer/choose/splits/choose-split.ts";
import { validationOf } from "../../../../trainer/choose/splits/validation.ts";
import { runTrial, type Trial } from "../../../../trainer/choose/tries/trial.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { popularity } from "../../../../trainer/learn/popularity.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";
import { TRIAL_CONTEXT } from "../../../fixtures/trial-context.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const shop = twoTastes({ users: 60, items: 20, perUser: 5 });
const validation = validationOf(shop, planSplit(shop, { protocol: "next-item", seed: 1, includeSeen: false }), {
  halfLifeDays: 0,
  seed: 1,
  secondsMax: 1000,
});
const detailOf = ({ evaluation }: Trial) =>
  evaluationDetail(validation, { chosen: evaluation, popularity: evaluation }, "salt");
let baseline: Trial;
let input: ReportInput;
beforeAll(async () => {
  const { train: data, split, positions } = validation;
  baseline = await runTrial(
    { method: popularity as Method, params: { halfLifeDays: 0 } },
    { data, cases: split.cases, positions, trainFraction: 1, secondsMax: 9, secondsHard: 900 },
    { ...TRIAL_CONTEXT, cutOffs: [5, 10], budget: { weightBytesMax: 1e6 }, memoryMbMax: 100 },
  );
  const verdict = decide([], baseline, { metric: "ndcg@10", interactions: 300, itemCount: data.itemCount, seed: 1 });
  const seconds = { budget: 60, used: 1 };
  input = {
    validation,
    metric: "ndcg@10",
    baseline,
    baselineOnAll: baseline.evaluation,
    finalists: [],
    verdict,
    discarded: [],
    chosen: baseline,
    detail: detailOf(baseline),
    fingerprint: "f",
    userAttributes: null,
    live: undefined,
    seconds,
    seed: 1,
    warnings: [],
  };
});

test("popularity alone: chosen, with nothing between it and itself", () => {
  const report = buildReport(input);
  expect(report.chosen.method).toBe("popularity");
  expect(report.lift["ndcg@10"]).toEqual({ value: 0, low: 0, high: 0 });
  expect(report.candidates).toMatchObject([
    { method: "popularity", outcome: "chosen", reason: "nothing tried is reliably better" },
  ]);
  expect(report.data).toEqual({ users: 60, items: 20, interactions: 300, positives: 300 });
  expect(report.split).toMatchObject({
    kind: "leave-last-out",
    instant: null,
    train: { users: 60, interactions: 240, positives: 240 },
    validation: { users: 60, users_with_history: 60, targets: 60, users_measured: 60 },
  });
});
test("popular lists are more popular than the histories they are made for", () => {
  const report = buildReport(input);
  expect(report.chosen.lists["popularity_percentile@10"]).toBeGreaterThan(report.history_popularity_percentile!);
});
test("each candidate has the metric by the length of histories", () => {
  const { candidates, segments } = buildReport(input);
  expect(candidates[0]!.users).toEqual({ new: null, light: null, heavy: candidates[0]!.metrics["ndcg@10"]!.value });
  expect(segments.users.find(({ name }) => name === "heavy")!.chosen["ndcg@10"]!.value).toBe(
    candidates[0]!.users!.heavy,
  );
});
test("a sentence says that another candidate is nearly as good and shows many more items, and how sure this is", () => {
  const broader = { candidate: 1, coverage: { own: 0.62, chosen: 0.31 }, coverageMin: 0.62 };
  const verdict = { chosen: 0, lifts: [], reasons: ["the best", "lost"], warnings: ["few"], broader };
  const values = new Map(
    [...baseline.evaluation.values].map(([name, own]) => [name, own.map((value, i) => (i % 2 ? 0.98 : 1.01) * value)]),
  );
  const other = { ...baseline, evaluation: { ...baseline.evaluation, values } };
  const { warnings } = buildReport({ ...input, finalists: [baseline, other], verdict });
  expect(warnings[0]).toBe("few");
  const parts = [
    "popularity has 0\\.\\d % less ndcg@10 than the chosen model",
    "\\(95 % interval on 60 users: [1-3]\\.\\d % less to \\d\\.\\d % (less|more)\\),",
    "and its lists show 62 % of all items instead of 31 %\\. An objective with coverage_min 0\\.62 chooses it\\.",
  ];
  expect(warnings[1]).toMatch(new RegExp(`^${parts.join(" ")}$`));
});
test("dropped settings are compared with popularity on their own cases, even if the last round had others", () => {
  const [first, rest] = [validation.positions.slice(0, 20), validation.positions.slice(20)];
  const evaluation = restrictedTo(baseline.evaluation, rest);
  const one = { method: "popularity", params: {}, outcome: "dropped", reason: "worse", trainFraction: 1 } as const;
  const discarded = [{ ...one, evaluation, fitSeconds: 1, artifactBytes: 1, truncation: "" }];
  const judged = { ...baseline, evaluation: restrictedTo(baseline.evaluation, first) };
  const report = buildReport({ ...input, discarded, baseline: judged, chosen: judged, detail: detailOf(judged) });
  expect(report.candidates.find(({ outcome }) => outcome === "dropped")!.lift).toEqual({ value: 0, low: 0, high: 0 });
});
test("however many were tried, the report is bounded", () => {
  const one = { method: "ease", params: {}, outcome: "left_out", reason: "time", trainFraction: 1 } as const;
  const many = Array.from({ length: 1000 }, () => ({
    ...one,
    evaluation: null,
    fitSeconds: null,
    artifactBytes: null,
    truncation: "",
  }));
  const report = buildReport({ ...input, discarded: many });
  expect(report.candidates.length).toBe(CANDIDATES_MAX);
  expect(EvaluationReport.safeParse(report).success).toBe(true);
});
test("a long reason of a candidate does not push figures out of the report", () => {
  const texts = ["x".repeat(499), "x".repeat(500), "x".repeat(501), `${"x".repeat(498)}😀😀`];
  const discarded = texts.map(
    (text) =>
      ({
        method: "blend",
        params: {},
        outcome: "dropped",
        reason: text.repeat(3),
        trainFraction: 1,
        evaluation: baseline.evaluation,
        fitSeconds: 1,
        artifactBytes: 1,
        truncation: text,
      }) as const,
  );
  const report = buildReport({ ...input, discarded, warnings: ["w".repeat(5000)] });
  const told = report.candidates.slice(1);
  const cut = `${"x".repeat(499)}…`;
  expect(told.map(({ truncation }) => truncation)).toEqual([texts[0], texts[1], cut, `${"x".repeat(498)}…`]);
  for (const { reason, metrics } of told) {
    expect(reason).toHaveLength(1000);
    expect(metrics["ndcg@10"]!.value).not.toBeNull();
  }
  expect(report.warnings[0]).toHaveLength(1000);
});
test("positives per item leave negatives out", () =>
  expect([...positivesOf({ ...trainingData(3, [[0, 2, 2]]), positive: Uint8Array.of(1, 0, 1) })]).toEqual([1, 0, 1]));
