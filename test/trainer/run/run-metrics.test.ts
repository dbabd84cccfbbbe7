import { expect, test } from "vitest";
import type { EvaluationReport } from "../../../shared/evaluation-report.ts";
import { runMetrics } from "../../../trainer/run/run-metrics.ts";

test("where users have attributes, the metrics of users with a hidden history are added", () => {
  const mean = { value: 0.2, low: 0.1, high: 0.3 };
  const report = {
    chosen: { method: "ease", params: {}, metrics: {}, lists: {} },
    popularity: { params: {}, metrics: {}, lists: {} },
    split: { kind: "temporal", validation: { users_measured: 7 } },
    user_attributes: {
      served: true,
      users_hidden: 500,
      metrics: { "ndcg@10": mean },
      popularity: { "recall@20": mean },
    },
  } as unknown as EvaluationReport;
  const user_attributes = { served: true, users_hidden: 500, "ndcg@10": 0.2, baseline: { "recall@20": 0.2 } };
  expect(runMetrics(report)).toMatchObject({ user_attributes });
  expect(runMetrics({ ...report, user_attributes: null })).not.toHaveProperty("user_attributes");
});

test("metrics are named means, popularity's stand under baseline, and unmeasured ones are left out", () => {
  const mean = (value: number | null) => ({ value, low: value, high: value });
  const report = {
    chosen: { method: "ease", params: {}, metrics: { "ndcg@10": mean(0.12345678), "mrr@10": mean(null) }, lists: {} },
    popularity: { params: {}, metrics: { "ndcg@10": mean(0.1) }, lists: {} },
    split: { kind: "temporal", validation: { users_measured: 7 } },
  } as unknown as EvaluationReport;
  expect(runMetrics(report)).toEqual({
    method: "ease",
    split: "temporal",
    users_measured: 7,
    "ndcg@10": 0.123457,
    baseline: { "ndcg@10": 0.1 },
  });
});
