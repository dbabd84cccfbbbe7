import type { Failure } from "../shared/model-record.ts";
import { StoreError } from "./publish/object-store.ts";
import { StageError } from "./stage/stage-error.ts";

/**
 * What the customer is told: a StageError's own words, of the store which object it was, and of our mistakes nothing but
 * that there was one.
 *
 * @param stage Where the run was.
 */
export function runFailure(error: unknown, stage: string): Omit<Failure, "at"> {
  if (error instanceof StageError) {
    return { stage: error.stage, code: error.code, message: error.message, retryable: error.retryable };
  }
  if (error instanceof StoreError) {
    return { stage, code: "store_unavailable", message: error.message, retryable: error.retryable };
  }
  return {
    stage,
    code: "internal",
    message: "Something failed on our side; the operator's log has more.",
    retryable: true,
  };
}
