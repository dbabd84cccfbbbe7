import { expect, test } from "vitest";
import type { EvaluationReport } from "../../shared/evaluation-report.ts";
import { runMetrics } from "../../trainer/run-metrics.ts";

test("means stand under their names, popularity's under baseline, and what could not be measured is absent", () => {
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
