import type { Failure } from "../../shared/model-record.ts";
import { StageError } from "../stage/stage-error.ts";
import { StoreError } from "../store/object-store.ts";

const DISK_FULL = "The trainer's disk is full: free space below its state folder, or read fewer rows";

/**
 * The failure that the customer sees. Details of an internal error stay in the operator's log.
 *
 * @param stage The stage in which the error was thrown; a StageError names its own.
 */
export function runFailure(error: unknown, stage: string): Omit<Failure, "at"> {
  if (error instanceof StageError) {
    return { stage: error.stage, code: error.code, message: error.message, retryable: error.retryable };
  }
  if (error instanceof StoreError) {
    return { stage, code: "store_unavailable", message: error.message, retryable: error.retryable };
  }
  if (isDiskFull(error)) return { stage, code: "work_disk_full", message: DISK_FULL, retryable: false };
  return {
    stage,
    code: "internal",
    message: "Something failed on our side; the operator's log has more.",
    retryable: true,
  };
}

const isDiskFull = (error: unknown) =>
  error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
