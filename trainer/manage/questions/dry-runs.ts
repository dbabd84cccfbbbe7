import type { ModelSpec } from "../../../shared/model-spec.ts";
import { Problem } from "../../../shared/problem.ts";
import { redacted, secretsIn } from "../../log/redaction.ts";
import { StageError } from "../../stage/stage-error.ts";
import { onePerCustomer } from "../processes/one-per-customer.ts";

/** What would be read, without anything being created. */
export type DryRun = (spec: ModelSpec, customer: string, signal: AbortSignal) => Promise<object>;

export type DryRuns = {
  /**
   * Ends when `caller` goes away.
   *
   * @throws Problem rate_limited while the customer has one under way, overloaded while too many others are, invalid_parameter for
   * what cannot be read at all.
   */
  run(spec: ModelSpec, customer: string, caller: AbortSignal): Promise<object>;
};

export type DryRunLimits = { readonly atOnce: number; readonly seconds: number };

/** Dry runs, one at a time for each customer, bounded in number and time, with the spec's secrets cut out of what they tell. */
export function dryRuns(dryRun: DryRun, { atOnce, seconds }: DryRunLimits): DryRuns {
  const place = onePerCustomer({ atOnce, retryAfterSeconds: seconds, names: ["A dry run", "dry runs"] });
  return {
    run: (spec, customer, caller) =>
      place(customer, async () => {
        const secrets = secretsIn(spec.connector_configs);
        const tooLate = AbortSignal.timeout(seconds * 1000);
        try {
          return redacted(await dryRun(spec, customer, AbortSignal.any([caller, tooLate])), secrets);
        } catch (error) {
          if (caller.aborted) throw new Problem("invalid_parameter", "The caller did not wait for the dry run.");
          if (tooLate.aborted)
            throw new Problem("invalid_parameter", `The source did not answer the dry run within ${seconds} seconds.`);
          if (!(error instanceof StageError)) throw error;
          const message = redacted(error.message, secrets);
          throw new Problem("invalid_parameter", message, { cause: error, extra: { stage_code: error.code } });
        }
      }),
  };
}
