/** What `GET /v0/health` answers, and the form of each finding of `npm run doctor --json`. */
import * as z from "zod";

export const FINDINGS_MAX = 500;

export const Finding = z.object({
  /** What was looked at, such as `disk` or `model shop`. */
  name: z.string(),
  state: z.enum(["ok", "warning", "fault"]),
  finding: z.string(),
  /** What to do about it. Absent if nothing is to be done. */
  remedy: z.string().optional(),
});
export type Finding = z.infer<typeof Finding>;

export const HealthReport = z.object({
  checked_at: z.string().meta({ format: "date-time" }),
  findings: z
    .array(Finding)
    .max(FINDINGS_MAX)
    .meta({ description: "What concerns the caller's customer: models, their sources, keys, limits and events." }),
  operator: z.array(Finding).max(FINDINGS_MAX).nullable().meta({
    description: "What concerns the trainer's machine and the bucket. Null unless the key is the operator's.",
  }),
});
export type HealthReport = z.infer<typeof HealthReport>;

/** The trainer's part, with its release. */
export const TrainerHealth = HealthReport.extend({ version: z.string().max(50) });
export type TrainerHealth = z.infer<typeof TrainerHealth>;

/** What a check has found; its name is added by whoever runs the check. */
export type Found = Omit<Finding, "name">;

export const ok = (finding: string): Found => ({ state: "ok", finding });
export const warning = (finding: string, remedy: string): Found => ({ state: "warning", finding, remedy });
export const fault = (finding: string, remedy: string): Found => ({ state: "fault", finding, remedy });
