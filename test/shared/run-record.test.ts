import { expect, test } from "vitest";
import type { EvaluationReport } from "../../shared/evaluation-report.ts";
import { qualityOf, refusedReport } from "../../shared/run-record.ts";
import { REPORT } from "../fixtures/small-report.ts";

test("the quality is in the metric that chose, and null where nothing was measured", () => {
  const mean = { value: 0.25, low: 0.2, high: 0.3 };
  expect(qualityOf(REPORT)).toEqual({ metric: "ndcg@10", users: 3, chosen: mean, popularity: mean, lift: mean });
  expect(qualityOf({ ...REPORT, lift: {} })).toBeNull();
});

test("a refused version's report has the candidates of the last round, and nothing of single users", () => {
  const [chosen] = REPORT.candidates;
  const outcomes = ["chosen", "lost", "dropped", "left_out", "failed"] as const;
  const candidates = outcomes.map((outcome) => ({ ...chosen!, outcome }));
  const report: EvaluationReport = { ...REPORT, candidates };
  const refused = refusedReport(report);
  expect(refused.candidates.map(({ outcome }) => outcome)).toEqual(["chosen", "lost"]);
  expect(JSON.stringify(refused)).not.toContain('"history":');
  expect(refused.gate).toEqual(REPORT.gate);
});
