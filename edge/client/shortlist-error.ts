import type { ErrorCode, ProblemPart } from "./requests-and-answers.ts";

/** A call that failed. */
export class ShortlistError extends Error {
  override readonly name = "ShortlistError";
  readonly code: ErrorCode;
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  /** The faults of the request with their places. */
  readonly errors: readonly ProblemPart[];
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, status = 0, options: ErrorOptions & Partial<ShortlistError> = {}) {
    super(message, options);
    this.code = code;
    this.status = status;
    this.errors = options.errors ?? [];
    this.requestId = options.requestId;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** The error of an answer that is not a success, or no JSON. */
export function errorOf({ status, headers }: Response, answer: unknown): ShortlistError {
  const problem = (answer ?? {}) as { code?: string; detail?: string; errors?: ProblemPart[] };
  const {
    code = "unexpected_answer",
    detail = `The answer has status ${status} and is no problem.`,
    errors = [],
  } = problem;
  return new ShortlistError(code, detail, status, {
    errors,
    requestId: headers.get("x-request-id") ?? undefined,
    retryAfterSeconds: Number(headers.get("retry-after")) || undefined,
  });
}
