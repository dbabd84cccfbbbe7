export type Stage = "fetching" | "checking" | "training" | "evaluating" | "deploying";

/** The reason why a run stopped. The customer sees `message`: what was expected, what was found, and what to do. */
export class StageError extends Error {
  override readonly name = "StageError";
  readonly stage: Stage;
  /** Such as `source_query_failed`. trainer/README.md and trainer/manage/README.md list all codes. */
  readonly code: string;
  /** True when the same run may succeed later although nobody changes anything. */
  readonly retryable: boolean;

  constructor(stage: Stage, code: string, message: string, options: ErrorOptions & { retryable?: boolean } = {}) {
    super(message, options);
    this.stage = stage;
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}

/** An error of the customer's data, which stays until they change. */
export const checkingError = (code: string, message: string): StageError => new StageError("checking", code, message);

export const hasCode = (error: unknown, ...codes: readonly string[]): error is StageError =>
  error instanceof StageError && codes.includes(error.code);
