export type Stage = "fetching" | "checking" | "training" | "evaluating" | "deploying";

/** What stopped a run. `message` is shown to the customer: it names what was expected, found, and what to do. */
export class StageError extends Error {
  override readonly name = "StageError";
  readonly stage: Stage;
  /** Lower-case words joined by `_`, such as `source_query_failed`; documented in trainer/README.md and trainer/manage/README.md. */
  readonly code: string;
  /** Whether the same run may succeed later without anybody changing anything. */
  readonly retryable: boolean;

  constructor(stage: Stage, code: string, message: string, options: ErrorOptions & { retryable?: boolean } = {}) {
    super(message, options);
    this.stage = stage;
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}
