import type { ModelSpec } from "../../shared/model-spec.ts";
import { Problem } from "../../shared/problem.ts";
import { StageError } from "../stage-error.ts";
import { redacted, secretsIn } from "./redaction.ts";

/** What would be read, without anything being created. */
export type DryRun = (spec: ModelSpec, customer: string, signal: AbortSignal) => Promise<object>;

export type DryRuns = {
  /** Throws Problem: overloaded while too many are under way, invalid_parameter for what cannot be read at all. */
  run(spec: ModelSpec, customer: string): Promise<object>;
};

export type DryRunLimits = { readonly atOnce: number; readonly seconds: number };

/** Dry runs, bounded in number and time, with the spec's secrets cut out of what they tell. */
export function dryRuns(dryRun: DryRun, { atOnce, seconds }: DryRunLimits): DryRuns {
  let underWay = 0;
  return {
    async run(spec, customer) {
      if (underWay >= atOnce)
        throw new Problem("overloaded", `${atOnce} dry runs are under way.`, { retryAfterSeconds: seconds });
      underWay++;
      const secrets = secretsIn(spec.connector_configs);
      const signal = AbortSignal.timeout(seconds * 1000);
      try {
        return redacted(await dryRun(spec, customer, signal), secrets);
      } catch (error) {
        if (signal.aborted)
          throw new Problem("invalid_parameter", `The source did not answer the dry run within ${seconds} seconds.`);
        if (!(error instanceof StageError)) throw error;
        const message = redacted(error.message, secrets);
        throw new Problem("invalid_parameter", message, { cause: error, extra: { stage_code: error.code } });
      } finally {
        underWay--;
      }
    },
  };
}
