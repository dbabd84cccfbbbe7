import { EvaluationReport } from "../../../shared/evaluation-report.ts";
import { reportKey } from "../../../shared/manifest.ts";
import { qualityOf } from "../../../shared/run-record.ts";
import { runMetrics } from "../../run/run-metrics.ts";
import type { RunMetrics } from "../../run/training-run.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import { type ObjectStore, storedJson } from "../../store/object-store.ts";

/** The metrics of a stored version, from its report. Null when the report is absent or of another release. */
export async function versionMetrics(store: ObjectStore, model: ModelRef, version: string): Promise<RunMetrics | null> {
  return (await versionFigures(store, model, version)).metrics;
}

/** The metrics of a stored version, and its quality with intervals. */
export async function versionFigures(store: ObjectStore, { customer, modelName }: ModelRef, version: string) {
  const report = await store.get(reportKey(customer, modelName, version));
  const { data } = EvaluationReport.safeParse(report && storedJson(report.bytes));
  return { metrics: data ? runMetrics(data) : null, quality: data ? qualityOf(data) : null };
}
