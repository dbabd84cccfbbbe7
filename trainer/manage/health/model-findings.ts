/** What is wrong with a customer's models, or will soon be. */
import { type Finding, type Found, fault, ok, warning } from "../../../shared/health.ts";
import type { ModelRecord } from "../../../shared/model-record.ts";
import { NOT_ENOUGH_EVENTS } from "../../run/not-enough-events.ts";

const DAY_MS = 86_400_000;
const STALE_DAYS = 8;

/** The part of a model's record that is looked at. */
export type CheckedModel = {
  readonly model_name: string;
  readonly trained_at: string | null;
  readonly data: { readonly to: string | null } | null;
  readonly failure: Pick<NonNullable<ModelRecord["failure"]>, "code" | "message" | "retryable"> | null;
  readonly scenario_problems: ModelRecord["scenario_problems"];
};

/** One finding for each model that needs attention; if none does, one that says so. */
export function modelFindings(models: readonly CheckedModel[], nowMs: number): Finding[] {
  const found = models.flatMap((model) => {
    const finding = failureOf(model) ?? stalenessOf(model, nowMs) ?? scenariosOf(model);
    return finding === undefined ? [] : [{ name: `model ${model.model_name}`, ...finding }];
  });
  if (found.length > 0) return found;
  return [{ name: "models", ...ok(`${models.length} without a failure, none older than ${STALE_DAYS} days`) }];
}

/** Failures that leave nothing broken: the model waits, or goes on with the version that it has. */
const HARMLESS: Readonly<Record<string, string>> = {
  [NOT_ENOUGH_EVENTS]: "The training starts by itself when there are enough events.",
  version_refused: "The live version stays. The report is in the model's runs.",
};

function failureOf({ failure }: CheckedModel): Found | undefined {
  if (failure === null) return undefined;
  const { code, message, retryable } = failure;
  if (Object.hasOwn(HARMLESS, code)) return warning(message, HARMLESS[code]!);
  const remedy = retryable
    ? "It is tried again. If it fails again, look at the model's runs."
    : "Change the model or its source, then train again.";
  return fault(`the last training failed: ${message}`, remedy);
}

function stalenessOf({ trained_at, data }: CheckedModel, nowMs: number): Found | undefined {
  const daysSince = (time: string | null | undefined) => (time ? (nowMs - Date.parse(time)) / DAY_MS : 0);
  const [version, rows] = [daysSince(trained_at), daysSince(data?.to)];
  if (version > STALE_DAYS)
    return warning(`was trained ${Math.floor(version)} days ago`, "Set train_schedule, or train it now.");
  if (rows > STALE_DAYS)
    return warning(
      `its newest interaction is ${Math.floor(rows)} days old`,
      "Look at what fills the source: new rows do not arrive.",
    );
  return undefined;
}

function scenariosOf({ scenario_problems: scenarios }: CheckedModel): Found | undefined {
  const [first] = scenarios ?? [];
  if (first === undefined) return undefined;
  const finding = `the scenario ${first.scenario} does not fit the live version: ${first.problems.join("; ")}`;
  return warning(finding, "Store the scenario again without that part, or give the attribute back to the data.");
}
