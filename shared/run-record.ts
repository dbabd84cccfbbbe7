/** Runs that have ended, as `GET …/runs` shows them. */
import * as z from "zod";
import { EvaluationReport, MeasuredMean } from "./evaluation-report.ts";
import { CanaryState } from "./experiment/canary.ts";
import { Failure, TrainingState } from "./model-record.ts";

/** The number of a model's newest runs that are kept, and also of its newest refused runs. */
export const RUNS_KEPT = 20;
const STAGES_MAX = 10;

/** How good a version is in the metric that chose its method, beside popularity on the same users. */
export const Quality = z.object({
  metric: z.string().max(40),
  users: z.number(),
  chosen: MeasuredMean,
  popularity: MeasuredMean,
  lift: MeasuredMean.meta({ description: "The paired difference: chosen minus popularity." }),
});
export type Quality = z.infer<typeof Quality>;

/** Null where the report measures nothing. */
export function qualityOf({ chosen_by: metric, chosen, popularity, lift, split }: EvaluationReport): Quality | null {
  const [ours, theirs, difference] = [chosen, popularity, { metrics: lift }].map(({ metrics }) => metrics[metric]);
  if (!ours || !theirs || !difference) return null;
  return { metric, users: split.validation.users_measured, chosen: ours, popularity: theirs, lift: difference };
}

/** The gate's report: without examples of users, and with the candidates of the last round only. */
export const RefusedReport = EvaluationReport.pick({
  data: true,
  split: true,
  chosen_by: true,
  chosen: true,
  popularity: true,
  lift: true,
  candidates: true,
  live: true,
  gate: true,
  seconds: true,
  warnings: true,
});
export type RefusedReport = z.infer<typeof RefusedReport>;

export function refusedReport(report: EvaluationReport): RefusedReport {
  const candidates = report.candidates.filter(({ outcome }) => outcome === "chosen" || outcome === "lost");
  return RefusedReport.parse({ ...report, candidates });
}

export const RunRecord = z.object({
  run_id: z.string(),
  outcome: z.enum(["published", "refused", "failed", "too_few_events", "cancelled"]),
  attempt: z.int().meta({ description: "The last attempt, to which everything here belongs. Earlier ones failed." }),
  started_at: z.string().max(40),
  ended_at: z.string().max(40),
  stages: z
    .array(z.object({ stage: TrainingState, seconds: z.number() }))
    .max(STAGES_MAX)
    .meta({ description: "The stages in their order. A run that did not end well ended in the last one." }),
  read: z
    .object({ interactions: z.number(), rejected_rows: z.number() })
    .nullable()
    .meta({ description: "Null if the run ended before everything was read." }),
  version: z.string().nullable().meta({ description: "The version that was published." }),
  quality: Quality.nullable(),
  failure: Failure.nullable(),
  report: RefusedReport.nullable().meta({
    description: "What the gate decided by: of a refused version, and of one that began as a canary.",
  }),
  canary: CanaryState.nullable()
    .optional()
    .meta({ description: "What users did with the version before it went live." }),
});
export type RunRecord = z.infer<typeof RunRecord>;
