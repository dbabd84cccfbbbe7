import { EvaluationReport } from "../../../shared/evaluation-report.ts";
import { reportKey } from "../../../shared/manifest.ts";
import { runMetrics } from "../../run/run-metrics.ts";
import type { RunMetrics } from "../../run/training-run.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import { type ObjectStore, storedJson } from "../../store/object-store.ts";

/** The metrics of a stored version, from its report. Null when the report is absent or of another release. */
export async function versionMetrics(
  store: ObjectStore,
  { customer, modelName }: ModelRef,
  version: string,
): Promise<RunMetrics | null> {
  const report = await store.get(reportKey(customer, modelName, version));
  const parsed = EvaluationReport.safeParse(report && storedJson(report.bytes));
  return parsed.success ? runMetrics(parsed.data) : null;
}
