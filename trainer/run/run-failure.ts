import type { Failure } from "../../shared/model-record.ts";
import { StageError } from "../stage/stage-error.ts";
import { StoreError } from "../store/object-store.ts";

const DISK_FULL = "The trainer's disk is full: free space below its state folder, or read fewer rows";

/**
 * What the customer is told: a StageError's own words, of the store which object it was, that a disk is full, and of our mistakes
 * nothing but that there was one.
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
  if (isDiskFull(error)) return { stage, code: "work_disk_full", message: DISK_FULL, retryable: true };
  return {
    stage,
    code: "internal",
    message: "Something failed on our side; the operator's log has more.",
    retryable: true,
  };
}

/** Whatever file it was that a run could not go on with: a spool, user records, a fit's state. */
const isDiskFull = (error: unknown) =>
  error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
