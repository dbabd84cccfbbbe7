import { EvaluationReport } from "../../shared/evaluation-report.ts";
import { qualityOf, refusedReport } from "../../shared/run-record.ts";
import { gate } from "../choose/decide/gate.ts";
import { attribution } from "./attribution.ts";
import { removeErased } from "./remove-erased.ts";
import { runMetrics } from "./run-metrics.ts";
import {
  beginRun,
  buildFinal,
  chooseModel,
  cleanUp,
  fitOnAllData,
  readData,
  sourceFacts,
  type TrainDeps,
  upload,
} from "./run-steps.ts";
import { erasedUsers, liveReport } from "./stored-state.ts";
import type { TrainingJob, TrainOutcome } from "./training-run.ts";

/** One training run, step by step. Each stage is entered once. Throws StageError. */
export async function trainModel(job: TrainingJob, deps: TrainDeps): Promise<TrainOutcome> {
  const stage = deps.report;
  const run = beginRun(job, deps);

  stage.enter("FETCHING");
  const erased = await erasedUsers(deps.store, job.customer);
  await removeErased(run, erased).catch((error: unknown) => deps.onCleanupError?.(error));
  deps.signal.throwIfAborted();
  const data = await readData(run, erased);

  stage.enter("TRAINING");
  const live = await liveReport(deps.store, run.model);
  const selection = await chooseModel(run, data, live);
  const final = await fitOnAllData(run, data, selection);
  deps.onTry?.(undefined);

  stage.enter("EVALUATING");
  const measured = { ...selection.report, sources: sourceFacts(run, data) };
  const verdict = gate(measured, live, job.settings.ignored);
  if (!verdict.pass && !job.settings.ignoreGate) {
    const report = refusedReport({ ...measured, gate: verdict });
    const [code] = verdict.codes ?? [];
    return { kind: "refused", code, reasons: verdict.reasons, quality: qualityOf(measured), report };
  }

  stage.enter("DEPLOYING");
  const attributed = await attribution(run, data.events);
  const report = EvaluationReport.parse({
    ...measured,
    ...(attributed && { attribution: attributed }),
    gate: verdict,
    refit: final.report,
  });
  const built = await buildFinal(run, { data, selection, final });
  const canary = await upload(run, built, { report, selection });
  await cleanUp(run);
  return {
    kind: "published",
    version: built.version,
    itemIdType: data.dataset.itemIdType,
    metrics: runMetrics(report),
    quality: qualityOf(report),
    ...(canary && { canary, report: refusedReport(report) }),
  };
}
